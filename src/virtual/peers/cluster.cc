#include "peers/cluster.h"

#include <algorithm>

#include "base/check.h"
#include "invariants/violation.h"

namespace outpace::peers {
namespace {

constexpr std::uint64_t kPeerStream = 0x70656572;
constexpr Duration kLookEvery = std::chrono::seconds(10);

Duration waits_at_most(const Options& options) {
  Duration most = 2 * options.heartbeat_timeout + 20 * options.latency + 20 * options.transfer;
  for (const sim::Fault& fault : options.faults) {
    most += 20 * fault.by;
    most += fault.kind == sim::Fault::Kind::kPause ? *fault.lasts : Duration{};
  }
  return most;
}

}  // namespace

void check_faults(const std::vector<sim::Fault>& faults) {
  using Kind = sim::Fault::Kind;
  for (const sim::Fault& fault : faults) {
    const bool may_be = fault.kind == Kind::kCrash || fault.kind == Kind::kPause ||
                        fault.kind == Kind::kSlow || fault.kind == Kind::kDelay ||
                        fault.kind == Kind::kLose;
    if (!may_be || (fault.kind == Kind::kCrash && fault.lasts)) {
      throw usage_error(
          "--fault: a run without a server can have crash (without for), pause, slow, delay and "
          "lose; a worker that is lost does not come back");
    }
  }
}

Cluster::Cluster(const Options& options, sim::Timing& timing, Told told, Decided decided)
    : options_(options),
      timing_(timing),
      told_(std::move(told)),
      decided_(std::move(decided)),
      too_long_(waits_at_most(options)),
      rng_(options.seed, kPeerStream),
      wires_(options.faults, options.latency, options.seed),
      members_(options.batches.workers),
      formation_(journal_of(std::nullopt)),
      checked_sums_(options.batches.examples) {
  CHECK(options.kind == peers::Kind::kRing || options.batches.workers >= 2);
  result_.workers.resize(members_.size());
}

peer::Journal Cluster::journal_of(std::optional<WorkerId> worker) {
  if (!decided_) {
    return nullptr;
  }
  return [this, worker](const std::string& event, const std::string& decided) {
    decided_(now_, worker, event, decided);
  };
}

peer::Outcome Cluster::run() {
  std::set<WorkerId> all;
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
    all.insert(WorkerId{worker});
    connected_.insert(worker);
    Member& member = members_[worker];
    const peer::Journal journal = journal_of(WorkerId{worker});
    member.membership = peer::Membership(journal);
    if (options_.kind == peers::Kind::kRing) {
      member.ring.emplace(peer::Ring::Options{.worker = WorkerId{worker},
                                              .batches = options_.batches,
                                              .evaluate_every = kEvaluateEvery},
                          journal);
    } else {
      member.gossip.emplace(options_.averaging, options_.average_every, journal);
    }
    member.membership.out();
  }
  for (std::size_t fault = 0; fault < options_.faults.size(); ++fault) {
    queue_.push(options_.faults[fault].at, {.kind = Kind::kFault, .number = fault});
  }
  if (options_.seconds > Duration{}) {
    queue_.push(Time{options_.seconds}, {.kind = Kind::kTimeUp});
  }
  queue_.push(Time{kLookEvery}, {.kind = Kind::kLook});
  order(formation_.begin(all));
  while (!over_) {
    const auto [now, id, event] = queue_.pop();
    now_ = now;
    handle(event);
  }
  finish();
  return result_;
}

void Cluster::handle(const Event& event) {
  if (event.kind != Kind::kLook) {
    ++result_.events;
    result_.hash = mix(result_.hash ^ static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    result_.hash = mix(result_.hash ^ (static_cast<std::uint64_t>(event.kind) << 56U) ^
                       (std::uint64_t{event.worker} << 32U) ^ event.number);
  }
  switch (event.kind) {
    case Kind::kFault:
      return befall(options_.faults[event.number]);
    case Kind::kLook:
      return look();
    case Kind::kTimeUp:
      return end(ExitCode::kDone, "time is up");
    case Kind::kStands:
      return stands(event);
    case Kind::kReport:
      return report(event);
    case Kind::kGoodbye:
      return goodbye(event.worker);
    case Kind::kGone:
      return lose(event.worker, "connection lost");
    case Kind::kSilent:
      if (members_[event.worker].alive && now_ < members_[event.worker].paused_until &&
          connected_.contains(event.worker)) {
        members_[event.worker].fenced = true;
        ++result_.counts.silenced;
        lose(event.worker, "silent");
      }
      return;
    default:
      return handle_of_worker(event);
  }
}

void Cluster::handle_of_worker(const Event& event) {
  const std::uint32_t worker = event.worker;
  Member& member = members_[worker];
  if (!member.alive) {
    return;
  }
  if (now_ < member.paused_until) {  // In the order in which they came.
    queue_.push(member.paused_until, event);
    return;
  }
  if (member.fenced) {
    return die(worker);
  }
  if (told_) {
    tell(worker,
         std::string(to_words(event.kind)) + ", of " + std::to_string(event.from) + ", group " +
             std::to_string(event.generation) + ", " + std::to_string(event.number));
  }
  switch (event.kind) {
    case Kind::kComputed:
      if (event.number == member.computations && member.computes) {
        member.computes = false;
        member.ring ? ring_computed(worker) : gossip_computed(worker);
      }
      break;
    case Kind::kJoined:
      if (member.joining == event.generation) {
        joined(worker);
      }
      break;
    case Kind::kSummed:
      summed(event);
      break;
    case Kind::kKnock:
      knock(event);
      break;
    case Kind::kCame:
      came(event);
      break;
    case Kind::kHandsOn:
      handed_on(event);
      break;
    case Kind::kClosed:
      closed(event);
      break;
    case Kind::kAsked:
      member.membership.asked({event.generation});
      find_group(worker);
      break;
    case Kind::kGroup:
      member.membership.told(groups_.at(event.generation));
      find_group(worker);
      break;
    case Kind::kStop:
      stop(worker);
      break;
    default:
      break;
  }
  if (member.alive && member.gossip) {
    go_on(worker);
  }
}

void Cluster::befall(const sim::Fault& fault) {
  const auto worker = static_cast<std::uint32_t>(index(fault.worker));
  Member& member = members_[worker];
  if (fault.kind == sim::Fault::Kind::kCrash && member.alive) {
    ++result_.counts.crashed;
    die(worker);
  } else if (fault.kind == sim::Fault::Kind::kPause && member.alive) {
    member.paused_until = std::max(member.paused_until, now_ + *fault.lasts);
    queue_.push(member.paused_until, {.kind = Kind::kWakes, .worker = worker});
    if (*fault.lasts > options_.heartbeat_timeout) {
      queue_.push(now_ + options_.heartbeat_timeout, {.kind = Kind::kSilent, .worker = worker});
    }
  }
}

void Cluster::die(std::uint32_t worker) {
  Member& member = members_[worker];
  tell(worker, "dies");
  leave_group(worker);
  member.alive = false;
  member.died = now_;
  if (connected_.contains(worker)) {
    to_host({.kind = Kind::kGone, .worker = worker});
  }
}

void Cluster::look() {
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
    for (const std::uint32_t other : waits_for(worker)) {
      invariants::hold(
          members_[other].alive || now_ - members_[other].died < too_long_, "I22", [&] {
            return "worker " + std::to_string(worker) + " waits for worker " +
                   std::to_string(other) + ", which is gone";
          });
    }
  }
  invariants::hold(result_.events > events_at_look_ || !queue_.empty(), "I22", [&] {
    std::string who;
    for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
      for (const std::uint32_t other : waits_for(worker)) {
        who += ", worker " + std::to_string(worker) + " waits for worker " + std::to_string(other);
      }
    }
    return "the run stands still" + who;
  });
  events_at_look_ = result_.events;
  queue_.push(now_ + kLookEvery, {.kind = Kind::kLook});
}

std::vector<std::uint32_t> Cluster::waits_for(std::uint32_t worker) const {
  const Member& member = members_[worker];
  std::vector<std::uint32_t> found;
  if (!member.alive || now_ < member.paused_until || member.fenced) {
    return found;
  }
  for (const peer::Await& awaited : member.awaits) {
    found.push_back(worker_of(member, awaited.from));
  }
  if (member.catches_up) {
    found.push_back(static_cast<std::uint32_t>(index(*member.catches_up)));
  }
  const std::uint32_t generation = member.sums ? member.group : member.joining;
  if (generation == 0) {
    return found;
  }
  const auto sum = sums_.find({generation, number(member.term.sequence)});
  const std::set<std::uint32_t> none;
  const std::set<std::uint32_t>& there = !member.sums         ? came_.at(generation)
                                         : sum == sums_.end() ? none
                                                              : sum->second.terms;
  for (const WorkerId other : groups_.at(generation).members) {
    const auto id = static_cast<std::uint32_t>(index(other));
    if (id != worker && !there.contains(id)) {
      found.push_back(id);
    }
  }
  return found;
}

void Cluster::send(const Event& event, Duration takes) {
  const bool of_host = event.kind >= Kind::kAsked;
  const auto host = static_cast<std::uint32_t>(members_.size());
  const Wires::Passage passage =
      wires_.pass(now_,
                  {.from = of_host ? host : event.from, .to = event.worker},
                  takes,
                  /*may_be_lost=*/!of_host && event.kind != Kind::kClosed);
  if (!passage.lost) {
    queue_.push(passage.arrival, event);
    return;
  }
  ++result_.counts.connections;
  for (const auto& [worker, from] :
       {std::pair(event.worker, event.from), std::pair(event.from, event.worker)}) {
    queue_.push(
        passage.arrival,
        {.kind = Kind::kClosed, .worker = worker, .from = from, .generation = event.generation});
  }
}

void Cluster::to_host(Event event) {
  event.from = event.worker;
  const auto host = static_cast<std::uint32_t>(members_.size());
  queue_.push(wires_.pass(now_, {.from = event.worker, .to = host}, {}, false).arrival, event);
}

void Cluster::tell_all(Event event) {
  for (const std::uint32_t worker : connected_) {
    event.worker = worker;
    send(event);
  }
}

void Cluster::tell(std::uint32_t worker, const std::string& what) const {
  if (told_) {
    told_(now_, name(WorkerId{worker}) + " " + what);
  }
}

void Cluster::finish() {
  result_.ended = now_;
  result_.counts.delayed = wires_.delayed();
  for (std::uint32_t worker = 0; worker < members_.size(); ++worker) {
    const Member& member = members_[worker];
    peer::Outcome::Worker& counts = result_.workers[worker];
    counts.lost = !connected_.contains(worker);
    if (!member.gossip) {
      continue;
    }
    counts.meetings = member.gossip->meetings();
    const bool each = peer::waits_for_averaging(options_.averaging) && options_.average_every == 1;
    // The last may have been for a gradient that the end left out.
    invariants::hold(
        !each || (counts.meetings >= counts.gradients && counts.meetings <= counts.gradients + 1),
        "I21",
        [&] {
          return "worker " + std::to_string(worker) + " applied " +
                 std::to_string(counts.gradients) + " gradients in " +
                 std::to_string(counts.meetings) + " meetings";
        });
  }
  const bool all = options_.kind == peers::Kind::kRing && result_.code == ExitCode::kDone &&
                   !stopping_ && options_.batches.epochs > 0 && options_.batches.updates == 0 &&
                   options_.batches.iterations == 0;
  checked_sums_.ended(all ? options_.batches.epochs : 0);
}

}  // namespace outpace::peers
