#include "run/child_watch.h"

#include <string_view>

#include <fmt/format.h>

namespace outpace::run {
namespace {

bool is_refusal(int code) {
  return code >= static_cast<int>(ExitCode::kUsage) &&
         code <= static_cast<int>(ExitCode::kUnreadable);
}

}  // namespace

std::string without_program(const std::string& line) {
  constexpr std::string_view kProgram = "outpace: ";
  return line.starts_with(kProgram) ? line.substr(kProgram.size()) : line;
}

std::string in_words(const live::ChildEnd& end) {
  if (end.code > 128) {
    return fmt::format("{} was ended by signal {}", end.name, end.code - 128);
  }
  const std::string line = without_program(end.last_line);
  return fmt::format("{} exited with {}{}{}", end.name, end.code, line.empty() ? "" : ": ", line);
}

live::SupervisorEvents ChildWatch::events() {
  return {.ended = [this](const live::ChildEnd& end) { ended(end); },
          .workers_all_ended = [this] { options_.workers_all_ended(first_loss_); },
          .interrupted =
              [this](int signal) { options_.end_run(ExitCode{128 + signal}, "interrupted"); }};
}

std::optional<Error> ChildWatch::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void ChildWatch::keep_refusal(const live::ChildEnd& end) {
  const std::lock_guard lock(mutex_);
  if (!refusal_) {
    refusal_.emplace(ExitCode{end.code}, without_program(end.last_line));
  }
}

void ChildWatch::ended(const live::ChildEnd& end) {
  if (end.code == 0) {
    return;
  }
  const std::string what = in_words(end);
  const bool lost = end.code == static_cast<int>(ExitCode::kTooFewWorkers);
  if (options_.every_worker_counts && end.is_worker && lost) {
    first_loss_ = first_loss_.empty() ? what : first_loss_;  // Another one's end was the reason.
    return;
  }
  if (is_refusal(end.code)) {
    keep_refusal(end);
    options_.end_run(ExitCode{end.code}, what);
    return;
  }
  options_.say(what + (end.restarted ? "; starting it again" : ""));
  const bool counts = options_.every_worker_counts || !end.is_worker;
  if (counts && !end.restarted) {
    options_.end_run(
        end.is_worker && end.code > 128 ? ExitCode::kTooFewWorkers : ExitCode::kFailure, what);
  }
}

}  // namespace outpace::run
