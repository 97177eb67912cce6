// Tested by src/world/collective/host_test.cc.

#include "collective/member.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include <unistd.h>

#include "base/error.h"
#include "collective/reported.h"
#include "live/reaching.h"
#include "wire/transports.h"

namespace outpace::collective {
namespace {

using std::chrono::steady_clock;

constexpr double kLossMax = 1e30;  // The numbers of a message must be finite.

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return "unknown host";
  }
  return name.data();
}

}  // namespace

std::uint32_t rank_of(WorkerId worker, const protocol::Group& group) {
  const auto found = std::ranges::find(group.members, worker);
  if (found == group.members.end()) {
    throw Error(ExitCode::kFailure, "the host named a group without " + name(worker));
  }
  return static_cast<std::uint32_t>(found - group.members.begin());
}

Member::Member(const live::SessionOptions& options,
               const live::Offer& offer,
               Weights weights,
               std::optional<Duration> progress_timeout,
               peer::Journal journal)
    : options_(options),
      weights_(std::move(weights)),
      membership_(std::move(journal)),
      progress_(server::StallRule(progress_timeout)) {
  const auto reaching = std::make_shared<live::Reaching>(name(options.worker), options.deadline);
  transport_ =
      wire::connect({.address = options.server,
                     .token = options.token,
                     .deadline = options.deadline,
                     .tls = options.tls,
                     .keep_alive = options.keep_alive,
                     .tried = [reaching](const std::string& why) { reaching->tried(why); }},
                    [this](wire::ConnectionEvent event) { receive(std::move(event)); });
  transport_->send(protocol::Hello{.worker = options.worker,
                                   .process = options.process,
                                   .host = host_name() + ":" + std::to_string(getpid()),
                                   .dataset_examples = offer.dataset_examples,
                                   .manifest = offer.manifest},
                   nullptr);
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return welcome_ || closed_ || stop_; });
    if (!welcome_) {
      throw_closed();
    }
  }
  heart_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
}

Member::~Member() = default;

Time Member::now() const {
  return Time{std::chrono::duration_cast<Duration>(steady_clock::now() - began_)};
}

bool Member::stopping() const {
  const std::lock_guard lock(mutex_);
  return stop_ || closed_;
}

void Member::listen_by(std::shared_ptr<wire::PeerLinks> links) {
  const std::lock_guard lock(mutex_);
  links_ = std::move(links);
}

void Member::has_everything() {
  const std::lock_guard lock(mutex_);
  newcomer_ = false;
}

void Member::sleep_until(Time time) {
  std::unique_lock lock(mutex_);
  const auto until =
      began_ + std::chrono::duration_cast<steady_clock::duration>(time.time_since_epoch());
  changed_.wait_until(lock, until, [this] { return stop_ || closed_; });
}

void Member::sleep_in_group_until(Time time) {
  std::unique_lock lock(mutex_);
  const auto until =
      began_ + std::chrono::duration_cast<steady_clock::duration>(time.time_since_epoch());
  changed_.wait_until(lock, until, [this] { return stop_ || must_leave(); });
}

bool Member::dismissed() const {
  return closed_ || (stop_ && stop_->how != protocol::Farewell::kFinished);
}

std::optional<protocol::Group> Member::next_group(Version version, Until until) {
  std::unique_lock lock(mutex_);
  membership_.out();
  while (true) {
    if (dismissed()) {
      throw_closed();
    }
    if (resigned_ || (stop_ && until == Until::kStopped)) {
      return std::nullopt;
    }
    if (const auto generation = membership_.answer()) {
      if (links_ && *generation > 0 && *generation == asked_.generation) {
        links_->expect(asked_.generation, asked_.key);
      }
      transport_->send(
          protocol::Standing{.generation = *generation,
                             .version = version,
                             .newcomer = newcomer_,
                             .place = links_ ? links_->place() : protocol::PeerPlace{}},
          nullptr);
    } else if (auto group = membership_.joins()) {
      newcomer_ = std::ranges::find(group->newcomers, options_.worker) != group->newcomers.end();
      return group;
    } else {
      changed_.wait(lock);
    }
  }
}

void Member::resign() {
  const std::lock_guard lock(mutex_);
  resigned_ = true;
  changed_.notify_all();
}

void Member::set_leave(std::function<void()> leave) {
  const std::lock_guard lock(mutex_);
  leave_ = std::move(leave);
  if (leave_ && must_leave()) {
    leave_();
  }
}

void Member::report(const Report& report) {
  transport_->send(
      protocol::Push{.id = {.job = welcome_->job,
                            .generation = welcome_->generation,
                            .worker = options_.worker,
                            .incarnation = welcome_->incarnation,
                            .sequence = report.sequence},
                     .examples = report.examples,
                     .partial = false,
                     .loss = std::isfinite(report.loss) ? report.loss : kLossMax,
                     .compute_seconds = report.compute_seconds},
      std::make_shared<const std::vector<float>>(
          payload_of({.runtime = static_cast<float>(report.runtime), .carried = report.carried})));
}

Member::Computing::Computing(Member& member) : member_(member) {
  const std::lock_guard lock(member_.mutex_);
  member_.progress_.begin(member_.now());
}

Member::Computing::~Computing() {
  const std::lock_guard lock(member_.mutex_);
  member_.progress_.end(member_.now());
}

void Member::bring(Version version, std::vector<float> weights) {
  transport_->send(protocol::Snapshot{version},
                   std::make_shared<const std::vector<float>>(std::move(weights)));
}

void Member::leave() {
  transport_->send(protocol::Goodbye{}, nullptr);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_.has_value(); });
  if (stop_ && stop_->how != protocol::Farewell::kFinished) {
    throw_closed();
  }
}

bool Member::leave_unless_regrouped() {
  transport_->send(protocol::Goodbye{}, nullptr);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return closed_ || membership_.must_leave(); });
  if (!closed_) {
    return false;
  }
  if (stop_ && stop_->how != protocol::Farewell::kFinished) {
    throw_closed();
  }
  return true;
}

void Member::receive(wire::ConnectionEvent event) {
  auto* received = std::get_if<wire::Received>(&event);
  if (received != nullptr) {
    if (const auto* asked = std::get_if<protocol::Snapshot>(&received->message)) {
      // Its answer would be a sign of life. The last weights are wanted all the same.
      if (!stalled_for() || stopping()) {
        bring(asked->version, weights_());
      }
      return;
    }
  }
  const std::lock_guard lock(mutex_);
  if (received == nullptr) {
    closed_ = std::get<wire::Closed>(std::move(event));
  } else if (const auto* stop = std::get_if<protocol::Stop>(&received->message)) {
    stop_ = *stop;
  } else if (const auto* welcome = std::get_if<protocol::Welcome>(&received->message)) {
    welcome_ = *welcome;
    newcomer_ = welcome->newcomer;
    began_ = steady_clock::now() -
             std::chrono::duration_cast<steady_clock::duration>(welcome->now.time_since_epoch());
  } else if (const auto* regroup = std::get_if<protocol::Regroup>(&received->message)) {
    if (regroup->generation > asked_.generation) {
      asked_ = *regroup;
    }
    membership_.asked(*regroup);
  } else if (auto* group = std::get_if<protocol::Group>(&received->message)) {
    membership_.told(std::move(*group));
  }
  if (leave_ && must_leave()) {
    leave_();
  }
  changed_.notify_all();
}

std::optional<Duration> Member::stalled_for() const {
  const std::lock_guard lock(mutex_);
  return progress_.stalled(now());
}

void Member::beat(const std::stop_token& stop) {
  std::unique_lock lock(heart_mutex_);
  bool stalled = false;
  while (!stop.stop_requested()) {
    const auto at_it_for = stalled_for();
    if (!at_it_for) {
      transport_->send(protocol::Heartbeat{}, nullptr);
    } else if (!stalled) {
      std::fprintf(stderr,
                   "worker %u has been at a mini-batch for %.1f s, so it sends no heartbeats: the "
                   "others go on without it\n",
                   static_cast<unsigned>(index(options_.worker)),
                   to_seconds(*at_it_for));
    }
    stalled = at_it_for.has_value();
    heart_stopped_.wait_for(lock, stop, welcome_->heartbeat, [] { return false; });
  }
}

void Member::throw_closed() const {
  if (stop_ && stop_->how == protocol::Farewell::kIncompatible) {
    throw Error(ExitCode::kIncompatible, stop_->why);
  }
  if (stop_ && stop_->how == protocol::Farewell::kPresumedDead) {
    throw Lost(ExitCode::kTooFewWorkers, stop_->why);
  }
  if (stop_) {
    throw Error(stop_->how == protocol::Farewell::kFinished ? ExitCode::kDone : ExitCode::kFailure,
                stop_->why);
  }
  const Error error = wire::error_of(*closed_, options_.server);
  if (closed_->refused) {
    throw error;
  }
  throw Lost(error.code(), error.what());
}

}  // namespace outpace::collective
