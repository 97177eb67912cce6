// A board as the page gets it: JSON with what is new since the last time.

#pragma once

#include <cstdint>
#include <string>

#include "watch/board.h"

namespace outpace::watch {

// What one reader has got already. A new one gets everything that is kept.
struct Cursor {
  bool begun = false;
  std::uint64_t cells = 0;
  std::uint64_t decisions = 0;
  std::uint64_t news = 0;
  std::uint64_t alarms = 0;
  std::uint64_t points = 0;
  std::uint64_t points_thinned = 0;
  std::uint64_t evaluations = 0;
  std::uint64_t evaluations_thinned = 0;
};

// One JSON object without a line break; `cursor` is what the reader has got with it. docs/see.md
// says what the fields mean.
[[nodiscard]] std::string frame(const Board& board, Cursor& cursor);
// All of it for a reader that will ask no more, with lanes of the whole run: what is recorded.
[[nodiscard]] std::string whole_frame(const Board& board);

}  // namespace outpace::watch
