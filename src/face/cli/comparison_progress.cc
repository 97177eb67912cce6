#include "cli/comparison_progress.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/number_text.h"

namespace outpace::cli {
namespace {

constexpr auto kPatience = std::chrono::seconds(2);  // With who reads it.

// What matters most of a run.
std::string words_of(const compare::Outcome& outcome) {
  if (!outcome.result) {
    return "failed: " + outcome.failure;
  }
  const compare::RunResult& result = *outcome.result;
  std::string text = shown::grouped(result.examples_per_second.value_or(0.0)) + " examples/s";
  if (result.final_accuracy) {
    text += ", accuracy " + shown::percent(*result.final_accuracy);
  }
  if (result.seconds_to_target) {
    text += ", target after " + shown::elapsed(*result.seconds_to_target);
  }
  return text;
}

}  // namespace

ComparisonProgress::ComparisonProgress(std::size_t runs, std::uint32_t jobs)
    : runs_(runs), jobs_(jobs), is_terminal_(isatty(STDERR_FILENO) == 1), out_(STDERR_FILENO) {}

ComparisonProgress::~ComparisonProgress() {
  erase();
  (void)out_.drain(kPatience);
}

void ComparisonProgress::put(std::string text) {
  (void)out_.write(std::move(text));  // compare.csv has all that somebody may miss.
}

void ComparisonProgress::begun(const std::string& cell) {
  running_.insert(cell);
  erase();
  show_running();
}

void ComparisonProgress::ended(const std::string& cell,
                               const compare::Outcome& outcome,
                               double seconds) {
  running_.erase(cell);
  ++done_;
  seconds_ += seconds;
  const auto left = static_cast<double>(runs_ - done_);
  erase();
  std::string line = fmt::format("[{:>{}}/{}] {}: {}; took {}",
                                 done_,
                                 std::to_string(runs_).size(),
                                 runs_,
                                 cell,
                                 words_of(outcome),
                                 shown::elapsed(seconds));
  if (done_ < runs_) {
    line += fmt::format(", {} to go, about {}",
                        runs_ - done_,
                        shown::elapsed(left * seconds_ / static_cast<double>(done_) / jobs_));
  }
  put(line + "\n");
  show_running();
}

void ComparisonProgress::show_running() {
  if (is_terminal_ && !running_.empty()) {
    put("running: " + *running_.begin() +
        (running_.size() > 1 ? fmt::format(" and {} more", running_.size() - 1) : ""));
  }
}

void ComparisonProgress::erase() {
  if (is_terminal_) {
    put("\r\x1b[K");
  }
}

}  // namespace outpace::cli
