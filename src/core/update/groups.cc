#include "update/groups.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
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

bool holds_buffers(const Group& group) {
  return averages(group) || group.optimizer.name == kNewest;
}

// Averages buffers. A scale-invariant optimizer's mean is not weighted.
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
  if (group.optimizer.name == kNewest) {
    SpecReader("optimizer", group.optimizer).finish();
    return nullptr;
  }
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
  const auto learns = std::ranges::find_if_not(groups.groups, holds_buffers);
  if (learns == groups.groups.end()) {
    throw usage_error("all parameter groups are of buffers, so nothing is trained");
  }
  const Spec& first = learns->optimizer;
  const bool scale_invariant = make_optimizer(first, 1)->scale_invariant();
  for (const Group& group : groups.groups) {
    if (holds_buffers(group)) {
      continue;
    }
    if (make_optimizer(group.optimizer, 1)->scale_invariant() != scale_invariant) {
      throw usage_error("the parameter groups take " + first.text + " and " + group.optimizer.text +
                        ", which do not go together");
    }
    if (group.optimizer.name == "yellowfin" && std::ranges::any_of(groups.groups, holds_buffers)) {
      throw usage_error(
          "yellowfin takes all weights, and some of these are buffers, as batch normalisation's "
          "running statistics are; use another optimizer, such as momentum");
    }
    if (group.optimizer.name == "yellowfin" && groups.groups.size() > 1) {
      throw usage_error("yellowfin takes all weights; use one parameter group");
    }
  }
  return scale_invariant;
}

}  // namespace

GroupedOptimizer::Kind GroupedOptimizer::kind_of(const Group& group) {
  if (update::averages(group)) {
    return Kind::kAverages;
  }
  return group.optimizer.name == update::kNewest ? Kind::kNewest : Kind::kLearns;
}

GroupedOptimizer::GroupedOptimizer(const Groups& groups, const std::vector<std::size_t>& tensors) {
  CHECK(!groups.groups.empty() && groups.group_of.size() == tensors.size());
  scale_invariant_ = check_together(groups);
  for (const Group& group : groups.groups) {
    decays_.push_back(group.weight_decay);
    rates_.push_back(group.rate);
  }
  const bool whole = groups.groups.front().optimizer.name == "yellowfin";  // It has no other group.
  std::size_t begin = 0;
  for (std::size_t tensor = 0; tensor < tensors.size();) {
    const std::uint32_t group = groups.group_of[tensor];
    const auto count = static_cast<std::ptrdiff_t>(whole ? tensors.size() : 1);
    const auto first = tensors.begin() + static_cast<std::ptrdiff_t>(tensor);
    std::vector<std::size_t> sizes(first, first + count);
    const std::size_t size = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    const Group& of = groups.groups.at(group);
    averages_ = averages_ || update::averages(of);
    std::unique_ptr<Optimizer> optimizer = make(of, scale_invariant_, size, std::move(sizes));
    parts_.push_back({.group = group,
                      .begin = begin,
                      .size = size,
                      .optimizer = std::move(optimizer),
                      .kind = kind_of(of)});
    begin += size;
    tensor += static_cast<std::size_t>(count);
  }
  by_tensor_ = !whole;
}

Step GroupedOptimizer::step_of(const Part& part, const Step& step) const {
  return {.rate = step.rate * rates_[part.group],
          .mean_weight = step.mean_weight,
          .weight_decay = decays_[part.group],
          .share = step.share};
}

std::span<const float> GroupedOptimizer::mean_of(std::size_t part, std::span<const float> mean) {
  mean = mean.subspan(parts_[part].begin, parts_[part].size);
  const std::uint64_t lacking = lacking_.empty() ? 0 : lacking_[part];
  if (lacking == 0) {
    return mean;
  }
  if (lacking == examples_) {
    return {};
  }
  const auto factor =
      static_cast<float>(static_cast<double>(examples_) / static_cast<double>(examples_ - lacking));
  scaled_.resize(mean.size());
  std::ranges::transform(mean, scaled_.begin(), [factor](float number) { return factor * number; });
  return scaled_;
}

void GroupedOptimizer::step(const Step& step,
                            std::span<const float> mean,
                            std::span<float> weights) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const auto of_part = mean_of(i, mean);
    if (part.kind != Kind::kNewest && of_part.size() == part.size) {
      part.optimizer->step(step_of(part, step), of_part, weights.subspan(part.begin, part.size));
    }
  }
  end_step(weights);
}

void GroupedOptimizer::step_into(const Step& step,
                                 std::span<const float> mean,
                                 std::span<const float> weights,
                                 std::span<float> moved) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const auto from = weights.subspan(part.begin, part.size);
    const auto to = moved.subspan(part.begin, part.size);
    const auto of_part = mean_of(i, mean);
    if (part.kind == Kind::kNewest || of_part.size() != part.size) {
      std::ranges::copy(from, to.begin());
    } else {
      part.optimizer->step_into(step_of(part, step), of_part, from, to);
    }
  }
  end_step(moved);
}

std::vector<std::uint32_t> GroupedOptimizer::hand_in(std::span<const float> mean,
                                                     std::span<float> gradient) {
  std::vector<std::uint32_t> lacks;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const auto to = gradient.subspan(parts_[i].begin, parts_[i].size);
    const auto of_part = mean_of(i, mean);
    if (of_part.empty()) {
      std::ranges::fill(to, 0.0F);
      lacks.push_back(static_cast<std::uint32_t>(i));
    } else {
      std::ranges::copy(of_part, to.begin());
    }
  }
  end_step(gradient);
  return lacks;
}

void GroupedOptimizer::end_step(std::span<float> weights) {
  put_newest(weights);
  examples_ = 0;
  lacking_.clear();
}

bool GroupedOptimizer::can_be_without(std::span<const std::uint32_t> tensors) const {
  return by_tensor_ && std::ranges::all_of(tensors, [this](std::uint32_t tensor) {
           return tensor < parts_.size() && parts_[tensor].kind == Kind::kLearns;
         });
}

void GroupedOptimizer::clear(std::span<const std::uint32_t> tensors,
                             std::span<float> gradient) const {
  for (const std::uint32_t tensor : tensors) {
    std::ranges::fill(gradient.subspan(parts_[tensor].begin, parts_[tensor].size), 0.0F);
  }
}

void GroupedOptimizer::accept_without(std::span<const std::uint32_t> tensors,
                                      std::uint32_t examples) {
  examples_ += examples;
  if (!tensors.empty()) {
    lacking_.resize(parts_.size());
  }
  for (const std::uint32_t tensor : tensors) {
    lacking_[tensor] += examples;
  }
}

bool GroupedOptimizer::finite(std::span<const float> weights) const {
  return std::ranges::all_of(parts_, [weights](const Part& part) {
    return part.kind == Kind::kNewest || all_finite(weights.subspan(part.begin, part.size));
  });
}

std::vector<float> GroupedOptimizer::take_newest(std::span<float> gradient) const {
  std::vector<float> taken;
  for (const Part& part : parts_) {
    if (part.kind == Kind::kNewest) {
      const auto values = gradient.subspan(part.begin, part.size);
      taken.insert(taken.end(), values.begin(), values.end());
      std::ranges::fill(values, 0.0F);
    }
  }
  return taken;
}

void GroupedOptimizer::accept_newest(std::vector<float> values, std::uint64_t sequence) {
  if (newest_.empty() || sequence >= newest_sequence_) {
    newest_ = std::move(values);
    newest_sequence_ = sequence;
  }
}

void GroupedOptimizer::put_newest(std::span<float> weights) {
  if (newest_.empty()) {
    return;
  }
  std::span<const float> left = newest_;
  for (const Part& part : parts_) {
    if (part.kind == Kind::kNewest) {
      std::ranges::copy(left.first(part.size), weights.subspan(part.begin).begin());
      left = left.subspan(part.size);
    }
  }
  newest_.clear();
}

void GroupedOptimizer::keep(Archive& archive) {
  const std::size_t groups = rates_.size();
  archive("rates", rates_);
  if (rates_.size() != groups) {
    throw Error(ExitCode::kUnreadable, "state 'rates' is not of this network's parameter groups");
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    archive.group("part_" + std::to_string(i), [&] {
      if (parts_[i].optimizer) {
        parts_[i].optimizer->keep(archive);
      }
    });
  }
}

std::string GroupedOptimizer::begin_from(std::uint32_t tensor, const BroughtState& state) {
  if (!by_tensor_ || tensor >= parts_.size() || parts_[tensor].kind != Kind::kLearns) {
    return "it has no optimizer of its own";
  }
  return update::begin_from(*parts_[tensor].optimizer, state);
}

double GroupedOptimizer::learnt_squared_norm(std::span<const float> gradient) const {
  double sum = 0.0;
  for (const Part& part : parts_) {
    if (part.kind == Kind::kLearns) {
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
