// The optimizer that the workers' script brings, as the shard takes it.

#pragma once

#include <optional>
#include <string>

#include "protocol/messages.h"
#include "server/shard.h"

namespace outpace::server {

// Whether it brings one, in place of that of the server's options. Buffers need none.
[[nodiscard]] bool brings_optimizer(const protocol::Script& script);

// Whether its optimizer's steps are as long whatever the gradient's length is; nothing if it brings
// none. All groups with an optimizer agree (update/groups.h).
[[nodiscard]] std::optional<bool> scale_invariant(const protocol::Script& script);

// The server's options, with the script's groups if it has any. Throws a usage error for a number
// that a group's method does not take.
[[nodiscard]] ShardOptions with_script(ShardOptions options, const protocol::Script& script);

// For people: "momentum:mu=0.9", and of several groups the first and their number. Empty if the
// script brings none.
[[nodiscard]] std::string optimizer_in_words(const protocol::Script& script);

}  // namespace outpace::server
