#include "update/groups.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace outpace::update {
namespace {

void check_together(const Groups& groups) {
  const Spec& first = groups.groups.front().optimizer;
  const bool scale_invariant = make_optimizer(first, 1)->scale_invariant();
  for (const Group& group : groups.groups) {
    if (make_optimizer(group.optimizer, 1)->scale_invariant() != scale_invariant) {
      throw usage_error("the parameter groups take " + first.text + " and " + group.optimizer.text +
                        ", which do not go together");
    }
    if (group.optimizer.name == "yellowfin" && groups.groups.size() > 1) {
      throw usage_error("yellowfin takes all weights; use one parameter group");
    }
  }
}

}  // namespace

GroupedOptimizer::GroupedOptimizer(const Groups& groups, const std::vector<std::size_t>& tensors) {
  CHECK(!groups.groups.empty() && groups.group_of.size() == tensors.size());
  check_together(groups);
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
    parts_.push_back(
        {.group = group,
         .begin = begin,
         .size = size,
         .optimizer = make_optimizer(groups.groups.at(group).optimizer, size, std::move(sizes))});
    begin += size;
  }
  scale_invariant_ = parts_.front().optimizer->scale_invariant();
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

void GroupedOptimizer::set_rates(std::span<const double> rates) {
  CHECK(rates.size() == rates_.size());
  rates_.assign(rates.begin(), rates.end());
}

}  // namespace outpace::update
