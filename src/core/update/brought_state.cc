#include "update/brought_state.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace outpace::update {
namespace {

std::string take(const StatePart& part, const BroughtState& state) {
  const auto brought = std::ranges::find(state.parts, part.name, &BroughtPart::name);
  if (brought == state.parts.end()) {
    return "'" + part.name + "' is missing";
  }
  if (brought->numbers.size() != part.numbers.size()) {
    return "'" + part.name + "' has " + std::to_string(brought->numbers.size()) +
           " numbers, the tensor " + std::to_string(part.numbers.size());
  }
  const auto wrong = [&part](float number) {
    return !std::isfinite(number) || (part.of_squares && number < 0.0F);
  };
  if (std::ranges::any_of(brought->numbers, wrong)) {
    return "'" + part.name + "' has a number that is not finite" +
           (part.of_squares ? ", or below 0" : "");
  }
  std::ranges::copy(brought->numbers, part.numbers.begin());
  return "";
}

}  // namespace

std::string begin_from(Optimizer& optimizer, const BroughtState& state) {
  const std::vector<StatePart> parts = optimizer.state_parts();
  for (const BroughtPart& brought : state.parts) {
    if (std::ranges::find(parts, brought.name, &StatePart::name) == parts.end()) {
      return "its optimizer has no '" + printable(brought.name) + "'";
    }
  }
  for (const StatePart& part : parts) {
    if (std::string why = take(part, state); !why.empty()) {
      return why;
    }
  }
  optimizer.count_from(state.updates);
  return "";
}

}  // namespace outpace::update
