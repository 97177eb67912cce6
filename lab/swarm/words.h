// What happened in a run, in a few words for people.

#pragma once

#include <string>

#include "admission/effects.h"
#include "admission/input.h"
#include "policy/policy.h"
#include "server/input.h"

namespace outpace::swarm {

[[nodiscard]] std::string to_words(const policy::Event& event);
[[nodiscard]] std::string to_words(const policy::Decision& decision);
[[nodiscard]] std::string to_words(const server::Input& input);
[[nodiscard]] std::string to_words(const admission::Input& input);
[[nodiscard]] std::string to_words(const admission::Effect& effect);

}  // namespace outpace::swarm
