// An optimizer for parameters in groups, each with settings of its own. Every run of neighbouring
// tensors of one group is stepped by an optimizer of its own, so a step costs what one without
// groups costs, and one group steps to the bit as no group does.
//
// A group may hold buffers in place of parameters (kAverage): the gradients' numbers are then
// values of the workers, and
//
//   w = mu * w + (1 - mu) * mean of the values, by examples and weights.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/archive.h"
#include "base/spec.h"
#include "update/optimizer.h"

namespace outpace::update {

inline constexpr const char* kAverage = "average";

struct Group {
  Spec optimizer;  // As make_optimizer() takes it; or average:mu=0.9.
  double rate;
  double weight_decay;
};
struct Groups {
  std::vector<Group> groups;
  std::vector<std::uint32_t> group_of;  // By tensor.
};

class GroupedOptimizer final : public Optimizer {
 public:
  // `tensors`: their sizes in order. Throws a usage error for a group's wrong optimizer, and for
  // groups that do not go together: adam, adamw, lamb and yellowfin take an unweighted mean, the
  // others a weighted one, and yellowfin takes all weights. REQUIRES: each tensor has a group.
  GroupedOptimizer(const Groups& groups, const std::vector<std::size_t>& tensors);

  // The rate of a group is `step.rate` times its own; the decay of a step does not count.
  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) override;
  [[nodiscard]] bool scale_invariant() const override { return scale_invariant_; }
  void keep(Archive& archive) override;

  // REQUIRES: one for each group, finite and at least 0.
  void set_rates(std::span<const double> rates);

  // Whether some group holds buffers.
  [[nodiscard]] bool averages() const { return averages_; }
  // The sum of squares of all numbers but those of buffers, in double.
  [[nodiscard]] double learnt_squared_norm(std::span<const float> gradient) const;

 private:
  // Neighbouring tensors of one group.
  struct Part {
    std::uint32_t group;
    std::size_t begin;
    std::size_t size;
    std::unique_ptr<Optimizer> optimizer;
    bool averages;
  };

  [[nodiscard]] Step step_of(const Part& part, const Step& step) const;

  std::vector<double> decays_;  // By group.
  bool scale_invariant_ = false;
  bool averages_ = false;
  std::vector<Part> parts_;
  std::vector<double> rates_;  // By group.
};

}  // namespace outpace::update
