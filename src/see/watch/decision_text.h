// An event and what the policy did about it, as one line for people.

#pragma once

#include <span>
#include <string>

#include "policy/policy.h"

namespace outpace::watch {

// "gradient of worker 3 (0.021 s)".
[[nodiscard]] std::string in_words(const policy::Event& event);
// "accept worker 3, commit, release workers 0, 3 and 5"; empty if there is none.
[[nodiscard]] std::string in_words(std::span<const policy::Action> actions);

}  // namespace outpace::watch
