#include "learn/transformer.h"

#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/temporary_directory_test.h"
#include "learn/charlm_twin_test.h"
#include "learn/gradients.h"
#include "learn/network.h"

namespace outpace::learn {
namespace {

// A text, in whose training part the n-th window of 6 characters begins at 6 n.
class Charlm : public testing::Test {
 protected:
  static constexpr std::size_t kContext = 6;

  void SetUp() override {
    for (int i = 0; i < 20; ++i) {
      text_ += "abcadceabdeebdac";
    }
    put(folder_ / "text", text_);
  }

  [[nodiscard]] Spec data() const {
    return Spec::parse("text:" + (folder_ / "text").string() +
                       ",context=" + std::to_string(kContext));
  }
  [[nodiscard]] std::vector<std::size_t> window(std::size_t index) const {
    std::vector<std::size_t> characters;
    for (std::size_t i = 0; i <= kContext; ++i) {
      characters.push_back(static_cast<std::size_t>(text_[index * kContext + i] - 'a'));
    }
    return characters;
  }
  // As different from each other as weights after a long training; the seed is the test's.
  static std::vector<float> random_weights(std::size_t count) {
    Rng rng(11, 0);
    std::vector<float> weights(count);
    for (float& weight : weights) {
      weight = static_cast<float>(rng.uniform() - 0.5);
    }
    return weights;
  }

  const TemporaryDirectory folder_;
  std::string text_;
};

TEST_F(Charlm, HasTheLossAndTheGradientOfItsTwin) {
  const auto source =
      make_gradient_source(Spec::parse("charlm:layers=2,width=8,heads=2"), data(), LearnOptions{});
  const std::vector<float> weights = random_weights(source->manifest().numbers());
  std::vector<float> gradient(weights.size());
  const auto loss =
      source->compute(weights, std::vector<std::uint64_t>{3, 5}, gradient, [] { return false; });
  const CharlmTwin twin(source->manifest(), 2, 2);
  std::vector<double> exact(weights.begin(), weights.end());
  const auto twin_loss = [&] {
    return (twin.loss(exact, window(3)) + twin.loss(exact, window(5))) / 2.0;
  };
  // Single precision: a few hundred roundings of 2^-24 each.
  constexpr double kRounding = 1e-5;
  EXPECT_NEAR(loss.value(), twin_loss(), kRounding);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    constexpr double kStep = 1e-5;  // Its error is near 1e-10, far below.
    const double weight = exact[i];
    exact[i] = weight + kStep;
    const double above = twin_loss();
    exact[i] = weight - kStep;
    const double below = twin_loss();
    exact[i] = weight;
    EXPECT_NEAR(double{gradient[i]}, (above - below) / (2.0 * kStep), kRounding) << "weight " << i;
  }
}

TEST_F(Charlm, DoesNotSeeWhatComesLater) {
  const Spec spec = Spec::parse("charlm:layers=3,width=16,heads=4");
  const DataShape shape = dataset_shape(data());
  Network network(spec, shape);
  const std::vector<float> weights = random_weights(network.manifest().numbers());
  network.use(weights);
  const at::NoGradGuard no_gradient;
  const at::Tensor characters = at::tensor({0.F, 1.F, 2.F, 3.F, 4.F, 0.F}).view({1, 6});
  const at::Tensor before = network.forward(characters, {});
  for (std::int64_t place = 0; place < 6; ++place) {
    const at::Tensor changed = characters.clone();
    changed[0][place] = 1.F + changed[0][place];
    changed.remainder_(5);
    const at::Tensor after = network.forward(changed, {});
    for (std::int64_t other = 0; other < 6; ++other) {
      EXPECT_EQ(after[other].equal(before[other]), other < place) << place << " at " << other;
    }
  }
}

TEST_F(Charlm, StartsAsGpt2Does) {
  const Spec spec = Spec::parse("charlm:layers=8,width=64,heads=4");
  const DataShape shape = dataset_shape(data());
  const auto weights = Network::initial_weights(spec, shape, 5);
  EXPECT_EQ(weights, Network::initial_weights(spec, shape, 5));
  EXPECT_NE(weights, Network::initial_weights(spec, shape, 6));
  const float* next = weights.data();
  for (const auto& tensor : network_manifest(spec, shape).tensors) {
    SCOPED_TRACE(tensor.name);
    const std::vector<std::int64_t> sizes(tensor.shape.begin(), tensor.shape.end());
    const at::Tensor values = at::from_blob(const_cast<float*>(next), sizes);
    next += values.numel();
    const bool added = tensor.name.find("projection.weight") != std::string::npos ||
                       tensor.name.find("down.weight") != std::string::npos;
    const double deviation = added ? 0.02 / std::sqrt(2.0 * 8) : 0.02;
    if (tensor.shape.size() == 2) {
      // Five standard errors of the estimate.
      const double error = 5.0 * deviation / std::sqrt(2.0 * static_cast<double>(values.numel()));
      EXPECT_NEAR(values.square().mean().sqrt().item<double>(), deviation, error);
    } else {
      const bool scale = tensor.name.ends_with("norm.weight");
      EXPECT_TRUE(values.equal(at::full(sizes, scale ? 1.0 : 0.0)));
    }
  }
}

TEST_F(Charlm, LearnsATextThatRepeatsItself) {
  const Spec network = Spec::parse("charlm:layers=1,width=16,heads=2");
  const auto source = make_gradient_source(network, data(), LearnOptions{});
  const auto evaluator = make_evaluator(network, data(), LearnOptions{});
  EXPECT_EQ(evaluator->manifest(), source->manifest());
  auto weights = source->initial_weights();
  const auto before = evaluator->evaluate(weights);
  EXPECT_NEAR(*before.loss, std::log(5.0), 0.05);
  std::vector<float> gradient(weights.size());
  for (std::uint64_t step = 0; step < 400; ++step) {
    std::vector<std::uint64_t> batch;
    for (std::uint64_t i = 0; i < 8; ++i) {
      batch.push_back((8 * step + i) % source->dataset_examples());
    }
    ASSERT_TRUE(source->compute(weights, batch, gradient, {}));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= 0.5F * gradient[i];
    }
  }
  const auto after = evaluator->evaluate(weights);
  EXPECT_LT(*after.loss, *before.loss / 2.0);
  EXPECT_GT(after.accuracy, 0.7);
  EXPECT_EQ(evaluator->evaluate(weights).loss, after.loss);
}

TEST(CharlmOptions, AreCheckedTogether) {
  const DataShape data{.kind = DataKind::kText, .height = 1, .width = 8, .classes = 9};
  const auto complaint = [&data](const std::string& text) {
    return error_of([&] { (void)network_manifest(Spec::parse(text), data); });
  };
  EXPECT_EQ(complaint("charlm:width=30,heads=4"),
            "2: network 'charlm': a width of 30 cannot be divided among 4 heads; make width a "
            "multiple of heads");
  EXPECT_EQ(complaint("charlm:layers=0"),
            "2: network 'charlm:layers=0': layers is '0'; it takes a whole number from 1 to 24");
  EXPECT_EQ(complaint("charlm:width=99999"),
            "2: network 'charlm:width=99999': width is '99999'; it takes a whole number from 1 to "
            "1024");
}

}  // namespace
}  // namespace outpace::learn
