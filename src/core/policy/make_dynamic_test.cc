#include "policy/make_dynamic.h"

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::policy {
namespace {

TEST(MakeDynamic, MakesADeepCutoffOfWeightsAlone) {
  EXPECT_NE(refusal_of([] {
              (void)make_policy(Spec::parse("dynamic:deep"), 8);
            }).find("'deep' needs a file"),
            std::string::npos);
  runtime_model::DeepWeights weights;
  for (const runtime_model::DeepTensor& tensor : runtime_model::deep_tensors(weights.shape)) {
    weights.numbers.resize(weights.numbers.size() + tensor.numbers(), 0.0F);
  }
  const auto fitted = std::make_shared<const runtime_model::DeepWeights>(weights);
  for (const char* spec : {"dynamic:deep", "switch(sync until updates>9 then dynamic:deep)"}) {
    EXPECT_EQ(make_policy(Spec::parse(spec), 8, {.fitted = fitted})->nominal_cutoff(8), 8U) << spec;
  }
}

}  // namespace
}  // namespace outpace::policy
