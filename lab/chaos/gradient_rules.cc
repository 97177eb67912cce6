#include "chaos/gradient_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace outpace::chaos {
namespace {

constexpr std::size_t kShownMost = 4;  // Records, or places, of one broken rule.

std::vector<std::string> first_few(const std::vector<std::string>& all) {
  std::vector<std::string> few(
      all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), kShownMost)));
  if (all.size() > kShownMost) {
    few.push_back(fmt::format("and {} more", all.size() - kShownMost));
  }
  return few;
}

bool counts(const Release& release) {
  return release.outcome == Outcome::kAccepted || release.outcome == Outcome::kUnknown;
}

// The releases that had a position, by epoch and position: the first that was surely in.
class Uses {
 public:
  Uses(std::uint64_t epochs, std::uint64_t examples) : examples_(examples) {
    covered_.assign(epochs * examples, false);
    accepted_by_.assign(epochs * examples, nullptr);
  }

  // The release that had been accepted with it before; null if none, or if there is no such place.
  const Release* accept(const Position& position, std::uint64_t at, const Release& release) {
    const std::uint64_t place = position.epoch * examples_ + at;
    return at < examples_ && place < accepted_by_.size()
               ? std::exchange(accepted_by_[place], &release)
               : nullptr;
  }
  void cover(const Position& position) {
    for (std::uint64_t at = position.begin; at < position.end; ++at) {
      const std::uint64_t place = position.epoch * examples_ + at;
      if (at < examples_ && place < covered_.size()) {
        covered_[place] = true;
      }
    }
  }
  [[nodiscard]] const std::vector<bool>& covered() const { return covered_; }

 private:
  std::uint64_t examples_;
  std::vector<bool> covered_;
  std::vector<const Release*> accepted_by_;
};

// Accepted with a position that another release of the same history had.
void find_twice(const std::vector<const Release*>& accepted,
                const FinalState& final_state,
                const std::string& where,
                std::vector<Broken>& broken) {
  Uses uses(final_state.epochs, final_state.weights.size());
  for (const Release* release : accepted) {
    for (const Position& position : release->positions) {
      for (std::uint64_t at = position.begin; at < position.end; ++at) {
        const Release* before = uses.accept(position, at, *release);
        if (before != nullptr) {
          broken.push_back(
              {.rule = "exactly once",
               .what = fmt::format(
                   "position {} of epoch {} was accepted twice {}", at, position.epoch, where),
               .records = {name_of(*before), name_of(*release)}});
          return;
        }
      }
    }
  }
}

// The version that processes had seen at a time, in a generation.
std::uint64_t seen_at(const Trail& trail, std::uint64_t generation, std::int64_t at) {
  std::uint64_t seen = 0;
  for (const Release& release : trail.releases) {
    if (release.at > at) {
      break;
    }
    if (release.generation == generation) {
      seen = std::max(seen, release.version);
    }
  }
  return seen;
}

// A server's end, as chaos wrote it down.
struct ServerEnd {
  const Record* record;
  std::uint64_t generation = 0;  // The newest checkpoint's at that moment.
  std::uint64_t update = 0;
};

std::vector<ServerEnd> server_ends(const std::vector<Record>& history) {
  std::vector<ServerEnd> ends;
  for (const Record& record : history) {
    if (record.who == "server" && record.what == "ended" &&
        record.more.contains("checkpoint_update")) {
      ends.push_back({.record = &record,
                      .generation = record.get<std::uint64_t>("checkpoint_generation"),
                      .update = record.get<std::uint64_t>("checkpoint_update")});
    }
  }
  return ends;
}

// The generation whose first release came next after a time.
const std::pair<const std::uint64_t, Generation>* next_generation(const Trail& trail,
                                                                  std::int64_t at) {
  const std::pair<const std::uint64_t, Generation>* next = nullptr;
  for (const auto& one : trail.generations) {
    if (one.second.begun > at && (next == nullptr || one.second.begun < next->second.begun)) {
      next = &one;
    }
  }
  return next;
}

// The generation that was at work at a time; null if none had begun.
const std::pair<const std::uint64_t, Generation>* last_generation(const Trail& trail,
                                                                  std::int64_t at) {
  const std::pair<const std::uint64_t, Generation>* last = nullptr;
  for (const auto& one : trail.generations) {
    if (one.second.begun <= at && (last == nullptr || one.second.begun > last->second.begun)) {
      last = &one;
    }
  }
  return last;
}

// The end of the last time, before `at`, in which no checkpoint could be written.
std::optional<std::int64_t> end_of_full_disk(const std::vector<Record>& history, std::int64_t at) {
  std::optional<std::int64_t> end;
  bool full = false;
  for (const Record& record : history) {
    if (record.at > at) {
      break;
    }
    if (record.get<std::string>("kind") == "disk-full") {
      full = record.what == "fault";
      end = record.at;
    }
  }
  return full ? at : end;
}

void check_loss(const std::vector<Record>& history,
                const Trail& trail,
                const ServerEnd& end,
                std::vector<Broken>& broken) {
  const std::int64_t died = end.record->at;
  const auto* generation = last_generation(trail, died);
  std::uint64_t interval = 0;
  for (const Record& record : history) {
    interval = record.what == "began" ? record.get<std::uint64_t>("checkpoint_every") : interval;
  }
  if (generation == nullptr || interval == 0) {
    return;
  }
  const std::uint64_t last = seen_at(trail, generation->first, died);
  std::uint64_t excused = end.update;
  if (const auto full = end_of_full_disk(history, died)) {
    excused = std::max(excused, seen_at(trail, generation->first, *full));
  }
  if (last > excused + 2 * interval) {
    broken.push_back({.rule = "bounded loss",
                      .what = fmt::format("the server of generation {} had come to update {}, and "
                                          "its newest checkpoint was of {}; an interval is {}",
                                          generation->first,
                                          last,
                                          end.update,
                                          interval),
                      .records = {to_line(*end.record)}});
  }
}

void check_kept(const Trail& trail, const ServerEnd& end, std::vector<Broken>& broken) {
  const auto* next = next_generation(trail, end.record->at);
  if (next == nullptr) {
    return;
  }
  if (next->second.first < end.update) {
    broken.push_back({.rule = "checkpoint kept",
                      .what = fmt::format("generation {} went on from update {}, and a checkpoint "
                                          "of update {} was there",
                                          next->first,
                                          next->second.first,
                                          end.update),
                      .records = {to_line(*end.record)}});
  }
  const auto* before = last_generation(trail, end.record->at);
  if (before != nullptr && next->first <= before->first) {
    broken.push_back(
        {.rule = "generations",
         .what = fmt::format(
             "a server of generation {} came after one of {}", next->first, before->first),
         .records = {to_line(*end.record)}});
  }
}

}  // namespace

void check_final_weights(const FinalState& final_state, std::vector<Broken>& broken) {
  if (final_state.weights.empty()) {
    broken.push_back({.rule = "exactly once", .what = "there are no final weights", .records = {}});
    return;
  }
  std::vector<std::string> wrong;
  for (std::size_t example = 0; example < final_state.weights.size(); ++example) {
    const float uses = -final_state.weights[example];
    if (uses != static_cast<float>(final_state.epochs)) {
      wrong.push_back(fmt::format("example {} is in the weights {} times", example, uses));
    }
  }
  if (!wrong.empty()) {
    broken.push_back({.rule = "exactly once",
                      .what = fmt::format("{} of {} examples are not in the final weights {} times",
                                          wrong.size(),
                                          final_state.weights.size(),
                                          final_state.epochs),
                      .records = first_few(wrong)});
  }
}

void check_positions(const Trail& trail,
                     const FinalState& final_state,
                     std::vector<Broken>& broken) {
  std::map<std::uint64_t, std::vector<const Release*>> accepted;  // By generation.
  std::vector<const Release*> in;
  Uses uses(final_state.epochs, final_state.weights.size());
  for (const Release& release : trail.releases) {
    if (!counts(release)) {
      continue;
    }
    const Fate fate = trail.fate(release);
    if (release.outcome == Outcome::kAccepted) {
      accepted[release.generation].push_back(&release);
      if (fate == Fate::kIn) {
        in.push_back(&release);
      }
    }
    if (fate != Fate::kLost) {
      std::ranges::for_each(release.positions, [&](const Position& one) { uses.cover(one); });
    }
  }
  for (const auto& [generation, releases] : accepted) {
    find_twice(releases, final_state, fmt::format("by generation {}", generation), broken);
  }
  find_twice(in, final_state, "in the history of the final weights", broken);
  std::vector<std::string> missing;
  for (std::size_t place = 0; place < uses.covered().size(); ++place) {
    if (!uses.covered()[place]) {
      missing.push_back(fmt::format("position {} of epoch {}",
                                    place % final_state.weights.size(),
                                    place / final_state.weights.size()));
    }
  }
  if (!missing.empty()) {
    broken.push_back({.rule = "nothing lost",
                      .what = fmt::format("{} positions were never pushed to the server whose "
                                          "weights these are",
                                          missing.size()),
                      .records = first_few(missing)});
  }
}

void check_whole_weights(const std::vector<Record>& history,
                         const Trail& trail,
                         std::vector<Broken>& broken) {
  std::vector<std::string> wrong;
  for (const Release& release : trail.releases) {
    if (!release.whole) {
      wrong.push_back(name_of(release));
    }
  }
  for (const Record& record : history) {
    if (record.what == "evaluated" && !record.get<bool>("whole", true)) {
      wrong.push_back(to_line(record));
    }
  }
  if (!wrong.empty()) {
    broken.push_back(
        {.rule = "whole weights",
         .what = fmt::format("weights that are not whole numbers were seen {} times", wrong.size()),
         .records = first_few(wrong)});
  }
}

void check_versions(const Trail& trail, std::vector<Broken>& broken) {
  std::map<std::int64_t, const Release*> newest;                                 // By process.
  std::map<std::pair<std::uint64_t, std::string>, const Release*> incarnations;  // By generation.
  std::vector<std::string> wrong;
  for (const Release& release : trail.releases) {
    const Release*& before = newest[release.process];
    if (before != nullptr && before->who == release.who &&
        std::pair(release.generation, release.version) <
            std::pair(before->generation, before->version)) {
      wrong.push_back(fmt::format("{} saw version {} after version {} of generation {}",
                                  name_of(release),
                                  release.version,
                                  before->version,
                                  before->generation));
    }
    before = &release;
    const Release*& last = incarnations[{release.generation, release.who}];
    if (last != nullptr && release.process != last->process &&
        release.incarnation <= last->incarnation) {
      wrong.push_back(fmt::format("{} is incarnation {} after incarnation {}",
                                  name_of(release),
                                  release.incarnation,
                                  last->incarnation));
    }
    last = &release;
  }
  if (!wrong.empty()) {
    broken.push_back({.rule = "monotonic",
                      .what = fmt::format("{} times something went back", wrong.size()),
                      .records = first_few(wrong)});
  }
}

void check_bits(const Trail& trail, std::vector<Broken>& broken) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, const Release*> seen;
  std::vector<std::string> wrong;
  for (const Release& release : trail.releases) {
    // The version at which a generation began is of the one before it too.
    const Release*& first = seen[{release.generation, release.version}];
    if (first != nullptr && first->crc32c != release.crc32c) {
      wrong.push_back(fmt::format("{} and {} saw different weights of version {}",
                                  name_of(*first),
                                  name_of(release),
                                  release.version));
    }
    first = first == nullptr ? &release : first;
  }
  for (auto one = trail.generations.begin(); one != trail.generations.end(); ++one) {
    const auto next = std::next(one);
    if (next == trail.generations.end()) {
      break;
    }
    const auto before = seen.find({one->first, next->second.first});
    const auto after = seen.find({next->first, next->second.first});
    if (before != seen.end() && after != seen.end() &&
        before->second->crc32c != after->second->crc32c) {
      wrong.push_back(fmt::format("{} and {}: a server went on from other weights of version {}",
                                  name_of(*before->second),
                                  name_of(*after->second),
                                  next->second.first));
    }
  }
  if (!wrong.empty()) {
    broken.push_back({.rule = "same bits",
                      .what = fmt::format("{} versions have two sets of weights", wrong.size()),
                      .records = first_few(wrong)});
  }
}

void check_generations(const std::vector<Record>& history,
                       const Trail& trail,
                       std::vector<Broken>& broken) {
  for (const ServerEnd& end : server_ends(history)) {
    check_loss(history, trail, end, broken);
    check_kept(trail, end, broken);
  }
}

}  // namespace outpace::chaos
