// An optimizer for parameters in groups, each with settings of its own. Every tensor is stepped by
// an optimizer of its own, and one group steps to the bit as no group does. (yellowfin, which takes
// all weights, has one for all.)
//
// A gradient may have no numbers for some tensors: a frozen layer, or one whose optimizer makes no
// step now. A tensor that no gradient of an update has keeps its weights and its optimizer's state.
// One that some of them have is stepped along the mean of these, by examples and weights.
//
// A group may hold buffers in place of parameters (kAverage): the gradients' numbers are then
// values of the workers, and
//
//   w = mu * w + (1 - mu) * mean of the values, by examples and weights.
//
// Or the newest values replace the server's (kNewest): those of the gradient that was computed on
// the newest weights, and of several such the one that was accepted last. They are taken out of a
// gradient before anything else looks at it, and 0 stands in their place.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/spec.h"
#include "update/brought_state.h"
#include "update/optimizer.h"

namespace outpace::update {

inline constexpr const char* kAverage = "average";
inline constexpr const char* kNewest = "newest";

struct Group {
  Spec optimizer;  // As make_optimizer() takes it; or average:mu=0.9, or newest.
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
  // groups that do not go together: sgd, momentum and nesterov take a weighted mean, the
  // others an unweighted one, and yellowfin takes all weights. REQUIRES: each tensor has a group.
  GroupedOptimizer(const Groups& groups, const std::vector<std::size_t>& tensors);

  // The rate of a group is `step.rate` times its own; the decay of a step does not count.
  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override;
  void step_into(const Step& step,
                 std::span<const float> mean,
                 std::span<const float> weights,
                 std::span<float> moved) override;
  [[nodiscard]] bool scale_invariant() const override { return scale_invariant_; }
  void keep(Archive& archive) override;

  // As update::begin_from(), for the optimizer of one tensor.
  [[nodiscard]] std::string begin_from(std::uint32_t tensor, const BroughtState& state);

  // REQUIRES: one for each group, finite and at least 0.
  void set_rates(std::span<const double> rates);

  // Whether some group holds buffers that are averaged.
  [[nodiscard]] bool averages() const { return averages_; }
  // Takes the values that replace the server's out of a gradient; empty if no group has such.
  [[nodiscard]] std::vector<float> take_newest(std::span<float> gradient) const;
  // take_newest()'s of a gradient that is accepted: they count from the next step on. `sequence`:
  // of the release that the gradient answers.
  void accept_newest(std::vector<float> values, std::uint64_t sequence);
  // Whether a gradient may come without these tensors: they exist, each is learnt, and each has an
  // optimizer of its own.
  [[nodiscard]] bool can_be_without(std::span<const std::uint32_t> tensors) const;
  // Writes 0 in the place of these tensors. REQUIRES: can_be_without() them.
  void clear(std::span<const std::uint32_t> tensors, std::span<float> gradient) const;
  // A gradient of that many examples is accepted, without these tensors: it counts with the next
  // step. REQUIRES: can_be_without() them.
  void accept_without(std::span<const std::uint32_t> tensors, std::uint32_t examples);
  // In place of a step: writes to `gradient` what a gradient of all of them together would be, and
  // returns the tensors that it would lack. REQUIRES: gradient.size() == mean.size().
  [[nodiscard]] std::vector<std::uint32_t> hand_in(std::span<const float> mean,
                                                   std::span<float> gradient);
  // Whether these weights are finite, all but those that the newest values replace.
  [[nodiscard]] bool finite(std::span<const float> weights) const;
  // The sum of squares of all numbers but those of buffers, in double.
  [[nodiscard]] double learnt_squared_norm(std::span<const float> gradient) const;

 private:
  enum class Kind : std::uint8_t { kLearns, kAverages, kNewest };
  // A tensor, or all of them.
  struct Part {
    std::uint32_t group;
    std::size_t begin;
    std::size_t size;
    std::unique_ptr<Optimizer> optimizer;  // Null if kNewest.
    Kind kind;
  };

  // The mean gradient of a part, by the gradients that have it; empty if none has.
  [[nodiscard]] std::span<const float> mean_of(std::size_t part, std::span<const float> mean);
  // Puts the newest values in place, and begins the next update.
  void end_step(std::span<float> weights);
  // Writes the newest values over the weights.
  void put_newest(std::span<float> weights);

  [[nodiscard]] static Kind kind_of(const Group& group);
  [[nodiscard]] Step step_of(const Part& part, const Step& step) const;

  std::vector<double> decays_;  // By group.
  bool scale_invariant_ = false;
  bool averages_ = false;
  bool by_tensor_ = true;  // Each part is a tensor.
  std::vector<Part> parts_;
  std::vector<double> rates_;  // By group.
  // All such parts of the gradients accepted since the last step, one after another.
  std::vector<float> newest_;
  std::uint64_t newest_sequence_ = 0;
  // The examples of the same gradients: all, and those that lack a part; empty: none lacks any
  // part.
  std::uint64_t examples_ = 0;
  std::vector<std::uint64_t> lacking_;
  std::vector<float> scaled_;  // For mean_of(); a field only to keep its memory.
};

}  // namespace outpace::update
