// A link of a simulated cluster: its bandwidth, its latency, and how flows share it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace outpace::links {

// A link's place in its cluster's list.
enum class LinkId : std::uint32_t {};

[[nodiscard]] constexpr std::size_t index(LinkId link) {
  return static_cast<std::size_t>(link);
}

enum class Sharing : std::uint8_t {
  kShared,   // The flows share the bandwidth.
  kFatpipe,  // Each flow has the whole bandwidth, however many flows there are.
};

struct Link {
  std::string name;
  double bandwidth;  // Bytes/s; above 0 and finite.
  double latency;    // Seconds; at least 0 and finite.
  Sharing sharing = Sharing::kShared;

  bool operator==(const Link&) const = default;
};

}  // namespace outpace::links
