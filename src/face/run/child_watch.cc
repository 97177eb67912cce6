#include "run/child_watch.h"

#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "policy/switch_spec.h"

namespace outpace::run {
namespace {

// With the delays between them, a quarter of an hour.
constexpr std::uint32_t kEvaluatorCrashesMost = 20;

bool is_refusal(int code) {
  return code >= static_cast<int>(ExitCode::kUsage) &&
         code <= static_cast<int>(ExitCode::kUnreadable);
}

std::string again(const live::ChildEnd& end) {
  return end.restarted ? fmt::format("; starting it again in {} s",
                                     static_cast<double>(end.restart_in.count()) / 1000)
                       : "";
}

}  // namespace

std::string without_program(const std::string& line) {
  for (const std::string_view prefix : {"outpace: ", "outpace.OutpaceError: "}) {
    if (line.starts_with(prefix)) {
      return line.substr(prefix.size());
    }
  }
  return line;
}

std::string in_words(const live::ChildEnd& end) {
  if (end.code > 128) {
    return fmt::format("{} was ended by signal {}", end.name, end.code - 128);
  }
  const std::string line = printable(without_program(end.last_line));
  return fmt::format("{} exited with {}{}{}", end.name, end.code, line.empty() ? "" : ": ", line);
}

std::string needs_evaluator(const job::Training& training) {
  if (training.target_accuracy && !training.past_target) {
    return "--target-accuracy";
  }
  return policy::waits_for_evaluator(training.policy) ? "--policy " + training.policy.text : "";
}

live::SupervisorEvents ChildWatch::events() {
  return {.ended = [this](const live::ChildEnd& end) { ended(end); },
          .workers_all_ended = [this] { options_.workers_all_ended(first_loss_); },
          .interrupted =
              [this](int signal) {
                options_.say("signal " + std::to_string(signal) +
                             ": the run ends in order; a second signal ends it at once");
                options_.end_run(ExitCode{128 + signal}, "interrupted");
              },
          .ends_at_once = options_.ends_at_once,
          .looked = options_.looked};
}

std::optional<Error> ChildWatch::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

void ChildWatch::keep_refusal(const live::ChildEnd& end) {
  const std::lock_guard lock(mutex_);
  if (!refusal_) {
    const std::string line = printable(without_program(end.last_line));
    refusal_.emplace(ExitCode{end.code}, line.empty() ? in_words(end) : line);
  }
}

void ChildWatch::ended(const live::ChildEnd& end) {
  if (end.code == 0) {
    return;
  }
  const std::string what = in_words(end);
  // With exit code 5 a worker says that the others went on without it.
  const bool lost = end.code > 128 || end.code == static_cast<int>(ExitCode::kTooFewWorkers);
  if (options_.worker_lost && end.is_worker && lost) {
    options_.say(what + again(end));
    if (!end.restarted) {
      first_loss_ = first_loss_.empty() ? what : first_loss_;
      options_.worker_lost(end.name, what);
    }
    return;
  }
  const bool counts = !options_.refusals_count || options_.refusals_count();
  if (is_refusal(end.code) && !end.restarted && counts) {
    keep_refusal(end);
    options_.end_run(ExitCode{end.code}, what);
    return;
  }
  if (!end.is_worker) {
    evaluator_ended(end);
    return;
  }
  if (options_.worker_failed) {
    options_.worker_failed(end, again(end));
  } else {
    options_.say(what + again(end));
  }
  if (options_.worker_lost && !end.restarted) {
    options_.end_run(ExitCode::kFailure, what);
  }
}

void ChildWatch::evaluator_ended(const live::ChildEnd& end) {
  if (options_.evaluator_failed) {
    options_.evaluator_failed();
  }
  const std::string what = in_words(end);
  const bool needed = !options_.needs_evaluator.empty();
  if (needed && end.crashes >= kEvaluatorCrashesMost) {
    options_.end_run(ExitCode::kFailure,
                     fmt::format("{}: {} crashes in a row without an evaluation, and {} needs one",
                                 what,
                                 end.crashes,
                                 options_.needs_evaluator));
    return;
  }
  if (end.crashes > 0 && !std::has_single_bit(end.crashes)) {
    return;  // It has been said, and will be when there are twice as many.
  }
  const std::string row =
      end.crashes > 1 ? fmt::format(" (crash {} in a row)", end.crashes) : std::string();
  const std::string meanwhile = needed
                                    ? "; " + options_.needs_evaluator + " waits for its evaluations"
                                    : "; training goes on, not evaluated until then";
  options_.say(what + row + again(end) + (end.restarted ? meanwhile : ""));
}

}  // namespace outpace::run
