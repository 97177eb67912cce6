// Manual pages, for man(1): one for the program, and one for each command.

#pragma once

#include <string>

#include "job/program_pages.h"

namespace outpace::job {

// In roff, with the macros of man(7).
[[nodiscard]] std::string manual_page(const ProgramPages& program);
[[nodiscard]] std::string manual_page(const ProgramPages& program, const CommandPage& command);

}  // namespace outpace::job
