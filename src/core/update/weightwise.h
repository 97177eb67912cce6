// A rule by which the step of a weight reads that weight and no other, so that one loop moves the
// weights in place or elsewhere. Its steps have a length of their own: see scale_invariant().

#pragma once

#include <span>

#include "base/check.h"
#include "update/optimizer.h"

namespace outpace::update {

class Weightwise : public Optimizer {
 public:
  void step(const Step& step, std::span<const float> mean, std::span<float> weights) final {
    move(step, mean, weights.data(), weights);
  }
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) final {
    CHECK(weights.size() == moved.size());
    move(step, mean, weights.data(), moved);
  }
  [[nodiscard]] bool scale_invariant() const final { return true; }

 private:
  // REQUIRES: `moved` is `weights`, or does not overlap it.
  virtual void move(const Step& step,
                    std::span<const float> mean,
                    const float* weights,
                    std::span<float> moved) = 0;
};

}  // namespace outpace::update
