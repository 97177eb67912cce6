// What a worker brings beside a run's first weights, as far as it has come: constants, and the
// state of its optimizer.
// Tested by src/world/live/script_test.cc.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocol/constants.h"
#include "protocol/messages.h"
#include "server/shard.h"

namespace outpace::live {

class Brought {
 public:
  // Each says why the part is wrong; empty if it is not.
  [[nodiscard]] std::string add(protocol::Constants part) {
    return constants_.add(std::move(part));
  }
  [[nodiscard]] std::string add(const protocol::Manifest& network,
                                protocol::OptimizerState part,
                                std::vector<float> numbers);

  // All constants have come, or there are none.
  [[nodiscard]] bool complete() const { return constants_.complete(); }
  [[nodiscard]] std::string take_constants() { return constants_.take(); }
  // For each tensor; takes it.
  [[nodiscard]] std::map<std::uint32_t, update::BroughtState> take_states() {
    return std::exchange(states_, {});
  }
  // The shard's optimizer begins from the state. Says why it cannot; empty if it does.
  [[nodiscard]] std::string begin(server::Shard& shard, const protocol::Manifest& network) const;

 private:
  protocol::Assembly constants_;
  std::map<std::uint32_t, update::BroughtState> states_;  // By tensor.
};

}  // namespace outpace::live
