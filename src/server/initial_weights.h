// Whether weights can be the first of a run: as many as the network has, and all finite.

#pragma once

#include <span>
#include <string>

#include "protocol/messages.h"

namespace outpace::server {

// One line that says what is wrong; empty if nothing is.
[[nodiscard]] std::string why_unfit(const protocol::Manifest& network,
                                    std::span<const float> weights);

}  // namespace outpace::server
