#include "server/initial_weights.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace outpace::server {

std::string why_unfit(const protocol::Manifest& network, std::span<const float> weights) {
  if (weights.size() != network.numbers()) {
    return std::to_string(weights.size()) + " numbers came, the network has " +
           std::to_string(network.numbers());
  }
  const auto finite = [](float number) { return std::isfinite(number); };
  for (const protocol::TensorInfo& tensor : network.tensors) {
    const auto numbers = weights.first(tensor.numbers());
    weights = weights.subspan(tensor.numbers());
    if (const auto wrong = std::ranges::find_if_not(numbers, finite); wrong != numbers.end()) {
      return "tensor '" + printable(tensor.name) + "' has a number that is not finite (" +
             (std::isnan(*wrong) ? "NaN" : "infinity") + " at position " +
             std::to_string(wrong - numbers.begin()) + ")";
    }
  }
  return "";
}

}  // namespace outpace::server
