// What --runtime takes, for help: a list of the distributions, each with its options.

#pragma once

#include <string>
#include <vector>

#include "base/option_doc.h"

namespace outpace::simulation {

struct DistributionDoc {
  std::string name;
  std::string rule;  // One sentence.
  std::vector<OptionDoc> options;
};

[[nodiscard]] std::vector<DistributionDoc> distributions();

}  // namespace outpace::simulation
