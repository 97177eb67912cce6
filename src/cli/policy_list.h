// Policies in one option, and policies that are meant for any number of workers.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outpace::cli {

// "sync,ssp:s=3,dynamic:min=2,max=8" are three: a comma begins another policy where a policy's name
// stands behind it, or no option does.
[[nodiscard]] std::vector<std::string> split_policies(const std::vector<std::string>& given);

// With "90%" replaced by so much of the number of workers, rounded, and at least 1:
// "backup:cutoff=90%" of 16 is "backup:cutoff=14".
[[nodiscard]] std::string policy_for(const std::string& policy, std::uint32_t workers);

}  // namespace outpace::cli
