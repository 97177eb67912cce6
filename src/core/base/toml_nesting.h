// How deep a TOML text nests its values, before a parser looks at it: one that calls itself for
// each level runs out of stack.

#pragma once

#include <string_view>

namespace outpace {

// Whether a key has more parts (a.b.c), or more brackets are open at once, than any file of ours.
[[nodiscard]] bool nests_too_deep(std::string_view toml);

}  // namespace outpace
