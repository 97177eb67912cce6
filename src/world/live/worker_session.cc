// Tested by src/world/live/worker_test.cc.

#include "live/worker_session.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include <unistd.h>

#include "base/check.h"
#include "base/overloaded.h"
#include "protocol/senders.h"
#include "wire/transports.h"

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return "unknown host";
  }
  return name.data();
}

}  // namespace

WorkerSession::WorkerSession(const SessionOptions& options, const Offer& offer)
    : options_(options),
      kept_(options.kept ? options.kept : std::make_shared<wire::KeptNumbers>()),
      initial_weights_(offer.initial_weights),
      constants_(offer.constants),
      state_(offer.state),
      numbers_(offer.manifest.numbers()),
      packer_(options.packer
                  ? options.packer
                  : std::make_shared<PushPacker>(options.compress, offer.manifest, offer.script)),
      reaching_("worker " + std::to_string(index(options.worker)), options.deadline),
      slices_(numbers_, (options.slice_bytes + sizeof(float) - 1) / sizeof(float)) {
  wire::ConnectOptions connecting{
      .address = options.server,
      .token = options.token,
      .deadline = options.deadline,
      .tls = options.tls,
      .keep_alive = options.keep_alive,
      .tried = [this](const std::string& why) { tried(why); },
      .connections = options.connections,
      .several = say_several("worker " + std::to_string(index(options.worker))),
      .kept = kept_};
  if (options.slice_bytes > 0) {
    connecting.progress = [this](std::uint64_t arrived) { weights_came(arrived); };
  }
  transport_ =
      wire::connect(connecting, [this](wire::ConnectionEvent event) { receive(std::move(event)); });
  transport_->authorise(numbers_);
  transport_->send(protocol::Hello{.worker = options.worker,
                                   .process = options.process,
                                   .host = host_name() + ":" + std::to_string(getpid()),
                                   .dataset_examples = offer.dataset_examples,
                                   .manifest = offer.manifest,
                                   .seen_job = options.seen_job,
                                   .seen_version = options.seen_version,
                                   .script = offer.script,
                                   .wants_evaluator = offer.wants_evaluator,
                                   .ahead = offer.ahead,
                                   .steps_locally = offer.steps_locally,
                                   .local_steps = offer.local_steps,
                                   .unanswered = packer_->unanswered(),
                                   .stands_for = offer.stands_for},
                   nullptr);
  try {
    if (options_.stops_joining) {
      hear_of_leaving();
    }
    await_welcome();
  } catch (...) {  // Without a destructor.
    hear_no_more_of_leaving();
    throw;
  }
  if (!welcome_) {
    return;
  }
  packer_->welcomed(*welcome_);
  heart_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
  hear_of_leaving();
}

void WorkerSession::hear_of_leaving() {
  if (options_.leaving != nullptr) {
    options_.leaving->on_ask([this](worker::CancelMode how) { give_up(how); });
  }
}

WorkerSession::~WorkerSession() {
  hear_no_more_of_leaving();
}

std::optional<WorkerSession::Task> WorkerSession::next() {
  std::unique_lock lock(mutex_);
  while (true) {
    const bool released = inbox_.take();
    takes_parts_ = released ? inbox_.newest().may_keep_part : takes_parts_;
    cancelled_ = cancel_mode();
    if (inbox_.stopped()) {
      if (inbox_.stopped()->how == protocol::Farewell::kFinished) {
        return std::nullopt;
      }
      throw_closed();
    }
    if (closed_) {  // Nobody would take the answer to a release that came before.
      throw_closed();
    }
    if (leaves_ != worker::CancelMode::kNone) {  // What was released goes back as it leaves.
      return std::nullopt;
    }
    if (released) {
      current_ = inbox_.newest().sequence;
      packer_->released(inbox_.newest());
      return Task{inbox_.newest(), std::move(weights_)};
    }
    if (std::exchange(needs_weights_, false)) {
      lock.unlock();
      send_initial_weights();
      lock.lock();
      continue;
    }
    changed_.wait(lock);
  }
}

bool WorkerSession::is_over() const {
  return inbox_.stopped() && inbox_.stopped()->how == protocol::Farewell::kFinished;
}

worker::CancelMode WorkerSession::sleep_until(Time time) {
  std::unique_lock lock(mutex_);
  const auto offset = clock_offset_.value_or(steady_clock::duration{});
  const auto until = steady_clock::time_point(
      std::chrono::duration_cast<steady_clock::duration>(time.time_since_epoch()) + offset);
  changed_.wait_until(lock, until, [this] {
    return cancelled_.load() != worker::CancelMode::kNone || closed_ || inbox_.stopped();
  });
  if (closed_ || inbox_.stopped()) {
    return worker::CancelMode::kAbandon;
  }
  return cancelled_;
}

Time WorkerSession::now() const {
  const std::lock_guard lock(mutex_);
  const auto elapsed =
      steady_clock::now().time_since_epoch() - clock_offset_.value_or(steady_clock::duration{});
  return Time{std::chrono::duration_cast<Duration>(elapsed)};
}

bool WorkerSession::are_there(std::size_t numbers) const {
  // A newer release comes when all of this one has come.
  return inbox_.newest().sequence != current_ || arrived_ >= numbers;
}

bool WorkerSession::weights_are_there(std::size_t numbers) const {
  const std::lock_guard lock(mutex_);
  return are_there(numbers);
}

bool WorkerSession::wait_for_weights(std::size_t numbers) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return are_there(numbers) || cancelled_.load() == worker::CancelMode::kAbandon;
  });
  return are_there(numbers);
}

std::span<float> WorkerSession::gradient() {
  if (gradient_.keeper == nullptr) {
    gradient_ = transport_->room(numbers_);
  }
  return gradient_.numbers;
}

std::optional<protocol::Verdict> WorkerSession::push(const Result& result) {
  start_push(result);
  return finish_push();
}

void WorkerSession::start_push(const Result& result) {
  (void)gradient();
  const std::size_t sent = numbers_ - slices_.unsent();
  slices_.restart();
  send(result, std::exchange(gradient_, {}), sent);
}

WorkerSession::News WorkerSession::await_news(Duration most) {
  std::unique_lock lock(mutex_);
  const auto lost = [this] { return closed_ || (inbox_.stopped() && !is_over()); };
  const bool came = changed_.wait_for(lock, most, [&] {
    return lost() || is_over() || leaves_ != worker::CancelMode::kNone || needs_weights_ ||
           (inbox_.verdict() && inbox_.has_next() && arrived_ >= numbers_);
  });
  if (!came) {
    return News::kNone;
  }
  return lost() && !is_over() ? News::kLost : News::kReady;
}

std::optional<protocol::Verdict> WorkerSession::finish_push() {
  constexpr std::chrono::seconds kSilent{10};
  std::unique_lock lock(mutex_);
  const auto answered = [this] {
    return inbox_.verdict().has_value() || inbox_.stopped() || closed_;
  };
  if (welcome_->above) {  // Its answer may take as long as others of this machine do.
    changed_.wait(lock, answered);
  }
  // Under every policy a gradient is answered at once: this server is stopped, or its machine is.
  for (auto waited = kSilent; !changed_.wait_for(lock, kSilent, answered); waited += kSilent) {
    std::fprintf(stderr,
                 "outpace: worker %u: the server at %s is connected and has not answered for %lld "
                 "s; is it stopped?\n",
                 static_cast<unsigned>(index(options_.worker)),
                 options_.server.c_str(),
                 static_cast<long long>(waited.count()));
  }
  std::optional<protocol::Verdict> verdict = inbox_.verdict();
  lock.unlock();
  if (verdict) {
    packer_->judged(verdict->outcome == protocol::Outcome::kAccepted);
  }
  return verdict;
}

void WorkerSession::push_slice(std::size_t begin, std::size_t end) {
  if (!slices()) {
    return;
  }
  const std::optional<worker::Slice> slice = slices_.add(begin, end);
  if (slice) {
    const auto numbers = gradient_.numbers.subspan(slice->begin, slice->end - slice->begin);
    (void)send_slices(slice->begin, numbers, gradient_.keeper);
  }
}

wire::Payload WorkerSession::send_slices(std::size_t begin,
                                         std::span<const float> numbers,
                                         const std::shared_ptr<const void>& keeper) {
  if (!packer_->packs()) {
    if (begin > 0) {
      send_slice(begin, wire::Payload(numbers, keeper));
      return {};
    }
    return {numbers, keeper};
  }
  for (PushPacker::Part& part : packer_->pack(begin, numbers, keeper)) {
    if (part.begin == 0) {
      return std::move(part.payload);
    }
    send_slice(part.begin, std::move(part.payload));
  }
  return {};
}

void WorkerSession::send_slice(std::size_t begin, wire::Payload payload) {
  transport_->send(protocol::Slice{.sequence = current_, .begin = begin, .whole = numbers_},
                   std::move(payload));
}

std::optional<protocol::Verdict> WorkerSession::push(const Result& result,
                                                     std::vector<float> gradient) {
  const auto own = kept_->lend(std::move(gradient));
  CHECK(!slices_.begun());
  slices_.restart();
  gradient_ = {};  // Its place is for this one.
  send(result, wire::Room{*own, own}, 0);
  return finish_push();
}

void WorkerSession::send(const Result& result, wire::Room gradient, std::size_t sent) {
  // The numbers of a message are finite. A loss that is not is told by its gradient, which the
  // server then refuses.
  const bool finite = std::isfinite(result.loss.value_or(0.0));
  if (!finite && !gradient.numbers.empty()) {  // The front is never sent before.
    gradient.numbers.front() = std::numeric_limits<float>::quiet_NaN();
  }
  const std::span<const float> front = gradient.numbers.first(gradient.numbers.size() - sent);
  wire::Payload payload = send_slices(0, front, gradient.keeper);
  gradient = {};  // Its memory is free once it has been sent.
  packer_->pushed(current_, result.without);
  transport_->send(protocol::Push{.id = identity(),
                                  .examples = result.examples,
                                  .partial = result.partial,
                                  .loss = finite ? result.loss : std::nullopt,
                                  .compute_seconds = result.compute_seconds,
                                  .without = result.without,
                                  .covers = result.covers,
                                  .stands_for = result.stands_for},
                   std::move(payload));
}

void WorkerSession::abandon(protocol::GivenUp why) {
  if (slices_.begun()) {
    gradient_ = {};  // Slices of it may still be on their way.
  }
  slices_.restart();
  packer_->judged(/*counts=*/false);
  transport_->send(protocol::Abandoned{identity(), why}, nullptr);
}

void WorkerSession::tell(const protocol::Rates& rates) {
  transport_->send(rates, nullptr);
}

void WorkerSession::ask_for_evaluator() {
  transport_->send(protocol::AskEvaluator{}, nullptr);
}

void WorkerSession::leave() {
  transport_->send(protocol::Goodbye{}, nullptr);
  transport_->finish();
  // If the session were destroyed at once, the farewell might not be sent.
  constexpr std::chrono::seconds kToLeave{5};
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kToLeave, [this] { return closed_.has_value(); });
}

void WorkerSession::await_welcome() {
  std::unique_lock lock(mutex_);
  const auto answered = [this] {
    return welcome_.has_value() || closed_.has_value() || inbox_.stopped().has_value() ||
           leaves_ != worker::CancelMode::kNone;
  };
  if (!changed_.wait_for(lock, options_.deadline, answered)) {
    // The transport's deadline is the same: it is about to say why there is no connection.
    changed_.wait(lock, [&] { return reached_ || answered(); });
  }
  if (!answered()) {
    throw ConnectionLost(options_.server + ": the server took the connection, and did not answer " +
                         "within " + std::to_string(std::lround(to_seconds(options_.deadline))) +
                         " s; its log may say why");
  }
  if (!welcome_) {
    if (is_over()) {
      return;
    }
    throw_closed();
  }
  const bool needs_weights = std::exchange(needs_weights_, false);
  lock.unlock();
  if (options_.welcomed) {
    options_.welcomed(*welcome_);
  }
  if (needs_weights) {
    send_initial_weights();
  }
}

void WorkerSession::tried(const std::string& why) {
  reaching_.tried(why);
  if (why.empty()) {
    const std::lock_guard lock(mutex_);
    reached_ = true;
    changed_.notify_all();
  }
}

void WorkerSession::receive(wire::ConnectionEvent event) {
  std::unique_lock lock(mutex_);
  std::visit(Overloaded{[&](wire::Received& received) { deliver(std::move(received)); },
                        [&](wire::Closed& closed) {
                          closed_ = std::move(closed);
                          // Nobody waits for what is computed now.
                          cancelled_ = worker::CancelMode::kAbandon;
                        }},
             event);
  changed_.notify_all();
  lock.unlock();
  if (options_.came) {
    options_.came();
  }
}

void WorkerSession::weights_came(std::uint64_t arrived) {
  const std::lock_guard lock(mutex_);
  arrived_ = arrived;
  changed_.notify_all();
}

void WorkerSession::deliver(wire::Received received) {
  if (const auto* welcome = std::get_if<protocol::Welcome>(&received.message)) {
    if (!welcome_) {
      welcome_ = *welcome;
    }
    needs_weights_ = welcome->needs_weights;
    return;
  }
  if (const auto* slow = std::get_if<protocol::SlowDown>(&received.message)) {
    slowness_ = slow->factor;
    return;
  }
  if (auto* constants = std::get_if<protocol::Constants>(&received.message)) {
    (void)came_.add(std::move(*constants));  // A server sends them in order.
    return;
  }
  if (const auto* release = std::get_if<protocol::Release>(&received.message)) {
    needs_weights_ = false;  // Another worker's came first.
    weights_ = std::move(received.payload);
    arrived_ = received.arrived;
    // A message can only be late, so the smallest difference seen is the nearest to the truth.
    const auto offset = steady_clock::now().time_since_epoch() - release->now.time_since_epoch();
    if (!clock_offset_ || offset < *clock_offset_) {
      clock_offset_ = offset;
    }
  }
  inbox_.receive(received.message);
  cancelled_ = cancel_mode();
}

worker::CancelMode WorkerSession::cancel_mode() const {
  using enum worker::CancelMode;
  if (inbox_.stopped() || closed_ || leaves_ == kAbandon) {
    return kAbandon;
  }
  if (leaves_ == kKeepPart && inbox_.cancelled() == kNone) {
    return takes_parts_ ? kKeepPart : kAbandon;
  }
  return inbox_.cancelled();
}

void WorkerSession::give_up(worker::CancelMode how) {
  std::unique_lock lock(mutex_);
  leaves_ = how;
  cancelled_ = cancel_mode();
  changed_.notify_all();
  lock.unlock();
  if (options_.came) {
    options_.came();
  }
}

std::string WorkerSession::take_constants() {
  const std::lock_guard lock(mutex_);
  return came_.complete() ? came_.take() : "";
}

void WorkerSession::send_initial_weights() {
  if (constants_) {
    protocol::in_parts(
        constants_(), [this](const protocol::Constants& part) { transport_->send(part, nullptr); });
  }
  if (state_) {
    for (BroughtState& part : state_()) {
      transport_->send(part.of,
                       std::make_shared<const std::vector<float>>(std::move(part.numbers)));
    }
  }
  transport_->send(protocol::InitialWeights{},
                   std::make_shared<const std::vector<float>>(initial_weights_()));
}

void WorkerSession::beat(const std::stop_token& stop) {
  std::unique_lock lock(heart_mutex_);
  while (!stop.stop_requested()) {
    transport_->send(protocol::Heartbeat{}, nullptr);
    heart_stopped_.wait_for(lock, stop, welcome_->heartbeat, [] { return false; });
  }
}

protocol::GradientId WorkerSession::identity() const {
  return {.job = welcome_->job,
          .generation = welcome_->generation,
          .worker = options_.worker,
          .incarnation = welcome_->incarnation,
          .sequence = current_};
}

void WorkerSession::throw_closed() const {
  if (const auto& stop = inbox_.stopped()) {
    switch (stop->how) {
      case protocol::Farewell::kIncompatible:
        throw Error(ExitCode::kIncompatible, stop->why);
      case protocol::Farewell::kPresumedDead:
        throw ConnectionLost(stop->why);
      default:
        throw Error(ExitCode::kFailure, stop->why);
    }
  }
  if (closed_ && closed_->refused) {
    throw wire::error_of(*closed_, options_.server);
  }
  throw ConnectionLost(options_.server + ": " + (closed_ ? closed_->why : "connection lost"));
}

}  // namespace outpace::live
