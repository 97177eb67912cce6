#include "chaos/checker.h"

#include <algorithm>

#include "chaos/gradient_rules.h"
#include "chaos/process_rules.h"
#include "chaos/trail.h"

namespace outpace::chaos {

std::vector<Broken> check(const std::vector<Record>& history, const FinalState& final_state) {
  const Trail trail = follow(history);
  std::vector<Broken> broken;
  check_final_weights(final_state, broken);
  check_positions(trail, final_state, broken);
  check_whole_weights(history, trail, broken);
  check_versions(trail, broken);
  check_bits(trail, broken);
  check_generations(history, trail, broken);
  check_ends(history, broken);
  check_hangs(history, trail, broken);
  check_orphans(history, broken);
  check_memory(history, broken);
  return broken;
}

Totals count(const std::vector<Record>& history) {
  Totals totals;
  for (const Record& record : history) {
    if (record.what == "fault") {
      ++totals.faults[record.get<std::string>("kind")];
    } else if (record.what == "skipped") {
      ++totals.skipped;
    } else if (record.what == "started" && record.get<bool>("again")) {
      ++totals.restarts[record.who.substr(0, record.who.find(' '))];
    }
  }
  const Trail trail = follow(history);
  for (const Release& release : trail.releases) {
    totals.pushed += release.outcome == Outcome::kNotPushed ? 0U : 1U;
    totals.accepted += release.outcome == Outcome::kAccepted ? 1U : 0U;
    totals.turned_away += release.outcome == Outcome::kTurnedAway ? 1U : 0U;
    totals.unknown += release.outcome == Outcome::kUnknown ? 1U : 0U;
  }
  for (const auto& [number, generation] : trail.generations) {
    totals.updates = std::max(totals.updates, generation.last);
    if (generation.kept < generation.last) {
      const std::uint64_t lost = generation.last - generation.kept;
      totals.lost_updates += lost;
      totals.lost_most = std::max(totals.lost_most, lost);
    }
  }
  if (!trail.generations.empty()) {
    totals.updates = trail.generations.rbegin()->second.last;
  }
  return totals;
}

}  // namespace outpace::chaos
