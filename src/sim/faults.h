// What befalls simulated workers: crashes, departures, slow periods.
//
//   crash:worker=3,at=10s          dies at 10 s; the server hears of the broken connection
//   crash:worker=3,at=10s,for=5s   and joins again, as a new incarnation, 5 s later
//   leave:worker=3,at=10s          says goodbye
//   slow:worker=3,at=10s,for=60s,factor=4
//                                  mini-batches that it begins in that minute take four times as
//                                  long

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

namespace outpace::sim {

struct Fault {
  enum class Kind : std::uint8_t { kCrash, kLeave, kSlow };

  Kind kind;
  WorkerId worker;
  Time at;
  std::optional<Duration> lasts;  // Without it a crashed worker stays away.
  double factor = 1.0;            // Of a slow period.

  bool operator==(const Fault&) const = default;
};

// Throws a usage error that names the fault and what would be right. REQUIRES: workers >= 1.
[[nodiscard]] Fault parse_fault(std::string_view text, std::uint32_t workers);

}  // namespace outpace::sim
