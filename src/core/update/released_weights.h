// The weights that each worker was last released with. Workers released with the same version share
// one copy.

#pragma once

#include <span>
#include <vector>

#include "base/check.h"
#include "update/correction.h"

namespace outpace::update {

class ReleasedWeights {
 public:
  void keep(WorkerId worker, const SharedWeights& weights) {
    if (index(worker) >= of_.size()) {
      of_.resize(index(worker) + 1);
    }
    of_[index(worker)] = weights;
  }
  // REQUIRES: kept, and not forgotten since.
  [[nodiscard]] std::span<const float> of(WorkerId worker) const {
    CHECK(index(worker) < of_.size() && of_[index(worker)] != nullptr);
    return *of_[index(worker)];
  }
  void forget(WorkerId worker) {
    if (index(worker) < of_.size()) {
      of_[index(worker)] = nullptr;
    }
  }

 private:
  std::vector<SharedWeights> of_;  // By worker; null: none.
};

}  // namespace outpace::update
