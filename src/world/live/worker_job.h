// What a Worker of include/outpace/worker.h does behind its interface: leases, pushes, local steps,
// and the waits that --slow and --delays ask for.

#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "live/control.h"
#include "live/lasting_session.h"
#include "live/leaving.h"
#include "live/pass_log.h"
#include "live/script.h"
#include "outpace/worker.h"
#include "wire/tls_files.h"
#include "worker/order.h"
#include "worker/pace.h"

namespace outpace {

class Worker::Job {
 public:
  explicit Job(WorkerOptions options,
               std::optional<worker::Pace> pace = std::nullopt,
               std::string profile = "")
      : options_(std::move(options)), pace_(std::move(pace)), log_(std::move(profile)) {}

  [[nodiscard]] wire::TlsFiles tls() const {
    return {
        .certificate = options_.tls_certificate, .key = options_.tls_key, .ca = options_.tls_ca};
  }

  void join(const std::vector<Parameter>& parameters,
            const std::function<std::vector<float>()>& initial_weights,
            std::uint64_t examples,
            const ScriptSettings& settings) {
    live::require(!joined_, "join: this worker has joined already");
    live::require(options_.worker < protocol::kWorkersMax,
                  "worker " + std::to_string(options_.worker) + ": ranks are below " +
                      std::to_string(protocol::kWorkersMax));
    live::require(examples >= 1, "join: the data set is empty");
    wire::check_encrypted(options_.server,
                          options_.token,
                          tls(),
                          options_.insecure_no_tls,
                          "OUTPACE_INSECURE_NO_TLS=true");
    const protocol::Manifest manifest = live::manifest_of(parameters);
    const protocol::Script script = live::script_of(settings, parameters);
    numbers_ = manifest.numbers();
    groups_ = script.groups.size();
    tensors_ = manifest.tensors.size();
    session_.emplace(
        live::WorkerOptions{.session = {.server = options_.server,
                                        .token = options_.token,
                                        .tls = tls(),
                                        .worker = WorkerId{options_.worker},
                                        .deadline = options_.deadline,
                                        .leaving = &leaving_,
                                        .keep_alive = options_.keep_alive,
                                        .connections = connections(),
                                        .slice_bytes = options_.slice_bytes,
                                        .compress = compression(settings),
                                        .stops_joining = true},
                            .rejoin_for = options_.rejoin_for},
        live::Offer{.manifest = manifest,
                    .dataset_examples = examples,
                    .initial_weights = live::checked(initial_weights, numbers_),
                    .constants = settings.constants,
                    .state = live::brought_state(settings.state, manifest, groups_ > 0),
                    .script = script,
                    .wants_evaluator = settings.evaluator,
                    .ahead = settings.ahead,
                    .steps_locally = settings.local_steps > 0,
                    .local_steps = settings.local_steps});
    joined_ = true;
    steps_locally_ = settings.local_steps > 0;
    log_.joined(manifest, examples);
  }

  void mark(std::size_t numbers, double seconds_ago) {
    if (in_hand_ > 0 && numbers <= numbers_) {
      log_.layer(numbers, seconds_ago);
    }
  }

  [[nodiscard]] bool joined() const { return joined_; }
  [[nodiscard]] const std::string& constants() const {
    static const std::string kNone;
    return session_ ? session_->constants() : kNone;
  }

  std::optional<Minibatch> next() {
    std::optional<live::LastingSession::Task> task = next_whole_task();
    if (!task) {
      return std::nullopt;
    }
    return Minibatch{.weights = session_->session().take(std::move(task->work.weights)),
                     .examples = std::move(task->examples),
                     .version = count(task->work.release.version),
                     .epoch = task->work.release.ranges.front().epoch,
                     .steps = steps_of(task->work.release)};
  }

  std::optional<MinibatchView> next_view() { return view_of(next_whole_task()); }
  std::optional<MinibatchView> next_early() { return view_of(next_task()); }

  bool wait_for(std::size_t numbers) {
    live::require(in_hand_ > 0, "wait_for: this worker has no mini-batch; call next_early() first");
    live::require(numbers <= numbers_,
                  "wait_for: " + std::to_string(numbers) + " weights, the parameters hold " +
                      std::to_string(numbers_));
    return session_->session().wait_for_weights(numbers);
  }

  [[nodiscard]] bool cancelled() {
    return session_ && session_->session().cancelled() != worker::CancelMode::kNone;
  }

  [[nodiscard]] bool wants_part() {
    return session_ && session_->session().cancelled() == worker::CancelMode::kKeepPart;
  }

  void stepped(std::size_t examples) {
    live::require(steps_locally_, "stepped: join() had no local steps");
    live::require(in_hand_ > 0, "stepped: this worker has no mini-batch; call next() first");
    live::require(examples >= 1 && examples <= in_hand_ - stepped_,
                  "stepped: " + std::to_string(examples) + " examples, of " +
                      std::to_string(in_hand_ - stepped_) + " that are left of the lease");
    stepped_ += examples;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    stepped_seconds_ += took.count();
    wait_for_pace(examples);
    wait_for_slowness(took.count());
    begun_ = std::chrono::steady_clock::now();
  }

  std::span<float> gradient() {
    live::require(in_hand_ > 0 || pushing_,
                  "gradient: this worker has no mini-batch; call next() first");
    gradient_ = session_->session().gradient();
    return gradient_;
  }

  [[nodiscard]] std::shared_ptr<const void> memory() const {
    using Memory = std::shared_ptr<const void>;
    return std::make_shared<const std::pair<Memory, Memory>>(
        weights_.memory(), session_ ? session_->session().gradient_memory() : nullptr);
  }

  void push_slice(std::size_t begin, std::size_t end) {
    live::require(!gradient_.empty(), "push_slice: write the gradient into gradient() first");
    session_->session().push_slice(begin, end);
  }

  PushResult push(std::vector<float> gradient,
                  std::optional<double> loss,
                  std::optional<std::size_t> part) {
    const auto result = result_of(gradient.size(), loss, part);
    require_unsliced();
    wait_for_slowness();
    return answer([&] { return session_->session().push(result, std::move(gradient)); });
  }

  PushResult push(std::span<const float> gradient,
                  std::optional<double> loss,
                  std::optional<std::size_t> part) {
    const auto result = result_of(gradient.size(), loss, part);
    if (gradient.data() != gradient_.data()) {
      require_unsliced();
      std::ranges::copy(gradient, session_->session().gradient().begin());
    }
    wait_for_slowness();
    return answer([&] { return session_->session().push(result); });
  }

  void start_push(std::optional<double> loss) {
    live::require(!gradient_.empty(), "start_push: write the gradient into gradient() first");
    const auto result = result_of(gradient_.size(), loss, std::nullopt);
    live::require(gradient_.data() == session_->session().gradient().data(),
                  "start_push: the connection was lost since gradient(); ask for its memory again");
    wait_for_slowness();
    begin_answer();
    session_->session().start_push(result);
    gradient_ = {};
    pushing_ = true;
  }

  News await_news(std::chrono::nanoseconds most) {
    live::require(pushing_, "await_news: start_push() comes first");
    using enum live::WorkerSession::News;
    const live::WorkerSession::News news = session_->session().await_news(most);
    return news == kNone ? News::kNone : news == kReady ? News::kReady : News::kLost;
  }

  PushResult finish_push() {
    live::require(pushing_, "finish_push: start_push() comes first");
    pushing_ = false;
    return result_of(session_->session().finish_push());
  }

  [[nodiscard]] bool slowed() const {
    return pace_.has_value() || (session_ && session_->session().slowness() > 1.0);
  }

  void abandon(protocol::GivenUp why = protocol::GivenUp::kUnwanted) {
    pushing_ = false;
    if (in_hand_ > 0) {
      drop();
      session_->session().abandon(why);
    }
  }

  void set_rates(std::uint64_t epoch, const std::vector<double>& rates) {
    live::require(joined_, "set_rates: join() comes first");
    rates_ = live::rates_of(epoch, rates, groups_);
  }

  void without(std::vector<std::uint32_t> tensors) {
    live::require(in_hand_ > 0, "without: this worker has no mini-batch; call next() first");
    live::require(groups_ > 0 || tensors.empty(), "without: join() had no groups");
    without_ = live::without_of(std::move(tensors), tensors_);
  }

  void ask_for_evaluator() {
    live::require(joined_, "ask_for_evaluator: join() comes first");
    if (session_ && !over_) {
      session_->session().ask_for_evaluator();
      return;
    }
    live::tell(control(), protocol::AskEvaluator{});
  }

  [[nodiscard]] live::ControlOptions control() const {
    return {.server = options_.server, .token = options_.token, .tls = tls()};
  }

  void stop_waiting() { leaving_.ask(SIGTERM); }

  void leave() {
    log_.close();
    drop();
    if (session_) {
      session_->session().leave();
      session_.reset();
    }
  }

 private:
  // Nothing: as the server says.
  [[nodiscard]] std::optional<std::size_t> connections() const {
    return options_.connections == 0 ? std::nullopt
                                     : std::optional<std::size_t>(options_.connections);
  }
  [[nodiscard]] std::optional<compress::Compression> compression(
      const ScriptSettings& settings) const {
    const std::string& said = options_.compress.empty() ? settings.compress : options_.compress;
    return said.empty() ? std::nullopt : std::optional(compress::Compression::parse(said));
  }

  std::optional<MinibatchView> view_of(std::optional<live::LastingSession::Task> task) {
    if (!task) {
      return std::nullopt;
    }
    weights_ = std::move(task->work.weights);
    return MinibatchView{.weights = weights_.span(),
                         .examples = std::move(task->examples),
                         .version = count(task->work.release.version),
                         .epoch = task->work.release.ranges.front().epoch,
                         .ahead = std::move(task->ahead),
                         .ahead_epochs = std::move(task->ahead_epochs),
                         .steps = steps_of(task->work.release)};
  }

  [[nodiscard]] std::vector<LocalStep> steps_of(const protocol::Release& release) const {
    std::vector<LocalStep> steps;
    const std::size_t batch = steps_locally_ ? release.nominal : in_hand_;
    for (std::size_t first = 0; first < in_hand_; first += batch) {
      steps.push_back({.examples = std::min(batch, in_hand_ - first),
                       .epoch = worker::epoch_at(release.ranges, first)});
    }
    return steps;
  }

  // If the connection is lost before all of its weights are there, the next one.
  std::optional<live::LastingSession::Task> next_whole_task() {
    while (true) {
      std::optional<live::LastingSession::Task> task = next_task();
      if (!task || session_->session().wait_for_weights(numbers_)) {
        return task;
      }
    }
  }

  void require_unsliced() const {
    live::require(!session_->session().slice_sent(),
                  "push: slices of gradient() have left; push gradient() itself");
  }

  std::optional<live::LastingSession::Task> next_task() {
    live::require(joined_, "next: join() comes first");
    abandon();
    if (!session_) {
      return std::nullopt;
    }
    std::optional<live::LastingSession::Task> task;
    const std::uint64_t before = session_->sessions();
    try {
      task = session_->next();
    } catch (...) {
      gradient_ = {};
      session_.reset();  // There is no connection any more that could be used.
      throw;
    }
    if (session_->sessions() != before) {
      gradient_ = {};  // It was the lost connection's memory.
    }
    over_ = !task;
    if (over_) {
      log_.close();
    }
    if (task && !std::exchange(came_, true)) {
      session_->packer().say_lost(session_->worker(), task->work.release.version);
    }
    if (task) {
      in_hand_ = task->examples.size();
      nominal_ = task->work.release.nominal;
      stepped_ = 0;
      stepped_seconds_ = 0.0;
      if (!steps_locally_) {
        wait_for_pace(in_hand_);
      }
      begun_ = std::chrono::steady_clock::now();
      log_.taken();
    }
    return task;
  }

  // Sleeps as long as the delays say of this many examples, or until the mini-batch is cancelled.
  void wait_for_pace(std::size_t examples) {
    if (pace_) {
      const double share = static_cast<double>(examples) / nominal_;
      const Time start = session_->session().now();
      const Time finish = pace_->finish(start, share, iteration_++);
      if (finish > start) {
        const double slowness = session_->session().slowness();
        (void)session_->session().sleep_until(start +
                                              from_seconds(to_seconds(finish - start) * slowness));
      }
    }
  }

  // As a worker that computes more slowly would; not once the mini-batch is cancelled. With local
  // steps, stepped() has.
  void wait_for_slowness() {
    if (!steps_locally_) {
      wait_for_slowness(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count());
    }
  }
  void wait_for_slowness(double took) {
    const double slowness = session_->session().slowness();
    if (pace_ || slowness > 1.0) {
      const double extra = (pace_ ? pace_->extra_seconds(took) : 0.0) + (slowness - 1.0) * took;
      if (extra > 0.0) {
        (void)session_->session().sleep_until(session_->session().now() + from_seconds(extra));
      }
    }
  }

  // What a push says beside the gradient.
  live::WorkerSession::Result result_of(std::size_t numbers,
                                        std::optional<double> loss,
                                        std::optional<std::size_t> part) {
    live::require(in_hand_ > 0, "push: this worker has no mini-batch; call next() first");
    live::require(!steps_locally_ || stepped_ > 0,
                  "push: no local step was made; call stepped() first");
    live::require(!steps_locally_ || part.value_or(stepped_) == stepped_,
                  "push: a part of " + std::to_string(part.value_or(0)) +
                      " examples, and the steps had " + std::to_string(stepped_));
    live::require(numbers == numbers_,
                  "push: the gradient has " + std::to_string(numbers) +
                      " numbers, the parameters hold " + std::to_string(numbers_));
    const std::size_t examples = steps_locally_ ? stepped_ : part.value_or(in_hand_);
    live::require(examples >= 1 && examples <= in_hand_,
                  "push: a part of " + std::to_string(examples) + " examples, the mini-batch has " +
                      std::to_string(in_hand_));
    log_.computed();
    return {
        .examples = static_cast<std::uint32_t>(examples),
        .partial = examples < in_hand_,
        .loss = loss,
        .compute_seconds =
            steps_locally_
                ? stepped_seconds_
                : std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(),
        .without = std::exchange(without_, {})};
  }

  template <typename Push>
  PushResult answer(Push push) {
    begin_answer();
    const std::optional<protocol::Verdict> verdict = push();
    gradient_ = {};
    return result_of(verdict);
  }

  void begin_answer() {
    in_hand_ = 0;
    weights_ = {};  // The server may use their memory again.
    if (rates_) {
      session_->session().tell(*rates_);
    }
  }

  PushResult result_of(const std::optional<protocol::Verdict>& verdict) {
    if (verdict) {
      rates_.reset();  // The server has heard them before the gradient.
    } else {
      return {PushOutcome::kUnanswered, "the run ended or the connection was lost first"};
    }
    return {live::outcome_of(verdict->outcome), verdict->why.value_or("")};
  }

  // Nothing of the current mini-batch is needed any more.
  void drop() {
    pushing_ = false;
    in_hand_ = 0;
    without_.clear();
    weights_ = {};
    gradient_ = {};
  }

  const WorkerOptions options_;
  const std::optional<worker::Pace> pace_;  // For delays on demand.
  // State.
  std::uint64_t iteration_ = 0;
  bool joined_ = false;
  bool came_ = false;  // It has had a mini-batch.
  bool over_ = false;  // The run, as next() said.
  std::uint64_t numbers_ = 0;
  std::size_t groups_ = 0;
  std::size_t tensors_ = 0;
  std::vector<std::uint32_t> without_;    // Tensors that the current gradient lacks.
  std::optional<protocol::Rates> rates_;  // To be told before the next push.
  live::Leaving leaving_{{.end_as_it_is = [](int /*code*/) {}}};  // The session's; outlives it.
  std::optional<live::LastingSession> session_;                   // From join() to the end.
  std::size_t in_hand_ = 0;    // Examples of the mini-batch that awaits its answer;
  std::uint32_t nominal_ = 1;  // of a full one.
  bool steps_locally_ = false;
  std::size_t stepped_ = 0;       // Examples of the local steps since next(),
  double stepped_seconds_ = 0.0;  // and what they took without delays.
  bool pushing_ = false;          // From start_push() to finish_push().
  std::chrono::steady_clock::time_point begun_;
  wire::Numbers weights_;      // The current mini-batch's, if it is a view.
  std::span<float> gradient_;  // The session's, if it was asked for.
  live::PassLog log_;          // For `outpace profile`.
};

}  // namespace outpace
