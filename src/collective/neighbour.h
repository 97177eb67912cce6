// With whom a worker of a gossip averages next.
//
// The workers are two sides: those of even rank ask, those of odd rank answer, and only across. Who
// answers never waits for anybody, so no ring of waiting workers can close: no deadlock, whatever
// is drawn. Lian, Zhang, Zhang, Liu, "Asynchronous Decentralized Parallel Stochastic Gradient
// Descent" (AD-PSGD), ICML 2018, section 3, "deadlock": a bipartite graph. Here it is the complete
// one, and each of the other side is as likely.

#pragma once

#include <cstdint>

#include "base/rng.h"

namespace outpace::collective {

enum class Side : std::uint8_t { kAsks, kAnswers };

[[nodiscard]] constexpr Side side_of(std::uint32_t rank) {
  return rank % 2 == 0 ? Side::kAsks : Side::kAnswers;
}

// The random neighbours of one worker that asks.
class Neighbours {
 public:
  // REQUIRES: size >= 2, and rank asks.
  Neighbours(std::uint32_t rank, std::uint32_t size, std::uint64_t seed);

  // The rank of one who answers.
  [[nodiscard]] std::uint32_t next();

 private:
  std::uint32_t answering_;  // How many answer: ranks 1, 3, 5, ...
  Rng rng_;
};

}  // namespace outpace::collective
