// The variables of this process.

#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace outpace::wire {

[[nodiscard]] std::map<std::string, std::string, std::less<>> environment_variables();

// The variables as exec takes them, with changes: "NAME=value" sets one, "NAME" leaves it out. Of
// the others, those whose name `goes_on` accepts; null: all.
[[nodiscard]] std::vector<std::string> environment_with(
    const std::vector<std::string>& changes,
    const std::function<bool(std::string_view name)>& goes_on = nullptr);

// The words as exec takes them, for as long as they stay where they are.
[[nodiscard]] std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace outpace::wire
