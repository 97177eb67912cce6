// Slurm's compact notation for many hosts: gnode[10,20-25,037],login1 or r[0-1]n[00-03].

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outpace::launch {

// The first host of the list, with its digits as written; nothing if the list does not begin with a
// host in this notation. The list is not expanded, so a long range costs nothing.
[[nodiscard]] std::optional<std::string> first_host(std::string_view list);

}  // namespace outpace::launch
