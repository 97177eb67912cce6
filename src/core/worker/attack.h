// Workers that send wrong gradients on purpose, to see what a filter is worth: a worker computes
// its real gradient, and sends something else.
//
//   signflip  -scale * g
//   noise     normal noise, on average `scale` times as long as g
//   zero      0
//   nan       not a number, which the server refuses with or without a filter

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"

namespace outpace::worker {

// A value. "signflip:workers=0+1,scale=10", "noise:workers=2,scale=10", "zero:workers=0",
// "nan:workers=0".
struct Attack {
  enum class Kind : std::uint8_t { kSignFlip, kNoise, kZero, kNan };

  Kind kind;
  double scale;  // For signflip and noise; at least 0.
  std::vector<WorkerId> workers;

  // Throws a usage error. REQUIRES: workers >= 1.
  static Attack parse(std::string_view text, std::size_t workers);
};

// What one worker makes of its gradients.
class Attacker {
 public:
  // Nothing if none of the attacks names the worker; of several that do, the last one counts.
  static std::optional<Attacker> of(std::span<const Attack> attacks,
                                    WorkerId worker,
                                    std::uint64_t seed);

  // In place. A number that would be beyond a float32 is the greatest there is.
  void corrupt(std::span<float> gradient);

 private:
  Attacker(const Attack& attack, WorkerId worker, std::uint64_t seed);

  Attack::Kind kind_;
  double scale_;
  Rng rng_;
};

}  // namespace outpace::worker
