// The workers that died in a run and did not come back, and at which update.
// Tested by src/world/record/worker_table_test.cc.

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <variant>

#include "base/ids.h"
#include "policy/policy.h"

namespace outpace::record {

class Deaths {
 public:
  // The run goes on from this version.
  void begin_at(Version version) { version_ = count(version); }
  void follow(const policy::Event& event, std::span<const policy::Action> actions) {
    if (const auto* left = std::get_if<policy::WorkerLeft>(&event)) {
      if (left->how == policy::Departure::kDead) {
        died(left->worker, version_);
      }
    } else if (const auto* joined = std::get_if<policy::WorkerJoined>(&event)) {
      joined_again(joined->worker);
    }
    for (const policy::Action& action : actions) {
      version_ += std::holds_alternative<policy::Commit>(action) ? 1U : 0U;
    }
  }
  void died(WorkerId worker, std::uint64_t version) { died_[index(worker)] = version; }
  void joined_again(WorkerId worker) { died_.erase(index(worker)); }
  // By worker: the update.
  [[nodiscard]] const std::map<std::size_t, std::uint64_t>& all() const { return died_; }

 private:
  std::map<std::size_t, std::uint64_t> died_;
  std::uint64_t version_ = 0;
};

}  // namespace outpace::record
