// Delay compensation (DC-ASGD): moves a stale gradient from the weights it was computed on to the
// present ones, by the first term of Taylor's series, with g * g in place of the Hessian.
//
//   g_i <- g_i + lambda_i * g_i * g_i * (w_i - then_i)
//   constant  lambda_i = lambda                                                      DC-ASGD-c
//   adaptive  s_i = m * s_i + (1 - m) * g_i^2, over this worker's gradients          DC-ASGD-a
//             lambda_i = lambda / sqrt(s_i + 1e-7)
//
// Zheng, Meng, Wang, Chen, Yu, Ma, Liu, "Asynchronous Stochastic Gradient Descent with Delay
// Compensation", ICML 2017: section 3 for the Hessian's diagonal, section 4 for the rule. `then`
// are the weights that the worker was released with. A gradient computed on the present weights
// does not change.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "update/correction.h"
#include "update/released_weights.h"

namespace outpace::update {

// State: the weights that each worker was released with and, if adaptive, s of each worker. Both
// are freed when the worker leaves, so that one that returns starts with s = 0.
class DcAsgd final : public Correction {
 public:
  enum class Form : std::uint8_t { kConstant, kAdaptive };
  struct Options {
    Form form;
    // At least 0; per unit of gradient and of weight, or, if adaptive, per unit of weight.
    double lambda;
    double m;  // In [0, 1); adaptive only.
  };

  DcAsgd(const Options& options, std::size_t size);

  void released(WorkerId worker, const SharedWeights& weights) override {
    released_.keep(worker, weights);
  }
  void correct(const Corrected& of,
               std::span<float> gradient,
               std::span<const float> weights) override;
  void stepped(std::span<const float> /*before*/, std::span<const float> /*after*/) override {}
  void forget(WorkerId worker) override;
  void keep(Archive& /*archive*/) override {}  // All of it is its workers'.

 private:
  [[nodiscard]] std::vector<float>& squares_of(WorkerId worker);

  const Options options_;
  const std::size_t size_;
  ReleasedWeights released_;
  std::vector<std::vector<float>> squares_;  // s, by worker; adaptive only.
};

}  // namespace outpace::update
