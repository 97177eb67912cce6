#include "swarm/peer_job.h"

#include <algorithm>
#include <array>

#include "swarm/draw.h"

namespace outpace::swarm {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kPeerPlans = 0x7065657273;
constexpr std::array kAveragings{peer::Averaging::kCoupled,
                                 peer::Averaging::kFree,
                                 peer::Averaging::kPull,
                                 peer::Averaging::kPush,
                                 peer::Averaging::kElastic};
constexpr std::array<const char*, 5> kAveragingWords{"coupled", "free", "pull", "push", "easgd"};
constexpr std::array<const char*, 4> kGraphWords{"complete", "bipartite", "ring", "exponential"};

void draw_limits(Draw& draw, peers::Options& options) {
  peer::BatchPlanOptions& batches = options.batches;
  batches.batch = static_cast<std::uint32_t>(draw.between(1, 8));
  batches.examples = draw.between(20, 500);
  if (options.kind == peers::Kind::kGossip) {
    batches.updates = draw.between(50, 600);
  } else if (draw.one_in(3)) {
    batches.updates = draw.between(20, 200);
  } else {
    const auto of_update = std::uint64_t{batches.batch} * batches.workers;
    const std::uint64_t of_epoch = batches.examples / of_update + 1;
    batches.epochs = std::clamp<std::uint64_t>(100 / of_epoch, 1, 6);
  }
  if (draw.one_in(5)) {
    options.seconds = draw.between(milliseconds(500), milliseconds(20'000));
  }
}

void draw_averaging(Draw& draw, peers::Options& options) {
  options.averaging = draw.one_of(kAveragings);
  const bool across = peer::both_move(options.averaging);
  options.graph = static_cast<worker::Graph>(draw.between(across ? 1 : 0, 3));
  options.average_every = draw.one_in(2) ? 1 : static_cast<std::uint32_t>(draw.between(2, 5));
}

// Each kind is in the plan or not, before it is drawn how often.
std::vector<std::string> draw_faults(Draw& draw, std::uint32_t workers, Duration until) {
  std::vector<std::string> faults;
  const auto at = [&] { return ",at=" + words(draw.between(Duration{}, until)); };
  const auto worker = [&] { return "worker=" + std::to_string(draw.between(0, workers - 1)); };
  if (!draw.one_in(3)) {  // A few workers are left, mostly.
    const std::uint64_t most = draw.one_in(10) ? workers : std::max(1U, workers - 2);
    for (std::uint64_t left = draw.between(1, most); left > 0; --left) {
      faults.push_back("crash:" + worker() + at());
    }
  }
  if (draw.one_in(2)) {
    for (std::uint64_t left = draw.between(1, 4); left > 0; --left) {
      faults.push_back("pause:" + worker() + at() +
                       ",for=" + words(draw.between(milliseconds(10), milliseconds(3000))));
    }
  }
  if (draw.one_in(3)) {
    faults.push_back("slow:" + worker() + at() + ",for=" + words(until) + ",factor=5");
  }
  if (draw.one_in(2)) {
    faults.push_back("delay:at=0s,for=" + words(until) + ",probability=0.05,by=" +
                     words(draw.between(milliseconds(1), milliseconds(300))));
  }
  if (draw.one_in(2)) {
    faults.push_back("lose:at=0s,for=" + words(until) + ",probability=0.00" +
                     std::to_string(draw.between(1, 9)));
  }
  return faults;
}

}  // namespace

PeerPlan draw_peer_plan(std::uint64_t seed) {
  Draw draw(seed, kPeerPlans);
  PeerPlan plan{.seed = seed};
  peers::Options& options = plan.options;
  options.seed = seed;
  options.kind = draw.one_in(2) ? peers::Kind::kRing : peers::Kind::kGossip;
  options.batches.workers = static_cast<std::uint32_t>(draw.between(2, 8));
  draw_limits(draw, options);
  draw_averaging(draw, options);
  options.latency = draw.one_in(4) ? Duration{} : draw.between(Duration{}, milliseconds(20));
  options.transfer = draw.one_in(3) ? Duration{} : draw.between(Duration{}, milliseconds(50));
  options.heartbeat_timeout = draw.between(milliseconds(500), milliseconds(2000));
  const Duration mean = draw.between(milliseconds(5), milliseconds(100));
  static constexpr std::array<const char*, 4> kRuntimes{
      "constant(", "exponential(mean=", "lognormal(cv=0.5,mean=", "pareto(shape=2.5,mean="};
  plan.runtime = draw.one_of(kRuntimes) + words(mean) + ")";
  plan.faults = draw_faults(draw, options.batches.workers, 100 * mean);
  return plan;
}

const char* averaging_of(const PeerPlan& plan) {
  return kAveragingWords.at(static_cast<std::size_t>(plan.options.averaging));
}

std::string to_words(const PeerPlan& plan) {
  const peers::Options& options = plan.options;
  const bool ring = options.kind == peers::Kind::kRing;
  std::string text = "--topology " + std::string(ring ? "ring" : "gossip") + " --workers " +
                     std::to_string(options.batches.workers) + " --batch " +
                     std::to_string(options.batches.batch) + " --examples " +
                     std::to_string(options.batches.examples) + " --updates " +
                     std::to_string(options.batches.updates) + " --epochs " +
                     std::to_string(options.batches.epochs) + " --seconds " +
                     words(options.seconds) + " --seed " + std::to_string(plan.seed) +
                     " --runtime '" + plan.runtime + "' --latency " + words(options.latency) +
                     " --transfer " + words(options.transfer) + " --heartbeat-timeout " +
                     words(options.heartbeat_timeout);
  if (!ring) {
    text += std::string(" --gossip ") + averaging_of(plan) + " --average-every " +
            std::to_string(options.average_every);
    if (options.averaging != peer::Averaging::kElastic) {
      text += std::string(" --graph ") + kGraphWords.at(static_cast<std::size_t>(options.graph));
    }
  }
  for (const std::string& fault : plan.faults) {
    text += " --fault " + fault;
  }
  return text;
}

}  // namespace outpace::swarm
