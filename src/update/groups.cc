#include "update/groups.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "update/gradient.h"

namespace outpace::update {
namespace {

bool averages(const Group& group) {
  return group.optimizer.name == kAverage;
}

// Of buffers. The mean of a scale-invariant optimizer is not weighted.
class Average final : public Optimizer {
 public:
  Average(double mu, bool mean_is_weighted) : mu_(mu), mean_is_weighted_(mean_is_weighted) {}

  void step(const Step& step, std::span<const float> mean, std::span<float> weights) override {
    if (step.mean_weight <= 0.0) {
      return;  // Nothing counts.
    }
    const auto kept = static_cast<float>(mu_);
    const auto share =
        static_cast<float>((1.0 - mu_) / (mean_is_weighted_ ? step.mean_weight : 1.0));
    if (!std::isfinite(share)) {
      return;  // So stale that nothing is left of its numbers.
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = kept * weights[i] + share * mean[i];
    }
  }
  [[nodiscard]] bool scale_invariant() const override { return false; }
  void keep(Archive& /*archive*/) override {}

 private:
  const double mu_;
  const bool mean_is_weighted_;
};

std::unique_ptr<Optimizer> make(const Group& group,
                                bool scale_invariant,
                                std::size_t size,
                                std::vector<std::size_t> tensors) {
  if (!averages(group)) {
    return make_optimizer(group.optimizer, size, std::move(tensors));
  }
  SpecReader reader("optimizer", group.optimizer);
  const double mu = reader.number("mu", 0.9, 0.0, kBelowOne);
  reader.finish();
  return std::make_unique<Average>(mu, !scale_invariant);
}

// Whether the optimizers take an unweighted mean. Throws a usage error if they do not agree.
bool check_together(const Groups& groups) {
  const auto learns = std::ranges::find_if_not(groups.groups, averages);
  if (learns == groups.groups.end()) {
    throw usage_error("all parameter groups are averaged, so nothing is trained");
  }
  const Spec& first = learns->optimizer;
  const bool scale_invariant = make_optimizer(first, 1)->scale_invariant();
  for (const Group& group : groups.groups) {
    if (averages(group)) {
      continue;
    }
    if (make_optimizer(group.optimizer, 1)->scale_invariant() != scale_invariant) {
      throw usage_error("the parameter groups take " + first.text + " and " + group.optimizer.text +
                        ", which do not go together");
    }
    if (group.optimizer.name == "yellowfin" && std::ranges::any_of(groups.groups, averages)) {
      throw usage_error(
          "yellowfin takes all weights, and some of these are averaged, as batch normalisation's "
          "running statistics are; use another optimizer, such as momentum");
    }
    if (group.optimizer.name == "yellowfin" && groups.groups.size() > 1) {
      throw usage_error("yellowfin takes all weights; use one parameter group");
    }
  }
  return scale_invariant;
}

}  // namespace

GroupedOptimizer::GroupedOptimizer(const Groups& groups, const std::vector<std::size_t>& tensors) {
  CHECK(!groups.groups.empty() && groups.group_of.size() == tensors.size());
  scale_invariant_ = check_together(groups);
  for (const Group& group : groups.groups) {
    decays_.push_back(group.weight_decay);
    rates_.push_back(group.rate);
  }
  std::size_t begin = 0;
  for (std::size_t tensor = 0; tensor < tensors.size();) {
    const std::uint32_t group = groups.group_of[tensor];
    std::vector<std::size_t> sizes;
    std::size_t size = 0;
    for (; tensor < tensors.size() && groups.group_of[tensor] == group; ++tensor) {
      sizes.push_back(tensors[tensor]);
      size += tensors[tensor];
    }
    const Group& of = groups.groups.at(group);
    averages_ = averages_ || update::averages(of);
    std::unique_ptr<Optimizer> optimizer = make(of, scale_invariant_, size, std::move(sizes));
    parts_.push_back({.group = group,
                      .begin = begin,
                      .size = size,
                      .optimizer = std::move(optimizer),
                      .averages = update::averages(of)});
    begin += size;
  }
}

Step GroupedOptimizer::step_of(const Part& part, const Step& step) const {
  return {.rate = step.rate * rates_[part.group],
          .mean_weight = step.mean_weight,
          .weight_decay = decays_[part.group]};
}

void GroupedOptimizer::step(const Step& step,
                            std::span<const float> mean,
                            std::span<float> weights) {
  for (const Part& part : parts_) {
    part.optimizer->step(step_of(part, step),
                         mean.subspan(part.begin, part.size),
                         weights.subspan(part.begin, part.size));
  }
}

void GroupedOptimizer::step_into(const Step& step,
                                 std::span<const float> mean,
                                 std::span<const float> weights,
                                 std::span<float> moved) {
  for (const Part& part : parts_) {
    part.optimizer->step_into(step_of(part, step),
                              mean.subspan(part.begin, part.size),
                              weights.subspan(part.begin, part.size),
                              moved.subspan(part.begin, part.size));
  }
}

void GroupedOptimizer::keep(Archive& archive) {
  const std::size_t groups = rates_.size();
  archive("rates", rates_);
  if (rates_.size() != groups) {
    throw Error(ExitCode::kUnreadable, "state 'rates' is not of this network's parameter groups");
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    archive.group("part_" + std::to_string(i), [&] { parts_[i].optimizer->keep(archive); });
  }
}

double GroupedOptimizer::learnt_squared_norm(std::span<const float> gradient) const {
  double sum = 0.0;
  for (const Part& part : parts_) {
    if (!part.averages) {
      sum += squared_norm(gradient.subspan(part.begin, part.size));
    }
  }
  return sum;
}

void GroupedOptimizer::set_rates(std::span<const double> rates) {
  CHECK(rates.size() == rates_.size());
  rates_.assign(rates.begin(), rates.end());
}

}  // namespace outpace::update
