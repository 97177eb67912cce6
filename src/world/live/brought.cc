#include "live/brought.h"

#include <algorithm>

#include "base/text.h"

namespace outpace::live {

std::string Brought::add(const protocol::Manifest& network,
                         protocol::OptimizerState part,
                         std::vector<float> numbers) {
  if (part.tensor >= network.tensors.size() ||
      numbers.size() != network.tensors[part.tensor].numbers()) {
    return "it is of no tensor of the network";
  }
  update::BroughtState& state = states_[part.tensor];
  if (!state.parts.empty() && part.updates != state.updates) {
    return "its parts count other updates";
  }
  if (std::ranges::find(state.parts, part.part, &update::BroughtPart::name) != state.parts.end() ||
      state.parts.size() >= update::kStatePartsMax) {
    return "a part of tensor '" + printable(network.tensors[part.tensor].name) + "' came twice";
  }
  state.updates = part.updates;
  state.parts.push_back({.name = std::move(part.part), .numbers = std::move(numbers)});
  return "";
}

std::string Brought::begin(server::Shard& shard, const protocol::Manifest& network) const {
  for (const auto& [tensor, state] : states_) {
    if (const std::string why = shard.begin_from(tensor, state); !why.empty()) {
      return "the optimizer's state of tensor '" + printable(network.tensors[tensor].name) +
             "': " + why;
    }
  }
  return "";
}

}  // namespace outpace::live
