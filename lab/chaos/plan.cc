#include "chaos/plan.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/rng.h"

namespace outpace::chaos {
namespace {

constexpr std::array<std::string_view, 6> kPolicies{
    "sync", "dynamic", "async", "saps:s=8,action=refresh", "ssp:s=2", "softsync:n=2"};

constexpr std::array kKinds{Kind::kKill,
                            Kind::kStop,
                            Kind::kSlow,
                            Kind::kDisconnect,
                            Kind::kDelay,
                            Kind::kCorrupt,
                            Kind::kHalfOpen,
                            Kind::kDiskFull,
                            Kind::kClockJump,
                            Kind::kBallast};

constexpr double kKeptShare = 0.75;  // The share of the kinds of faults that a plan has.
constexpr double kKills = 0.15;      // The share that kills, beside faults drawn as any kind.
// A target is left alone for this long after a fault, so that its recovery is tried too.
constexpr Duration kRest = std::chrono::milliseconds(1500);
constexpr Duration kRestOfServer = std::chrono::seconds(4);

template <typename T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::ranges::find(all, one) != all.end();
}

double between(Rng& rng, double least, double most) {
  return least + (most - least) * rng.uniform();
}

Duration milliseconds_between(Rng& rng, std::uint64_t least, std::uint64_t most) {
  return std::chrono::milliseconds(least + rng.below(most - least + 1));
}

// Updates of about two seconds without faults.
std::uint64_t updates_of_two_seconds(const Job& job) {
  const double rounds = 2.0 / to_seconds(job.mini_batch);
  const std::string_view policy = job.policy;
  if (policy.starts_with("sync") || policy.starts_with("dynamic")) {
    return static_cast<std::uint64_t>(rounds);
  }
  const double gradients = rounds * job.workers;
  return static_cast<std::uint64_t>(policy.starts_with("softsync") ? gradients / 2 : gradients);
}

Job draw_job(std::uint64_t seed, const Wishes& wishes, Rng& rng) {
  Job job;
  job.policy = wishes.policy.value_or(std::string(kPolicies[(seed / 2) % kPolicies.size()]));
  // Seeds in a row have every carrier, and every policy with different ones.
  constexpr std::array kProxied{Carrier::kTcp, Carrier::kTls, Carrier::kUnix};
  const std::uint64_t turn = seed / 2 + seed / 12;
  job.carrier = wishes.carrier.value_or(seed % 2 == 0 ? Carrier::kSharedMemory
                                                      : kProxied[turn % kProxied.size()]);
  job.workers = 3 + static_cast<std::uint32_t>(rng.below(3));
  // Weights of 32 KiB and more are shared.
  job.examples = job.carrier == Carrier::kSharedMemory ? 8192 : 2048;
  job.mini_batch = std::chrono::milliseconds(20);
  job.checkpoint_every = updates_of_two_seconds(job);
  return job;
}

bool fits(Kind kind, Carrier carrier) {
  if (kind == Kind::kCorrupt && carrier == Carrier::kUnix) {
    return false;  // The kernel changes no bytes there, so no checksum is computed.
  }
  return !is_of_network(kind) || carrier != Carrier::kSharedMemory;
}

std::vector<Kind> draw_kinds(const Job& job, const Wishes& wishes, Rng& rng) {
  std::vector<Kind> kinds;
  for (const Kind kind : kKinds) {
    const bool kept = wishes.only.empty() ? kind == Kind::kKill || rng.uniform() < kKeptShare
                                          : contains(wishes.only, kind);
    if (kept && fits(kind, job.carrier) && !contains(wishes.without, kind)) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

std::string draw_target(Kind kind, const Job& job, Rng& rng) {
  if (kind == Kind::kDiskFull) {
    return "server";
  }
  if (kind == Kind::kBallast) {
    return "machine";
  }
  const double draw = rng.uniform();
  if (!is_of_network(kind) && draw < (kind == Kind::kKill ? 0.4 : 0.25)) {
    return "server";
  }
  if (draw > 0.9 && kind != Kind::kSlow) {
    return "evaluator";
  }
  return fmt::format("worker {}", rng.below(job.workers));
}

void draw_size(Fault& fault, Rng& rng) {
  switch (fault.kind) {
    case Kind::kKill:
      fault.lasts = milliseconds_between(rng, 100, 3000);
      return;
    case Kind::kStop:
      fault.lasts = milliseconds_between(rng, 200, 6000);  // Around the heartbeat timeout.
      return;
    case Kind::kSlow:
      fault.lasts = milliseconds_between(rng, 1000, 6000);
      fault.amount = between(rng, 0.3, 0.9);
      return;
    case Kind::kDisconnect:
      return;
    case Kind::kDelay:
      fault.lasts = milliseconds_between(rng, 500, 5000);
      fault.amount = between(rng, 0.005, 0.4);
      return;
    case Kind::kCorrupt:
      fault.amount = 1.0 + static_cast<double>(rng.below(3));
      return;
    case Kind::kHalfOpen:
      fault.lasts = milliseconds_between(rng, 500, 6000);
      fault.amount = static_cast<double>(rng.below(3));
      return;
    case Kind::kDiskFull:
      fault.lasts = milliseconds_between(rng, 500, 5000);
      return;
    case Kind::kClockJump:
      fault.amount = (rng.below(2) == 0 ? 1.0 : -1.0) * between(rng, 1.0, 7200.0);
      return;
    case Kind::kBallast:
      fault.lasts = milliseconds_between(rng, 500, 4000);
      fault.amount = between(rng, 64.0, 512.0);
      return;
  }
}

template <typename Enum, std::size_t N>
std::optional<Enum> find_word(const std::array<std::string_view, N>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? std::nullopt
                              : std::optional(static_cast<Enum>(found - words.begin()));
}

std::string amount_in_words(const Fault& fault) {
  switch (fault.kind) {
    case Kind::kSlow:
      return fmt::format(" (stopped {:.0f} % of the time)", 100.0 * fault.amount);
    case Kind::kDelay:
      return fmt::format(" (by {:.0f} ms)", 1000.0 * fault.amount);
    case Kind::kCorrupt:
      return fmt::format(" (bits flipped: {:.0f})", fault.amount);
    case Kind::kHalfOpen:
      return fault.amount == 0.0   ? " (both ways)"
             : fault.amount == 1.0 ? " (from the server)"
                                   : " (to the server)";
    case Kind::kClockJump:
      return fmt::format(" (by {:+.0f} s)", fault.amount);
    case Kind::kBallast:
      return fmt::format(" ({:.0f} MiB)", fault.amount);
    default:
      return "";
  }
}

}  // namespace

std::optional<Kind> kind_of(std::string_view word) {
  return find_word<Kind>(kKindWords, word);
}

std::optional<Carrier> carrier_of(std::string_view word) {
  return find_word<Carrier>(kCarrierWords, word);
}

bool is_of_network(Kind kind) {
  return kind == Kind::kDisconnect || kind == Kind::kDelay || kind == Kind::kCorrupt ||
         kind == Kind::kHalfOpen;
}

Plan draw_plan(std::uint64_t seed, const Wishes& wishes) {
  Rng rng(seed, 0);
  Plan plan{.seed = seed, .length = wishes.length};
  plan.job = draw_job(seed, wishes, rng);
  plan.kinds = draw_kinds(plan.job, wishes, rng);
  if (plan.kinds.empty()) {
    return plan;
  }
  std::map<std::string, Duration> busy_until;
  Duration at = from_seconds(to_seconds(wishes.every) * rng.uniform());
  while (at < wishes.length) {
    Fault fault{.at = at};
    fault.kind = rng.uniform() < kKills && plan.kinds.front() == Kind::kKill
                     ? Kind::kKill
                     : plan.kinds[rng.below(plan.kinds.size())];
    fault.target = draw_target(fault.kind, plan.job, rng);
    draw_size(fault, rng);
    Duration& busy = busy_until[fault.target];
    if (fault.at >= busy) {
      busy = fault.at + fault.lasts + (fault.target == "server" ? kRestOfServer : kRest);
      plan.faults.push_back(std::move(fault));
    }
    at += from_seconds(to_seconds(wishes.every) * std::min(3.0, rng.exponential()));
  }
  return plan;
}

std::string to_words(const Fault& fault) {
  const std::string lasts =
      fault.lasts == Duration{} ? "" : fmt::format(" for {:.1f} s", to_seconds(fault.lasts));
  return fmt::format("{:6.1f} s  {:<10}  {}{}{}",
                     to_seconds(fault.at),
                     word(fault.kind),
                     fault.target,
                     lasts,
                     amount_in_words(fault));
}

std::string to_words(const Plan& plan) {
  std::string kinds;
  for (const Kind kind : plan.kinds) {
    kinds += (kinds.empty() ? "" : ", ") + std::string(word(kind));
  }
  std::string text = fmt::format(
      "seed {}: {} with {} workers over {}, {} examples, a checkpoint every {} updates; {:.0f} s "
      "of "
      "{}\n",
      plan.seed,
      plan.job.policy,
      plan.job.workers,
      word(plan.job.carrier),
      plan.job.examples,
      plan.job.checkpoint_every,
      to_seconds(plan.length),
      kinds.empty() ? "no faults" : kinds);
  for (const Fault& fault : plan.faults) {
    text += to_words(fault) + "\n";
  }
  return text;
}

}  // namespace outpace::chaos
