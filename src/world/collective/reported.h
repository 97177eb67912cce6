// What a worker of a ring or a gossip tells the host with each gradient, as the payload of a Push
// (member.h).

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "protocol/traffic.h"

namespace outpace::collective {

struct Reported {
  float runtime;              // Seconds from the weights to the gradient, including delays.
  protocol::Carried carried;  // What this worker has sent to others since it reported last.
};

inline constexpr std::size_t kReportedNumbers = 7;

// Counts are written in digits that float32 holds exactly. REQUIRES: each is below 2^48.
[[nodiscard]] std::vector<float> payload_of(const Reported& reported);
// Nothing if it is no such payload.
[[nodiscard]] std::optional<Reported> reported_in(std::span<const float> payload);

}  // namespace outpace::collective
