// What a history says, put together: each release with what became of it, and each generation of
// the server with where it began and how far it was seen to come.
//
// A server that dies takes the updates after its newest checkpoint with it; the next generation
// goes on before them. So an accepted gradient is one of three: in the history that the final
// weights have seen, lost with a server, or between the two, because no process sees in which
// update a gradient is.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "chaos/history.h"

namespace outpace::chaos {

struct Position {
  std::uint64_t epoch = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

enum class Outcome : std::uint8_t {
  kNotPushed,
  kAccepted,
  kTurnedAway,  // Dropped or refused.
  kUnknown,     // Sent, and no verdict heard.
};

struct Release {
  std::string who;
  std::int64_t process = 0;
  std::int64_t at = 0;
  std::int64_t judged_at = 0;
  std::uint64_t generation = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;
  std::uint64_t version = 0;
  std::uint64_t crc32c = 0;
  bool whole = true;  // Every weight is a whole number.
  std::vector<Position> positions;
  Outcome outcome = Outcome::kNotPushed;
  // The version of the next release to the same process in the same generation. The gradient was
  // applied at that version at the latest.
  std::optional<std::uint64_t> next_version{};
};

struct Generation {
  std::uint64_t first = 0;  // The lowest version that was released.
  std::uint64_t last = 0;   // The highest.
  // Versions up to here are in the history of the final weights.
  std::uint64_t kept = UINT64_MAX;
  std::int64_t begun = 0;  // The first release.
};

// Whether an accepted or unknown gradient is in the final weights.
enum class Fate : std::uint8_t { kIn, kPerhaps, kLost };

struct Trail {
  std::vector<Release> releases;  // In the order of time.
  std::map<std::uint64_t, Generation> generations;

  // REQUIRES: accepted or unknown.
  [[nodiscard]] Fate fate(const Release& release) const;
};

[[nodiscard]] Trail follow(const std::vector<Record>& history);

// "worker 3 (process 4711), generation 2, sequence 17": to find its records.
[[nodiscard]] std::string name_of(const Release& release);

}  // namespace outpace::chaos
