// Optimizers and corrections, kept and read again: they step as those that were not.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/kept_test.h"
#include "base/rng.h"
#include "update/correction.h"
#include "update/optimizer.h"

namespace outpace::update {
namespace {

constexpr std::size_t kKeptSize = 7;

std::vector<float> draw_kept(Rng& rng) {
  std::vector<float> values(kKeptSize);
  for (float& value : values) {
    value = static_cast<float>(rng.normal());
  }
  return values;
}

TEST(KeptOptimizer, StepsToTheSameBits) {
  std::vector<std::string> specs{"yellowfin:gamma=0.01,tau=3",
                                 "nesterov:over=delayed",
                                 "rmsprop:mu=0.9,centered=yes",
                                 "adagrad:lr_decay=0.1,initial=0.5"};
  for (const OptimizerDoc& doc : optimizers()) {
    specs.push_back(doc.name);
  }
  for (const std::string& spec : specs) {
    SCOPED_TRACE(spec);
    Rng rng(1, 0);
    const auto first = make_optimizer(Spec::parse(spec), kKeptSize);
    const auto second = make_optimizer(Spec::parse(spec), kKeptSize);
    // Seven updates are a round, and the cut is within one.
    const Step step{.rate = 0.01, .mean_weight = 1.0, .weight_decay = 0.001, .share = 1.0 / 7.0};
    std::vector<float> weights = draw_kept(rng);
    for (int i = 0; i < 30; ++i) {
      first->step(step, draw_kept(rng), weights);
    }
    copy_kept(*first, *second);
    std::vector<float> same = weights;
    for (int i = 0; i < 30; ++i) {
      const std::vector<float> gradient = draw_kept(rng);
      first->step(step, gradient, weights);
      second->step(step, gradient, same);
    }
    EXPECT_EQ(weights, same);
  }
}

TEST(KeptCorrection, CorrectsToTheSameBitsAfterAllWorkersCameAnew) {
  for (const std::string spec : {"gap", "dcasgd:form=constant", "dcasgd:form=adaptive", "dynsgd"}) {
    SCOPED_TRACE(spec);
    const StalenessRule rule = StalenessRule::parse(Spec::parse(spec));
    Rng rng(2, 0);
    const auto first = make_correction(rule, kKeptSize);
    const auto second = make_correction(rule, kKeptSize);
    const WorkerId worker{0};
    const auto live = [&](Correction& one, std::uint64_t seed) {
      Rng draws(seed, 0);
      std::vector<float> out;
      for (int i = 0; i < 10; ++i) {
        const auto before = std::make_shared<const std::vector<float>>(draw_kept(draws));
        one.released(worker, before);
        std::vector<float> gradient = draw_kept(draws);
        const std::vector<float> weights = draw_kept(draws);
        one.correct({.worker = worker, .examples = 3}, gradient, weights);
        one.stepped(*before, weights);
        out.insert(out.end(), gradient.begin(), gradient.end());
      }
      return out;
    };
    live(*first, 3);
    copy_kept(*first, *second);
    first->forget(worker);
    EXPECT_EQ(live(*first, 4), live(*second, 4));
  }
}

}  // namespace
}  // namespace outpace::update
