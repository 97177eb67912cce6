// The identifiers that every other folder speaks in.
//
// Each is its own type, so that a worker can never be passed where a version is meant.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

namespace outpace {

// A gradient source's rank in the job: 0, 1, 2, ... State is kept in vectors indexed by it.
enum class WorkerId : std::uint32_t {};

// Number of updates applied to the weights so far.
enum class Version : std::uint64_t {};

// Number of a release: one hand-out of weights to one worker. Unique within a server generation,
// and so the name of the one gradient that may answer it.
enum class Sequence : std::uint64_t {};

[[nodiscard]] constexpr std::size_t index(WorkerId worker) {
  return static_cast<std::size_t>(worker);
}
[[nodiscard]] constexpr std::uint64_t count(Version version) {
  return static_cast<std::uint64_t>(version);
}
[[nodiscard]] constexpr std::uint64_t number(Sequence sequence) {
  return static_cast<std::uint64_t>(sequence);
}
// As people are told of it.
[[nodiscard]] inline std::string name(WorkerId worker) {
  return "worker " + std::to_string(index(worker));
}
[[nodiscard]] constexpr Version next(Version version) {
  return Version{count(version) + 1};
}

}  // namespace outpace
