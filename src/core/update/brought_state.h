// The state that another training's optimizer has left, for a run that begins from it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "update/optimizer.h"

namespace outpace::update {

inline constexpr std::size_t kStatePartsMax = 3;  // The most that an optimizer has: rmsprop's.

struct BroughtPart {
  std::string name;  // As StatePart's.
  std::vector<float> numbers;
};
// One tensor's state, as a script brought it.
struct BroughtState {
  std::uint64_t updates = 0;  // Updates that the optimizer has made.
  std::vector<BroughtPart> parts;
};

// The optimizer goes on from there. One line that says why it cannot, and then it may hold a part
// of it; empty if it does. All parts of the optimizer's state must be there, and no others.
[[nodiscard]] std::string begin_from(Optimizer& optimizer, const BroughtState& state);

}  // namespace outpace::update
