// Watches how a run's processes end, and says when the run ends with them and why.
//
// With a server a worker may come and go. Without one, a worker that is gone does not come back,
// and one that fails ends the run. An evaluator that crashes is started again, and ends only a run
// that cannot end without it. Called on the supervisor's thread; refusal() from any.

#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "job/training.h"
#include "live/supervisor.h"

namespace outpace::run {

// How a child ended: "worker 3 exited with 1: ...".
[[nodiscard]] std::string in_words(const live::ChildEnd& end);

// The last line of a child that failed, without the program's or the exception's name before it.
[[nodiscard]] std::string without_program(const std::string& line);

struct ChildWatchOptions {
  // In a run without a server: a worker was lost, and is not started again. Null: with a server.
  std::function<void(const std::string& worker, const std::string& how)> worker_lost{};
  // Why the run does not end without evaluations, for people; empty: it does.
  std::string needs_evaluator{};
  std::function<void(ExitCode, const std::string& why)> end_run;
  // All workers have ended, and none will be started again. `why`: what an earlier end said.
  std::function<void(const std::string& why)> workers_all_ended;
  std::function<void(const std::string& line)> say;
  // The process ends when it returns: a second signal came. May be null.
  std::function<void()> ends_at_once{};
  // Says how a worker failed, in place of one line for each; `again`: when it is started again, or
  // empty. May be null.
  std::function<void(const live::ChildEnd& end, const std::string& again)> worker_failed{};
  // Whether an exit code of 2 to 6 is a refusal. Null: it always is.
  std::function<bool()> refusals_count{};
  std::function<void()> evaluator_failed{};  // May be null.
  std::function<void()> looked{};            // As SupervisorEvents::looked.
};

// The option because of which a run does not end without evaluations; empty if none.
[[nodiscard]] std::string needs_evaluator(const job::Training& training);

class ChildWatch {
 public:
  explicit ChildWatch(ChildWatchOptions options) : options_(std::move(options)) {}

  [[nodiscard]] live::SupervisorEvents events();

  // The first end of a process that would end in the same way again, and every other process too:
  // wrong input, another network, a refused token. It says more than "too few workers".
  [[nodiscard]] std::optional<Error> refusal() const;

 private:
  void ended(const live::ChildEnd& end);
  void evaluator_ended(const live::ChildEnd& end);
  void keep_refusal(const live::ChildEnd& end);

  const ChildWatchOptions options_;
  std::string first_loss_;    // For the supervisor's thread.
  mutable std::mutex mutex_;  // The main thread reads what the supervisor's thread wrote.
  std::optional<Error> refusal_;
};

}  // namespace outpace::run
