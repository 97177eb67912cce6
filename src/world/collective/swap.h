// How a sum talks to the other members of its group, whatever carries it (gloo_group.h).

#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace outpace::collective {

// Sends out[r] to, and receives in[r] from, each other rank r, all at once; a rank's own are not
// looked at. The sizes are the receiver's: a message of another size fails, or leaves a part of
// in[r] as it is. Throws if the group is over.
using Swap = std::function<void(const std::vector<std::span<const std::byte>>& out,
                                const std::vector<std::span<std::byte>>& in)>;

}  // namespace outpace::collective
