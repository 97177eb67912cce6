// The optimizer that the workers' script brings, as the shard takes it.

#pragma once

#include <string>

#include "protocol/messages.h"
#include "update/groups.h"

namespace outpace::server {

// REQUIRES: the script has groups. Throws a usage error for a number that its method does not take.
[[nodiscard]] update::Groups groups_of(const protocol::Script& script);

// For people: "momentum:mu=0.9", and of several groups the first and their number.
[[nodiscard]] std::string optimizer_in_words(const protocol::Script& script);

}  // namespace outpace::server
