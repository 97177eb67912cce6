// Tested by test/program/ledger_test.py (class Death).

#include "live/worker_loop.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "live/slowed.h"
#include "update/local_phase.h"
#include "worker/inbox.h"
#include "worker/order.h"
#include "worker/slices.h"

namespace outpace::live {
namespace {

using worker::CancelMode;

class Work {
 public:
  Work(LastingSession& session,
       worker::GradientSource& source,
       const worker::Pace& pace,
       std::optional<worker::Attacker> attacker,
       WorkerObserver* observer)
      : lasting_(session), source_(source), pace_(pace), attacker_(attacker), observer_(observer) {
    for (const std::size_t size : source.manifest().sizes()) {
      tensors_.push_back({.begin = tensors_.empty() ? 0 : tensors_.back().end, .end = 0});
      tensors_.back().end = tensors_.back().begin + size;
    }
  }

  void run() {
    std::uint64_t iteration = 0;
    while (auto task = lasting_.next()) {
      if (observer_ != nullptr) {
        observer_->released(session().welcome(), task->work);
      }
      if (!answer(*task, iteration)) {
        session().abandon();
      }
    }
  }
  void leave() { session().leave(); }

 private:
  [[nodiscard]] WorkerSession& session() { return lasting_.session(); }

  // False if there is nothing to push: the task was given up.
  bool answer(LastingSession::Task& task, std::uint64_t& iteration) {
    if (!session().welcome().inner_optimizer.empty()) {
      return answer_phase(task, iteration);
    }
    const std::size_t whole = task.examples.size();
    const std::span examples =
        std::span(task.examples).first(wait_for_pace(task.work, whole, iteration++));
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
    if (attacker_) {
      attacker_->corrupt(gradient_);
    }
    task.work.weights = {};  // The server may use their memory again.
    push(result);
    return true;
  }

  void push(const WorkerSession::Result& result) {
    if (observer_ == nullptr) {
      session().push(result);
      return;
    }
    observer_->pushes(result);
    observer_->judged(session().push(result));
  }

  // Local steps, a mini-batch each, until the lease is used or the server asks for what there is.
  bool answer_phase(LastingSession::Task& task, std::uint64_t& iteration) {
    const std::size_t whole = task.examples.size();
    const protocol::Release& release = task.work.release;
    gradient_ = session().gradient();
    if (!session().weights_are_there(gradient_.size()) &&
        !session().wait_for_weights(gradient_.size())) {
      return false;
    }
    update::LocalPhase& phase = this->phase(release.version);
    phase.begin(task.work.weights);
    WorkerSession::Result result{};
    while (result.examples < whole && session().cancelled() == CancelMode::kNone) {
      const auto batch =
          std::span(task.examples)
              .subspan(result.examples,
                       std::min<std::size_t>(release.nominal, whole - result.examples));
      if (wait_for_pace(task.work, batch.size(), iteration++) < batch.size()) {
        break;
      }
      source_.begin_epoch(worker::epoch_at(release.ranges, result.examples));
      if (!step(phase, release.inner_rate, batch, result)) {
        return false;
      }
    }
    if (result.examples == 0 || session().cancelled() == CancelMode::kAbandon) {
      return false;
    }
    result.partial = result.examples < whole;
    result.loss = phase.loss();
    phase.difference(task.work.weights, gradient_);
    if (attacker_) {
      attacker_->corrupt(gradient_);
    }
    task.work.weights = {};
    push(result);
    return true;
  }

  // False if it was given up.
  bool step(update::LocalPhase& phase,
            double rate,
            std::span<const std::uint64_t> batch,
            WorkerSession::Result& result) {
    Slowed slowed(session(), pace_);
    const auto loss = source_.compute(phase.weights(), batch, phase.gradient(), [this] {
      return session().cancelled() == CancelMode::kAbandon;
    });
    if (!loss || !slowed.wait()) {
      return false;
    }
    phase.step(rate, *loss, batch.size());
    result.examples += static_cast<std::uint32_t>(batch.size());
    result.compute_seconds += slowed.computed_seconds();
    return true;
  }

  // `at`: the version of its release.
  update::LocalPhase& phase(Version at) {
    if (!phase_) {
      const protocol::Welcome& welcome = session().welcome();
      phase_.emplace(Spec::parse(welcome.inner_optimizer),
                     welcome.inner_weight_decay,
                     source_.manifest().sizes());
      say_what_is_lost(at);
    }
    return *phase_;
  }

  // The run has made steps before this process came, whose optimizer knows nothing of them.
  void say_what_is_lost(Version at) const {
    if (phase_->remembers() && count(at) > 0) {
      const std::string line = "outpace: " + name(lasting_.worker()) + " joins at update " +
                               std::to_string(count(at)) + ": the " +
                               Spec::parse(lasting_.session().welcome().inner_optimizer).name +
                               " of its local steps begins anew, with nothing of earlier steps";
      std::fprintf(stderr, "%s\n", line.c_str());
    }
  }

  // Sleeps as long as the delays say that the mini-batch takes. How many examples are done then:
  // all, or with a cancel the part that this slow machine would have had.
  std::size_t wait_for_pace(const WorkerSession::Task& task,
                            std::size_t whole,
                            std::uint64_t iteration) {
    const auto nominal = static_cast<double>(task.release.nominal);
    const double share = static_cast<double>(whole) / nominal;
    const Time start = session().now();
    const double slowness = session().slowness();
    const auto slowed = [slowness](Duration time) {
      return slowness == 1.0 ? time : from_seconds(to_seconds(time) * slowness);
    };
    const Time finish = start + slowed(pace_.finish(start, share, iteration) - start);
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
    const Time reached = start + from_seconds(to_seconds(session().now() - start) / slowness);
    const double done = std::min(share, pace_.done(start, reached, iteration));
    return std::min(whole, static_cast<std::size_t>(done * nominal + 1e-9));
  }

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
    const bool slices = last && !attacker_ && session().slices();
    Slowed slowed(session(), pace_);
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

  LastingSession& lasting_;
  worker::GradientSource& source_;
  const worker::Pace& pace_;
  std::optional<worker::Attacker> attacker_;
  std::vector<worker::Slice> tensors_;  // Where each one's numbers are.
  WorkerObserver* observer_;            // Null: none.
  std::span<float> gradient_;           // The session's.
  std::vector<float> part_gradient_;
  std::optional<worker::MicroBatch> micro_batch_;
  std::optional<update::LocalPhase> phase_;  // Its optimizer lasts from phase to phase.
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
                          .steps_locally = true});
  Work work(session, source, pace, attacker, observer);
  work.run();
  if (options.session.leaving != nullptr && options.session.leaving->asked()) {
    work.leave();
  }
}

}  // namespace outpace::live
