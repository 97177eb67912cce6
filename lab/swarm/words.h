// What happened in a run, in a few words for people.

#pragma once

#include <string>

#include "policy/policy.h"
#include "server/input.h"

namespace outpace::swarm {

[[nodiscard]] std::string to_words(const policy::Event& event);
[[nodiscard]] std::string to_words(const policy::Decision& decision);
[[nodiscard]] std::string to_words(const server::Input& input);

}  // namespace outpace::swarm
