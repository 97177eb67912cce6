// A comparison as JSON, as `outpace compare --json` prints it.

#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "compare/row_summary.h"
#include "compare/run_list.h"

namespace outpace::compare {

// {"cells", "failed": [{"cell", "reason"}], "rows": [...]}: one row per trace and policy, each mean
// as {"n", "mean", "half_width"}. Unknown values are null, and no key is ever missing.
[[nodiscard]] nlohmann::ordered_json summary_json(const Config& config,
                                                  const std::vector<Cell>& cells,
                                                  const std::vector<Outcome>& outcomes);

}  // namespace outpace::compare
