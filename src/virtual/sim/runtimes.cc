#include "sim/runtimes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"
#include "sim/nested_spec.h"

namespace outpace::sim {
namespace {

// How many workers each class has; `written` has no number where the count was left out.
std::vector<std::uint32_t> share_out(const std::vector<std::optional<std::uint64_t>>& written,
                                     std::uint32_t workers,
                                     const std::string& text) {
  std::uint64_t counted = 0;
  const auto without = std::count(written.begin(), written.end(), std::nullopt);
  for (const auto& count : written) {
    counted += count.value_or(0);
  }
  const auto refuse = [&text](const std::string& why) {
    throw usage_error("runtime '" + text + "': " + why);
  };
  if (without > 1) {
    refuse("several classes without a count; write count*runtime for all but one of them");
  }
  if (without == 0 ? counted != workers : counted >= workers) {
    refuse("its classes have " + std::to_string(counted) + " workers" +
           (without == 0 ? "" : " and the rest") + ", but there are " + std::to_string(workers) +
           "; a class without a count takes the rest");
  }
  std::vector<std::uint32_t> shares;
  shares.reserve(written.size());
  for (const auto& count : written) {
    shares.push_back(static_cast<std::uint32_t>(count.value_or(workers - counted)));
  }
  return shares;
}

}  // namespace

Runtimes Runtimes::parse(std::string_view text, const Options& options) {
  CHECK(options.workers >= 1);
  const DistributionMaker maker(options.read_file);
  const std::string whole(trim(text));
  std::vector<std::optional<std::uint64_t>> counts;
  std::vector<Class> classes;
  for (const std::string_view part : split_outside_parentheses("runtime", whole)) {
    const Multiple multiple = split_multiple(part);
    const auto count = parse_count(multiple.count);
    const bool left_out = multiple.rest.size() == part.size();
    if (!left_out && (!count || *count == 0 || *count > UINT32_MAX)) {
      throw usage_error("runtime '" + std::string(part) + "': '" + std::string(multiple.count) +
                        "' is no number of workers; write 2*constant(100ms)");
    }
    counts.push_back(count);
    classes.push_back({0, maker.make(multiple.rest)});
  }
  const std::vector<std::uint32_t> shares = share_out(counts, options.workers, whole);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    classes[i].workers = shares[i];
  }
  return {std::move(classes), options.seed};
}

Runtimes::Runtimes(std::vector<Class> classes, std::uint64_t seed) : classes_(std::move(classes)) {
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    end += classes_[i].workers;
    ends_.push_back(end);
    seeds_.push_back(key(mix(seed + kGolden), i));
  }
}

double Runtimes::at(WorkerId worker, std::uint64_t iteration, Time start) const {
  const auto number = static_cast<std::uint32_t>(index(worker));
  CHECK(number < ends_.back() && start >= Time{});
  std::size_t i = 0;
  if (ends_.size() > 1) {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), number);
    i = static_cast<std::size_t>(end - ends_.begin());
  }
  const std::uint32_t first = ends_[i] - classes_[i].workers;
  const double seconds = classes_[i].distribution->draw({.seed = seeds_[i],
                                                         .worker = worker,
                                                         .rank = number - first,
                                                         .iteration = iteration,
                                                         .start = start});
  CHECK(!std::isnan(seconds));
  return std::clamp(seconds, kSecondsMin, kSecondsMax);
}

}  // namespace outpace::sim
