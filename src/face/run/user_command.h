// A command of the user's: a program and its words.

#pragma once

#include <string>
#include <vector>

namespace outpace::run {

// Throws a usage error if there is no such program, which every worker would say otherwise.
// `command`: of this program, for people.
void check_program(const std::string& command, const std::string& program);

// Words as a shell takes them.
[[nodiscard]] std::string quoted(const std::vector<std::string>& words);

}  // namespace outpace::run
