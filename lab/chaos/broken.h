// A rule that a run broke, with the records that show it; and what a run leaves behind to be
// judged.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace outpace::chaos {

struct Broken {
  std::string rule;
  std::string what;
  std::vector<std::string> records;  // A few that show it.
};

// What the run left behind.
struct FinalState {
  std::vector<float> weights;  // Each the uses of its example, negative; empty if there are none.
  std::uint64_t epochs = 0;    // The run was to have this many.
};

}  // namespace outpace::chaos
