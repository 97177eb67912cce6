// All that one member of a group hands over to another, which has nothing: weights, an optimizer's
// state, how far the run has come.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/archive.h"
#include "collective/gloo_group.h"

namespace outpace::collective {

// Writes a state, or reads it.
using Keep = std::function<void(Archive&)>;

// The other member calls take_over() at the same time. Throws GroupBroken.
void hand_over(GlooGroup& group, std::uint32_t to, const Keep& keep);
// `numbers`: of the network. Throws GroupBroken, or an Error if what comes does not fit.
void take_over(GlooGroup& group, std::uint32_t from, std::size_t numbers, const Keep& keep);

}  // namespace outpace::collective
