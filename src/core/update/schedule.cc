#include "update/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/error.h"
#include "base/text.h"

namespace outpace::update {
namespace {

// The index of `name` in `names`, which are in the order of an enumeration.
template <typename Enum>
Enum choose(const std::string& what, const std::string& name, std::span<const std::string> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw usage_error("unknown " + what + " '" + name + "'" + suggestion(name, names));
  }
  return static_cast<Enum>(found - names.begin());
}

}  // namespace

Schedule Schedule::parse(const Spec& spec) {
  static const std::array<std::string, 3> kNames{"constant", "step", "cosine"};
  Schedule schedule;
  schedule.kind_ = choose<Kind>("schedule", spec.name, kNames);
  SpecReader reader("schedule", spec);
  if (schedule.kind_ == Kind::kStep) {
    schedule.period_ = reader.count("every", std::nullopt, 1);
    schedule.factor_ = reader.number("factor", 0.1, 0.0, 1.0);
  } else if (schedule.kind_ == Kind::kCosine) {
    schedule.period_ = reader.count("over", std::nullopt, 1);
    schedule.floor_ = reader.number("floor", 0.0, 0.0, 1.0);
  }
  schedule.warmup_ = reader.count("warmup", 0);
  reader.finish();
  return schedule;
}

double Schedule::factor(std::uint64_t examples) const {
  double course = 1.0;
  if (kind_ == Kind::kStep) {
    const std::uint64_t steps_down = examples / period_;
    course = std::pow(factor_, static_cast<double>(steps_down));
  } else if (kind_ == Kind::kCosine) {
    const double done = std::min(1.0, static_cast<double>(examples) / static_cast<double>(period_));
    course = floor_ + (1.0 - floor_) * (1.0 + std::cos(std::numbers::pi * done)) / 2.0;
  }
  if (examples < warmup_) {
    course *= static_cast<double>(examples) / static_cast<double>(warmup_);
  }
  return course;
}

double rate_scale(RateScale scale, std::uint64_t accepted, std::uint64_t nominal) {
  CHECK(nominal >= 1);
  if (scale == RateScale::kNone) {
    return 1.0;
  }
  const double ratio = static_cast<double>(accepted) / static_cast<double>(nominal);
  return scale == RateScale::kSqrt ? std::sqrt(ratio) : ratio;
}

}  // namespace outpace::update
