// Numbers in one option: "8", "1,2,4", "1..64" or "1..4,8".

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outpace::cli {

// In the order in which they are written. Throws a usage error that names the option unless each is
// from 1 to `most`, and there are at most ten thousand.
[[nodiscard]] std::vector<std::uint32_t> parse_count_list(const std::string& option,
                                                          const std::string& text,
                                                          std::uint32_t most);

}  // namespace outpace::cli
