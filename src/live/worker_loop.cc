// Tested by test/program/ledger_test.py (class Death).

#include "live/worker_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "worker/inbox.h"

namespace outpace::live {
namespace {

using std::chrono::steady_clock;
using worker::CancelMode;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

class Work {
 public:
  Work(LastingSession& session,
       worker::GradientSource& source,
       const worker::Pace& pace,
       std::optional<worker::Attacker> attacker,
       WorkerObserver* observer)
      : lasting_(session), source_(source), pace_(pace), attacker_(attacker), observer_(observer) {}

  void run() {
    std::uint64_t iteration = 0;
    while (auto task = lasting_.next()) {
      if (observer_ != nullptr) {
        observer_->released(session().welcome(), task->work);
      }
      if (!answer(*task, iteration)) {
        session().abandon();
      }
      ++iteration;
    }
  }
  void leave() { session().leave(); }

 private:
  [[nodiscard]] WorkerSession& session() { return lasting_.session(); }

  // False if there is nothing to push: the task was given up.
  bool answer(LastingSession::Task& task, std::uint64_t iteration) {
    const std::size_t whole = task.examples.size();
    const std::span examples =
        std::span(task.examples).first(wait_for_pace(task.work, whole, iteration));
    if (examples.empty()) {
      return false;
    }
    gradient_ = session().gradient();
    WorkerSession::Result result{};
    if (!compute(task.work, examples, result)) {
      return false;
    }
    result.partial = result.examples < whole;
    if (attacker_) {
      attacker_->corrupt(gradient_);
    }
    task.work.weights = {};  // The server may use their memory again.
    if (observer_ == nullptr) {
      session().push(result);
      return true;
    }
    observer_->pushes(result);
    observer_->judged(session().push(result));
    return true;
  }

  // Sleeps as long as the delays say that the mini-batch takes. How many examples are done then:
  // all, or with a cancel the part that this slow machine would have had.
  std::size_t wait_for_pace(const WorkerSession::Task& task,
                            std::size_t whole,
                            std::uint64_t iteration) {
    const auto nominal = static_cast<double>(task.release.nominal);
    const double share = static_cast<double>(whole) / nominal;
    const Time start = session().now();
    const Time finish = pace_.finish(start, share, iteration);
    if (finish <= start) {  // To ask the system for no sleep takes a tenth of a millisecond.
      return whole;
    }
    switch (session().sleep_until(finish)) {
      case CancelMode::kNone:
        return whole;
      case CancelMode::kAbandon:
        return 0;
      case CancelMode::kKeepPart:
        break;
    }
    const double done = std::min(share, pace_.done(start, session().now(), iteration));
    return std::min(whole, static_cast<std::size_t>(done * nominal + 1e-9));
  }

  // The mean gradient into gradient_, micro-batch by micro-batch if a part may be asked for.
  bool compute(const WorkerSession::Task& task,
               std::span<const std::uint64_t> examples,
               WorkerSession::Result& result) {
    const auto abandoned = [this] { return session().cancelled() == CancelMode::kAbandon; };
    const std::size_t micro =
        task.release.may_keep_part ? micro_batch(task.release.nominal).size() : examples.size();
    double loss_sum = 0.0;
    for (std::size_t first = 0; first < examples.size(); first += micro) {
      const auto part = examples.subspan(first, std::min(micro, examples.size() - first));
      const auto begun = steady_clock::now();
      std::span<float> into = gradient_;
      if (first > 0) {
        part_gradient_.resize(gradient_.size());
        into = part_gradient_;
      }
      const auto loss = source_.compute(task.weights, part, into, abandoned);
      if (!loss) {
        return false;
      }
      const double took = seconds_since(begun);
      result.compute_seconds += took;
      const double extra = pace_.extra_seconds(took);
      if (extra > 0.0 &&
          session().sleep_until(session().now() + from_seconds(extra)) == CancelMode::kAbandon) {
        return false;
      }
      if (first > 0) {
        fold(result.examples, part.size());
      }
      loss_sum += *loss * static_cast<double>(part.size());
      result.examples += static_cast<std::uint32_t>(part.size());
      if (session().cancelled() == CancelMode::kKeepPart) {
        if (first == 0) {
          micro_batch(task.release.nominal).had_no_part();
        }
        break;
      }
    }
    result.loss = loss_sum / result.examples;
    if (task.release.may_keep_part && result.examples == examples.size()) {
      micro_batch(task.release.nominal).was_whole();
    }
    return true;
  }

  // gradient_ becomes the mean over `before` examples of its own and `more` of part_gradient_'s.
  void fold(std::uint32_t before, std::size_t more) {
    const float share = static_cast<float>(more) / static_cast<float>(before + more);
    for (std::size_t i = 0; i < gradient_.size(); ++i) {
      gradient_[i] += share * (part_gradient_[i] - gradient_[i]);
    }
  }

  worker::MicroBatch& micro_batch(std::uint32_t nominal) {
    if (!micro_batch_) {
      micro_batch_.emplace(nominal);
    }
    return *micro_batch_;
  }

  LastingSession& lasting_;
  worker::GradientSource& source_;
  const worker::Pace& pace_;
  std::optional<worker::Attacker> attacker_;
  WorkerObserver* observer_;   // Null: none.
  std::span<float> gradient_;  // The session's.
  std::vector<float> part_gradient_;
  std::optional<worker::MicroBatch> micro_batch_;
};

}  // namespace

void run_worker(const WorkerOptions& options,
                worker::GradientSource& source,
                const worker::Pace& pace,
                std::optional<worker::Attacker> attacker,
                WorkerObserver* observer) {
  LastingSession session(options,
                         {.manifest = source.manifest(),
                          .dataset_examples = source.dataset_examples(),
                          .initial_weights = [&source] { return source.initial_weights(); }});
  Work work(session, source, pace, attacker, observer);
  work.run();
  if (options.session.leaving != nullptr && options.session.leaving->asked()) {
    work.leave();
  }
}

}  // namespace outpace::live
