// Tested by test/program/ledger_test.py (class Death).

#include "live/worker_loop.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>

#include "live/computing.h"
#include "live/phase_work.h"
#include "live/slowed.h"
#include "worker/inbox.h"
#include "worker/slices.h"

namespace outpace::live {
namespace {

using worker::CancelMode;

class Work {
 public:
  Work(Computing& computing, bool steps_ahead)
      : computing_(computing), source_(computing.source), phases_(computing, steps_ahead) {
    for (const std::size_t size : source_.manifest().sizes()) {
      tensors_.push_back({.begin = tensors_.empty() ? 0 : tensors_.back().end, .end = 0});
      tensors_.back().end = tensors_.back().begin + size;
    }
  }

  // False if there is nothing to push: the task was given up.
  bool answer(LastingSession::Task& task) {
    if (!session().welcome().inner_optimizer.empty()) {
      return phases_.answer(task);
    }
    const Version at = task.work.release.version;
    if (!std::exchange(begun_, true)) {
      computing_.take_up(at, nullptr);
    }
    if (task.work.release.kept) {
      computing_.keep(at, StateKeeper::When::kAtCheckpoint, nullptr);
    }
    const std::size_t whole = task.examples.size();
    const std::span examples =
        std::span(task.examples).first(computing_.wait_for_pace(task.work.release.nominal, whole));
    if (examples.empty()) {
      return false;
    }
    gradient_ = session().gradient();
    source_.begin_epoch(task.work.release.ranges.front().epoch);
    WorkerSession::Result result{};
    if (!compute(task.work, examples, result)) {
      return false;
    }
    result.partial = result.examples < whole;
    if (computing_.attacker) {
      computing_.attacker->corrupt(gradient_);
    }
    task.work.weights = {};  // The server may use their memory again.
    if (computing_.push(result)) {
      computing_.keep(at, StateKeeper::When::kAfterPush, nullptr);
    }
    return true;
  }

 private:
  [[nodiscard]] WorkerSession& session() { return computing_.session(); }

  // The mean gradient into gradient_, micro-batch by micro-batch if a part may be asked for.
  bool compute(const WorkerSession::Task& task,
               std::span<const std::uint64_t> examples,
               WorkerSession::Result& result) {
    const std::size_t micro =
        task.release.may_keep_part ? micro_batch(task.release.nominal).size() : examples.size();
    double loss_sum = 0.0;
    for (std::size_t first = 0; first < examples.size(); first += micro) {
      const auto part = examples.subspan(first, std::min(micro, examples.size() - first));
      // Only of the last pass are the numbers final as they come.
      const bool last = first + part.size() == examples.size();
      const auto loss = pass(task, part, last, result);
      if (!loss) {
        return false;
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

  // Adds one micro-batch to the mean gradient, and returns its loss; nothing if it was given up.
  std::optional<double> pass(const WorkerSession::Task& task,
                             std::span<const std::uint64_t> examples,
                             bool last,
                             WorkerSession::Result& result) {
    const std::uint32_t before = result.examples;
    std::span<float> into = gradient_;
    if (before > 0) {
      part_gradient_.resize(gradient_.size());
      into = part_gradient_;
    }
    const auto abandoned = [this] { return session().cancelled() == CancelMode::kAbandon; };
    // An attacker corrupts the gradient when it is whole.
    const bool slices = last && !computing_.attacker && session().slices();
    Slowed slowed(session(), computing_.pace);
    std::optional<double> loss;
    if (slices || !session().weights_are_there(gradient_.size())) {
      loss = source_.compute_overlapped(
          task.weights,
          examples,
          into,
          {.cancelled = abandoned,
           .wait_for = [&](std::size_t numbers) { return weights(slowed, numbers); },
           .ready =
               [&](std::size_t tensor) {
                 if (slices) {
                   (void)slowed.wait();
                   slowed.aside([&] { return send(tensors_[tensor], before, examples.size()); });
                 }
               }});
    } else {
      loss = source_.compute(task.weights, examples, into, abandoned);
    }
    if (!loss || !slowed.wait()) {
      return std::nullopt;
    }
    result.compute_seconds += slowed.computed_seconds();
    if (!slices) {
      fold({.begin = 0, .end = gradient_.size()}, before, examples.size());
    }
    return loss;
  }

  worker::GradientSource::Weights weights(Slowed& slowed, std::size_t numbers) {
    using enum worker::GradientSource::Weights;
    if (session().weights_are_there(numbers)) {
      return kThere;
    }
    return slowed.aside([&] { return session().wait_for_weights(numbers); }) ? kCame : kGivenUp;
  }

  // A tensor of the last pass is complete.
  bool send(worker::Slice tensor, std::uint32_t before, std::size_t more) {
    fold(tensor, before, more);
    session().push_slice(tensor.begin, tensor.end);
    return true;
  }

  // These numbers of gradient_ become the mean over `before` examples of its own and `more` of
  // part_gradient_'s.
  void fold(worker::Slice numbers, std::uint32_t before, std::size_t more) {
    if (before == 0) {
      return;
    }
    const float share = static_cast<float>(more) / static_cast<float>(before + more);
    for (std::size_t i = numbers.begin; i < numbers.end; ++i) {
      gradient_[i] += share * (part_gradient_[i] - gradient_[i]);
    }
  }

  worker::MicroBatch& micro_batch(std::uint32_t nominal) {
    if (!micro_batch_) {
      micro_batch_.emplace(nominal);
    }
    return *micro_batch_;
  }

  Computing& computing_;
  worker::GradientSource& source_;
  PhaseWork phases_;
  bool begun_ = false;
  std::vector<worker::Slice> tensors_;  // Where each one's numbers are.
  std::span<float> gradient_;           // The session's.
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
                          .initial_weights = [&source] { return source.initial_weights(); },
                          .script = source.script(),
                          .ahead = options.steps_ahead ? 1U : 0U,
                          .steps_locally = true});
  if (session.session().welcomed() && session.session().welcome().inner_optimizer.empty() &&
      (options.steps_ahead || (options.keeper.keep && !session.packer().remembers()))) {
    std::fputs("outpace: this job has no local steps: --steps-ahead and --keep-state do nothing\n",
               stderr);
  }
  Computing computing(session, source, pace, attacker, observer);
  Work work(computing, options.steps_ahead);
  while (auto task = session.next()) {
    if (observer != nullptr) {
      observer->released(session.session().welcome(), task->work);
    }
    if (!work.answer(*task)) {
      session.session().abandon();
    }
  }
  if (options.session.leaving != nullptr && options.session.leaving->asked()) {
    session.session().leave();
  }
}

}  // namespace outpace::live
