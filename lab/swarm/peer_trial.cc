#include "swarm/peer_trial.h"

#include <deque>

#include "base/time.h"
#include "invariants/violation.h"
#include "peers/cluster.h"
#include "sim/timing.h"

namespace outpace::swarm {
namespace {

constexpr std::uint64_t kTwice = 8;  // One seed in this many runs twice.
constexpr std::size_t kLastEvents = 40;

peer::Outcome run_peers(const PeerPlan& plan, const peers::Told& told) {
  peers::Options options = plan.options;
  for (const std::string& fault : plan.faults) {
    options.faults.push_back(sim::parse_fault(fault, options.batches.workers));
  }
  sim::DrawnTiming timing(
      sim::Runtimes::parse(
          plan.runtime, {.workers = options.batches.workers, .seed = plan.seed, .read_file = {}}),
      {});
  return peers::Cluster(options, timing, told).run();
}

// Once more, this time with its events in words.
std::vector<std::string> last_of(const PeerPlan& plan) {
  std::deque<std::string> last;
  try {
    (void)run_peers(plan, [&](Time now, const std::string& what) {
      last.push_back(std::to_string(to_seconds(now)) + " s: " + what);
      if (last.size() > kLastEvents) {
        last.pop_front();
      }
    });
  } catch (const invariants::Violation&) {  // As expected.
  }
  return {last.begin(), last.end()};
}

}  // namespace

PeerOutcome run_peer_trial(const PeerPlan& plan) {
  PeerOutcome outcome;
  try {
    outcome.result = run_peers(plan, nullptr);
    if (plan.seed % kTwice == 0) {
      const peer::Outcome again = run_peers(plan, nullptr);
      invariants::hold(again.hash == outcome.result.hash, "I14", [] {
        return std::string("two runs of one plan without a server differ");
      });
    }
  } catch (const invariants::Violation& violation) {
    outcome.failure = Failure{
        .invariant = violation.invariant(), .what = violation.what(), .last_events = last_of(plan)};
  }
  return outcome;
}

std::string report(const PeerPlan& plan, const Failure& failure, const std::string& commit) {
  std::string text = "seed " + std::to_string(plan.seed) + " at commit " + commit +
                     "\noptions: " + to_words(plan) + "\nlast events:\n";
  for (const std::string& event : failure.last_events) {
    text += "  " + event + "\n";
  }
  return text + "again: " + again(plan.seed) + "\n";
}

}  // namespace outpace::swarm
