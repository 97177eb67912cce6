#include "record/unusable.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"

namespace outpace::record {
namespace {

constexpr std::size_t kNamedMost = 32;  // In a line.

}  // namespace

void UnusableExamples::add(std::vector<std::uint64_t> examples, const std::string& why) {
  std::sort(examples.begin(), examples.end());
  std::vector<std::uint64_t> fresh;
  for (const std::uint64_t example : examples) {
    if (named_.insert(example).second) {
      fresh.push_back(example);
    }
  }
  try {
    write(examples, why);
  } catch (const Error& error) {
    say_(error.what());
  }
  if (fresh.empty()) {
    return;
  }
  const auto shown =
      fresh.begin() + static_cast<std::ptrdiff_t>(std::min(fresh.size(), kNamedMost));
  say_(fmt::format("{} {}{} {} left out: {} ({})",
                   fresh.size() == 1 ? "example" : "examples",
                   fmt::join(fresh.begin(), shown, ", "),
                   shown == fresh.end() ? "" : fmt::format(" and {} more", fresh.end() - shown),
                   fresh.size() == 1 ? "is" : "are",
                   why,
                   path_.filename().string()));
}

void UnusableExamples::write(const std::vector<std::uint64_t>& examples, const std::string& why) {
  if (!file_) {
    file_.emplace(path_, Gaps{.told = say_, .mark = {}, .queue = queue_});
    fmt::format_to(std::back_inserter(file_->buffer()), "example,why");
    file_->end_line();
  }
  for (const std::uint64_t example : examples) {
    fmt::format_to(std::back_inserter(file_->buffer()), "{},{}", example, why);
    file_->end_line();
  }
  file_->flush();
}

}  // namespace outpace::record
