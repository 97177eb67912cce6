// Whether weights can be the first of a run: as many as the network has, and all finite but those
// of buffers that the server only passes on.

#pragma once

#include <span>
#include <string>

#include "protocol/messages.h"

namespace outpace::server {

// One line that says what is wrong; empty if nothing is.
// REQUIRES: the script's groups are of this network.
[[nodiscard]] std::string why_unfit(const protocol::Manifest& network,
                                    std::span<const float> weights,
                                    const protocol::Script& script = {});

}  // namespace outpace::server
