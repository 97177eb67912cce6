// The names of policies that follow each other: for titles, and for what a page shows.

#pragma once

#include <string>
#include <string_view>

namespace outpace::policy {

// The policies that decided a run: "dynamic, then sync", when `next` comes after `names`. If there
// are more than three, the first and the last are named.
[[nodiscard]] std::string in_turn(std::string names, std::string_view next);

}  // namespace outpace::policy
