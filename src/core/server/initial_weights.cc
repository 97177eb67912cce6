#include "server/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace outpace::server {

std::string why_unfit(const protocol::Manifest& network,
                      std::span<const float> weights,
                      const protocol::Script& script) {
  if (weights.size() != network.numbers()) {
    return std::to_string(weights.size()) + " numbers came, the network has " +
           std::to_string(network.numbers());
  }
  const auto finite = [](float number) { return std::isfinite(number); };
  const auto is_passed_on = [&script](std::size_t tensor) {
    return !script.groups.empty() &&
           script.groups[script.group_of[tensor]].method == protocol::Method::kNewest;
  };
  for (std::size_t i = 0; i < network.tensors.size(); ++i) {
    const protocol::TensorInfo& tensor = network.tensors[i];
    const auto numbers = weights.first(tensor.numbers());
    weights = weights.subspan(tensor.numbers());
    if (is_passed_on(i)) {
      continue;
    }
    if (const auto wrong = std::ranges::find_if_not(numbers, finite); wrong != numbers.end()) {
      return "tensor '" + printable(tensor.name) + "' has a number that is not finite (" +
             (std::isnan(*wrong) ? "NaN" : "infinity") + " at position " +
             std::to_string(wrong - numbers.begin()) + ")";
    }
  }
  return "";
}

}  // namespace outpace::server
