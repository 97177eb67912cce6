#include "runtime_model/model_list.h"

#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"
#include "runtime_model/random_weights_test.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(Catalogue, MakesEachOfItsModels) {
  const DeepWeights deep = random_weights(1);
  const DeepWeights joint = random_weights(1, joint_shape(2));
  for (const Entry& entry : catalogue()) {
    const DeepWeights& weights = takes(entry.name, joint.shape) ? joint : deep;
    const auto model = make_model(entry.name, 2, entry.fitted ? &weights : nullptr);
    model->observe(arrived({1.0, 2.0}));
    Forecast forecast;
    EXPECT_TRUE(model->forecast(forecast)) << entry.name;
    EXPECT_EQ(forecast.workers(), 2U);
  }
}

TEST(Catalogue, WhatIsFittedNeedsWeights) {
  EXPECT_EQ(refusal_of([] { (void)make_model("deep-joint", 4); }),
            "the runtime model 'deep-joint' needs a file of weights; make one with `outpace fit "
            "--model deep-joint`");
}

TEST(Catalogue, WhatIsFittedNeedsItsOwnWeightsAndAClusterOfTheirSize) {
  const DeepWeights deep = random_weights(1);
  const DeepWeights joint = random_weights(1, joint_shape(3));
  EXPECT_EQ(refusal_of([&] { (void)make_model("deep-joint", 3, &deep); }),
            "the runtime model 'deep-joint' cannot use weights of deep; say model=deep, or give "
            "another file");
  for (const char* name : {"deep", "auto"}) {
    EXPECT_EQ(refusal_of([&] { (void)make_model(name, 3, &joint); }),
              std::string("the runtime model '") + name +
                  "' cannot use weights of deep-joint; say model=deep-joint, or give another file");
  }
  EXPECT_EQ(refusal_of([&] { (void)make_model("deep-joint", 4, &joint); }),
            "the weights of 'deep-joint' were fitted to 3 workers, and there are 4; fit them to "
            "runtimes of this cluster, or use deep, which serves any");
}

TEST(Catalogue, NamesTheNearestModel) {
  EXPECT_EQ(refusal_of([] { (void)make_model("swiching", 4); }),
            "no runtime model is called 'swiching'; did you mean 'switching'?");
}

}  // namespace
}  // namespace outpace::runtime_model
