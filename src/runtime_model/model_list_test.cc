#include "runtime_model/model_list.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime_model/random_weights_test.h"
#include "runtime_model/seen_test.h"

namespace outpace::runtime_model {
namespace {

TEST(Catalogue, MakesEachOfItsModels) {
  const DeepWeights weights = random_weights(1);
  for (const Entry& entry : catalogue()) {
    const auto model = make_model(entry.name, entry.fitted ? &weights : nullptr);
    model->observe(arrived({1.0, 2.0}));
    Forecast forecast;
    EXPECT_TRUE(model->forecast(forecast)) << entry.name;
    EXPECT_EQ(forecast.workers(), 2U);
  }
}

TEST(Catalogue, WhatIsFittedNeedsWeights) {
  try {
    (void)make_model("deep");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the runtime model 'deep' needs a file of weights; make one with `outpace fit`");
  }
}

TEST(Catalogue, NamesTheNearestModel) {
  try {
    (void)make_model("swiching");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "no runtime model is called 'swiching'; did you mean 'switching'?");
  }
}

}  // namespace
}  // namespace outpace::runtime_model
