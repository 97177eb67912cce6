// The terms of a job: what its peers must agree on. The first peer that comes offers them, and one
// that comes with others is refused. The sentence says which term differs and how.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "admission/options.h"
#include "protocol/messages.h"

namespace outpace::admission {

struct Terms {
  std::optional<protocol::Manifest> network;
  std::uint64_t examples = 0;  // In the data set; 0: nobody has offered it.
  std::optional<protocol::Script> script;
};

// Why the job cannot use this peer, apart from who else is there; empty if it can.
[[nodiscard]] std::string why_unfit(const protocol::Hello& worker,
                                    const Terms& terms,
                                    const Options& options);
[[nodiscard]] std::string why_unfit(const protocol::Observe& evaluator, const Terms& terms);

// A peer of another version of the protocol is told this.
[[nodiscard]] std::string wrong_protocol(std::uint32_t protocol);

}  // namespace outpace::admission
