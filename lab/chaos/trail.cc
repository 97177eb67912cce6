#include "chaos/trail.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace outpace::chaos {
namespace {

Release read_release(const Record& record) {
  Release release{.who = record.who, .process = record.process, .at = record.at};
  release.generation = record.get<std::uint64_t>("generation");
  release.incarnation = record.get<std::uint64_t>("incarnation");
  release.sequence = record.get<std::uint64_t>("sequence");
  release.version = record.get<std::uint64_t>("version");
  release.crc32c = record.get<std::uint64_t>("crc32c");
  release.whole = record.get<bool>("whole", true);
  for (const auto& range : record.get<std::vector<std::vector<std::uint64_t>>>("ranges")) {
    if (range.size() == 3) {
      release.positions.push_back({.epoch = range[0], .begin = range[1], .end = range[2]});
    }
  }
  return release;
}

Outcome outcome_of(const std::string& word) {
  if (word == "accepted") {
    return Outcome::kAccepted;
  }
  return word == "dropped" || word == "refused" ? Outcome::kTurnedAway : Outcome::kUnknown;
}

// What was pushed are the first `examples` of what was released.
void keep_first(std::vector<Position>& positions, std::uint64_t examples) {
  for (Position& position : positions) {
    const std::uint64_t size = std::min(position.end - position.begin, examples);
    position.end = position.begin + size;
    examples -= size;
  }
}

}  // namespace

Trail follow(const std::vector<Record>& history) {
  Trail trail;
  std::map<std::int64_t, std::size_t> newest;  // By process: its last release.
  for (const Record& record : history) {
    if (record.what == "released") {
      Release release = read_release(record);
      if (const auto found = newest.find(release.process); found != newest.end()) {
        Release& before = trail.releases[found->second];
        if (before.generation == release.generation && before.who == release.who) {
          before.next_version = release.version;
        }
      }
      Generation& generation =
          trail.generations
              .try_emplace(release.generation,
                           Generation{.first = release.version, .begun = release.at})
              .first->second;
      generation.first = std::min(generation.first, release.version);
      generation.last = std::max(generation.last, release.version);
      newest[release.process] = trail.releases.size();
      trail.releases.push_back(std::move(release));
    } else if (record.what == "pushed" || record.what == "judged") {
      if (const auto found = newest.find(record.process); found != newest.end()) {
        Release& release = trail.releases[found->second];
        if (record.what == "pushed") {
          release.outcome = Outcome::kUnknown;
          keep_first(release.positions, record.get<std::uint64_t>("examples", UINT64_MAX));
        } else {
          release.outcome = outcome_of(record.get<std::string>("outcome"));
        }
        release.judged_at = record.at;
      }
    }
  }
  std::uint64_t kept = UINT64_MAX;
  for (auto one = trail.generations.rbegin(); one != trail.generations.rend(); ++one) {
    one->second.kept = kept;
    kept = std::min(kept, one->second.first);
  }
  return trail;
}

Fate Trail::fate(const Release& release) const {
  const std::uint64_t kept = generations.at(release.generation).kept;
  if (kept == UINT64_MAX) {
    return Fate::kIn;
  }
  if (release.version >= kept) {
    return Fate::kLost;
  }
  // It was taken up before the next release, and is in the weights one update later at the latest.
  const bool surely = release.next_version && *release.next_version < kept;
  return surely ? Fate::kIn : Fate::kPerhaps;
}

std::string name_of(const Release& release) {
  return fmt::format("{} (process {}), generation {}, sequence {}, at {:.6f} s",
                     release.who,
                     release.process,
                     release.generation,
                     release.sequence,
                     1e-6 * static_cast<double>(release.at));
}

}  // namespace outpace::chaos
