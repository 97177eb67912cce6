// Every runtime model, kept and read again: it forecasts as the one that was not.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/kept_test.h"
#include "base/rng.h"
#include "runtime_model/calibrating.h"
#include "runtime_model/deep.h"
#include "runtime_model/deep_joint.h"
#include "runtime_model/elfving.h"
#include "runtime_model/ewma.h"
#include "runtime_model/imputing.h"
#include "runtime_model/last.h"
#include "runtime_model/random_weights_test.h"
#include "runtime_model/seen_test.h"
#include "runtime_model/switching.h"

namespace outpace::runtime_model {
namespace {

constexpr std::uint32_t kKeptWorkers = 5;

std::unique_ptr<RuntimeModel> make_kept(const std::string& name) {
  if (name == "deep") {
    return std::make_unique<Deep>(random_weights(1));
  }
  if (name == "deep-joint") {
    return std::make_unique<DeepJoint>(random_weights(1, joint_shape(kKeptWorkers)));
  }
  if (name == "switching") {
    return std::make_unique<Switching>();
  }
  if (name == "ewma") {
    return std::make_unique<Ewma>();
  }
  if (name == "last") {
    return std::make_unique<Last>();
  }
  if (name == "elfving") {
    return std::make_unique<Elfving>(ElfvingFit::kCensored);
  }
  if (name == "calibrating") {
    return std::make_unique<Calibrating>(std::make_unique<Last>());
  }
  return std::make_unique<Imputing>(std::make_unique<Switching>(), Imputation::kTruncated);
}

// Iterations in which a worker is cut off, whose time comes late every other time.
void show_both(RuntimeModel& model, std::uint64_t seed, std::vector<double>& forecasts) {
  Rng rng(seed, 0);
  Forecast forecast;
  for (std::uint32_t i = 0; i < 40; ++i) {
    std::vector<Observation> seen = arrived(around({1.0, 1.2, 0.9, 2.0, 1.1}, 0.2, rng));
    const std::uint32_t slow = i % kKeptWorkers;
    seen[slow].fate = Fate::kLonger;
    model.observe(seen);
    if (i % 2 == 0) {
      model.correct(slow, seen[slow].seconds * 1.5);
    }
    ASSERT_TRUE(model.forecast(forecast));
    for (std::uint32_t worker = 0; worker < kKeptWorkers; ++worker) {
      forecasts.push_back(forecast.quantile(worker, 0.3));
      forecasts.push_back(forecast.cdf(worker, forecast.grid().position(1.3)));
    }
    for (const float rank : forecast.ranks()) {
      forecasts.push_back(rank);
    }
  }
}

class KeptModel : public testing::TestWithParam<std::string> {};

TEST_P(KeptModel, ForecastsToTheSameBits) {
  const auto first = make_kept(GetParam());
  const auto second = make_kept(GetParam());
  std::vector<double> ignored;
  show_both(*first, 1, ignored);
  copy_kept(*first, *second);
  std::vector<double> one;
  std::vector<double> other;
  show_both(*first, 2, one);
  show_both(*second, 2, other);
  EXPECT_EQ(one, other);
}

INSTANTIATE_TEST_SUITE_P(
    All,
    KeptModel,
    testing::Values(
        "deep", "deep-joint", "switching", "ewma", "last", "elfving", "calibrating", "imputing"));

}  // namespace
}  // namespace outpace::runtime_model
