// Several policies in one option, and policies for any number of workers.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outpace::job {

// "sync,ssp:s=3,dynamic:min=2,max=8" are three: a comma begins a new policy unless an option of the
// last one follows it.
[[nodiscard]] std::vector<std::string> split_policies(const std::vector<std::string>& given);

// Replaces "90%" by that share of the workers, rounded, at least 1: with 16 workers
// "backup:cutoff=90%" is "backup:cutoff=14".
[[nodiscard]] std::string policy_for(const std::string& policy, std::uint32_t workers);

}  // namespace outpace::job
