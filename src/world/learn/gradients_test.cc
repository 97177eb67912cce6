#include "learn/gradients.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/nn.h>
#include <torch/utils.h>

#include "base/error.h"
#include "base/permutation.h"
#include "base/temporary_directory_test.h"
#include "learn/dataset.h"
#include "learn/network.h"

namespace outpace::learn {
namespace {

using worker::GradientSource;

const std::array<std::string, 2>& networks() {
  static const std::array<std::string, 2> kNames{"mlp", "cnn"};
  return kNames;
}

std::unique_ptr<GradientSource> source(const std::string& network, std::uint64_t seed = 7) {
  return make_gradient_source(
      Spec::parse(network), Spec::parse("fashion-mnist"), LearnOptions{.seed = seed});
}

std::vector<std::uint64_t> examples(std::uint64_t begin, std::uint64_t end) {
  const Permutation order(60'000, 11, 0);
  std::vector<std::uint64_t> examples;
  for (std::uint64_t position = begin; position < end; ++position) {
    examples.push_back(order(position % order.size()));
  }
  return examples;
}

struct Result {
  double loss;
  std::vector<float> gradient;
};
Result gradient_of(GradientSource& source,
                   const std::vector<float>& weights,
                   const std::vector<std::uint64_t>& examples) {
  std::vector<float> gradient(source.manifest().numbers(), std::nanf(""));
  const auto loss = source.compute(weights, examples, gradient, {});
  return {loss.value(), gradient};
}

double largest_difference(const std::vector<float>& one, const std::vector<float>& other) {
  double largest = one.size() == other.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(one.size(), other.size()); ++i) {
    largest = std::max(largest, std::abs(double{one[i]} - double{other[i]}));
  }
  return largest;
}

// The same two networks as anybody would write them.
torch::nn::Sequential plain(const std::string& name, std::uint64_t seed) {
  torch::manual_seed(seed);
  torch::nn::Sequential network;
  const auto add_convolution = [&network](int from, int to) {
    network->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 3).padding(1)));
    network->push_back(torch::nn::ReLU());
    network->push_back(torch::nn::MaxPool2d(2));
  };
  if (name == "mlp") {
    network->push_back(torch::nn::Linear(784, 128));
    network->push_back(torch::nn::ReLU());
    network->push_back(torch::nn::Linear(128, 10));
  } else {
    add_convolution(1, 16);
    add_convolution(16, 32);
    add_convolution(32, 32);
    network->push_back(torch::nn::Flatten());
    network->push_back(torch::nn::Linear(288, 10));
  }
  return network;
}

// A training step in plain libtorch: the loss, and the gradient flattened.
Result plain_step(const std::string& name, std::uint64_t seed, std::vector<std::uint64_t> indices) {
  const auto dataset = load_dataset(Spec::parse("fashion-mnist"), Part::kTrain);
  const auto count = static_cast<std::int64_t>(indices.size());
  std::vector<float> pixels(indices.size() * 784);
  std::vector<std::int64_t> labels(indices.size());
  dataset->gather(indices, pixels, labels);
  torch::nn::Sequential network = plain(name, seed);
  const auto input = torch::from_blob(pixels.data(), {count, 1, 28, 28});
  const auto target = torch::from_blob(labels.data(), {count}, torch::kInt64);
  const auto output = network->forward(name == "mlp" ? input.view({count, 784}) : input);
  const auto loss = torch::nn::functional::cross_entropy(output, target);
  loss.backward();
  Result result{loss.item<double>(), {}};
  for (const auto& parameter : network->parameters()) {
    const auto flat = parameter.grad().contiguous();
    result.gradient.insert(
        result.gradient.end(), flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel());
  }
  return result;
}

// The first weights of nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)) after
// torch.manual_seed(5) in Python.
TEST(InitialWeights, AreThoseOfPyTorchInPython) {
  const auto weights = source("mlp", 5)->initial_weights();
  EXPECT_FLOAT_EQ(weights[0], 0.023589421063661575F);
  EXPECT_FLOAT_EQ(weights[1], -0.026706364005804062F);
  EXPECT_FLOAT_EQ(weights[784 * 128], 0.010922547429800034F);
  EXPECT_FLOAT_EQ(weights[101'770 - 10], -0.08359252661466599F);
}

TEST(InitialWeights, DependOnTheSeedAlone) {
  for (const std::string& network : networks()) {
    const auto one = source(network, 7);
    const auto first = one->initial_weights();
    (void)gradient_of(*one, std::vector<float>(first.size(), 0.5F), examples(0, 8));
    EXPECT_EQ(one->initial_weights(), first);
    EXPECT_EQ(source(network, 7)->initial_weights(), first);
    EXPECT_NE(source(network, 8)->initial_weights(), first);
  }
}

TEST(Gradient, InPartsIsTheSameToTheBitAndTellsOfEachTensorOnceTheLastFirst) {
  for (const std::string& network : networks()) {
    SCOPED_TRACE(network);
    const auto one = source(network);
    const auto weights = one->initial_weights();
    const std::vector<std::size_t> sizes = one->manifest().sizes();
    for (const std::uint64_t begin : {0U, 32U}) {  // Nothing of a pass is left in the next.
      const auto batch = examples(begin, begin + 32);
      const Result whole = gradient_of(*one, weights, batch);
      std::vector<float> gradient(weights.size(), std::nanf(""));
      std::vector<std::size_t> told;
      const double loss = one->compute_in_parts(weights, batch, gradient, [&](std::size_t tensor) {
        told.push_back(tensor);
        const auto first = static_cast<std::ptrdiff_t>(std::accumulate(
            sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(tensor), std::size_t{0}));
        const auto size = static_cast<std::ptrdiff_t>(sizes[tensor]);
        EXPECT_TRUE(std::equal(whole.gradient.begin() + first,
                               whole.gradient.begin() + first + size,
                               gradient.begin() + first));
      });
      EXPECT_EQ(loss, whole.loss);
      EXPECT_EQ(gradient, whole.gradient);
      ASSERT_EQ(told.size(), sizes.size());
      EXPECT_GE(told.front(), sizes.size() - 2);  // Weight or bias of the last layer.
      EXPECT_LE(told.back(), 1U);
      std::ranges::sort(told);
      for (std::size_t tensor = 0; tensor < told.size(); ++tensor) {
        EXPECT_EQ(told[tensor], tensor);
      }
    }
  }
}

TEST(Gradient, EqualsThatOfAPlainTrainingStep) {
  for (const std::string& network : networks()) {
    SCOPED_TRACE(network);
    const auto one = source(network);
    const auto ours = gradient_of(*one, one->initial_weights(), examples(0, 32));
    const auto theirs = plain_step(network, 7, examples(0, 32));
    EXPECT_EQ(ours.loss, theirs.loss);
    EXPECT_EQ(largest_difference(ours.gradient, theirs.gradient), 0.0);
  }
}

TEST(Gradient, OfABatchIsTheMeanOfItsPartsWeightedByExamples) {
  for (const std::string& network : networks()) {
    SCOPED_TRACE(network);
    const auto one = source(network);
    const auto weights = one->initial_weights();
    const auto whole = gradient_of(*one, weights, examples(0, 32));
    const auto first = gradient_of(*one, weights, examples(0, 24));
    const auto rest = gradient_of(*one, weights, examples(24, 32));
    std::vector<float> mean(weights.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] = 0.75F * first.gradient[i] + 0.25F * rest.gradient[i];
    }
    EXPECT_NEAR(0.75 * first.loss + 0.25 * rest.loss, whole.loss, 1e-6);
    EXPECT_LT(largest_difference(mean, whole.gradient), 1e-6);
  }
}

TEST(Gradient, NeitherChangesTheWeightsNorNeedsThemAfterwards) {
  const auto one = source("mlp");
  const auto initial = one->initial_weights();
  auto weights = std::make_unique<std::vector<float>>(initial);
  const auto first = gradient_of(*one, *weights, examples(0, 32));
  EXPECT_EQ(*weights, initial);
  weights.reset();
  EXPECT_EQ(gradient_of(*one, initial, examples(0, 32)).gradient, first.gradient);
}

// A text of the test's own, and a network for it.
class WrittenText {
 public:
  WrittenText() {
    std::string text;
    for (int i = 0; i < 2000; ++i) {
      text += static_cast<char>('a' + i * i % 7);
    }
    put(folder_ / "text", text);
  }
  [[nodiscard]] std::string spec() const {
    return "text:" + (folder_ / "text").string() + ",context=8";
  }

 private:
  TemporaryDirectory folder_;
};

// Cancelled at each poll in turn, until it is asked no more: every layer, forward and backward.
TEST(Cancelling, LeavesNothingAtEveryLayerAndTheNextGradientRight) {
  const WrittenText text;
  struct Case {
    std::string network;
    std::string data;
    int layers;
  };
  for (const Case& one : {Case{"mlp", "fashion-mnist", 3},
                          Case{"cnn", "fashion-mnist", 11},
                          Case{"resnet8", "fashion-mnist", 9},
                          Case{"charlm", text.spec(), 7}}) {
    SCOPED_TRACE(one.network);
    const auto computes =
        make_gradient_source(Spec::parse(one.network), Spec::parse(one.data), LearnOptions{});
    const auto weights = computes->initial_weights();
    const std::vector<std::uint64_t> here{3, 1, 4, 15};
    const std::vector<std::uint64_t> there{9, 2, 6, 5};
    const auto right = gradient_of(*computes, weights, here);
    std::vector<float> gradient(weights.size());
    int cancelled_at = 0;
    while (true) {
      int polls = 0;
      const auto loss =
          computes->compute(weights, there, gradient, [&] { return polls++ == cancelled_at; });
      EXPECT_EQ(gradient_of(*computes, weights, here).gradient, right.gradient);
      if (loss) {
        break;
      }
      EXPECT_EQ(polls, cancelled_at + 1);
      ++cancelled_at;
    }
    EXPECT_EQ(cancelled_at, 2 * one.layers);
  }
}

// A worker computes while only the weights that it waited for are there: the others are not
// numbers.
TEST(Gradient, OverlappedIsTheSameToTheBitAndWaitsForTheWeightsOfEachLayer) {
  const WrittenText text;
  for (const auto& [network, data] : {std::pair<std::string, std::string>{"mlp", "fashion-mnist"},
                                      {"cnn", "fashion-mnist"},
                                      {"resnet8", "fashion-mnist"},
                                      {"charlm", text.spec()}}) {
    SCOPED_TRACE(network);
    const auto one = make_gradient_source(Spec::parse(network), Spec::parse(data), LearnOptions{});
    const auto weights = one->initial_weights();
    const std::vector<std::uint64_t> batch{3, 1, 4, 15};
    const Result whole = gradient_of(*one, weights, batch);
    std::vector<float> arriving(weights.size(), std::nanf(""));
    std::vector<float> gradient(weights.size(), std::nanf(""));
    std::size_t there = 0;
    std::size_t waits = 0;
    std::size_t told = 0;
    const auto loss = one->compute_overlapped(
        arriving,
        batch,
        gradient,
        {.cancelled = [] { return false; },
         .wait_for =
             [&](std::size_t numbers) {
               EXPECT_GE(numbers, there);
               waits += numbers > there ? 1U : 0U;
               there = std::max(there, numbers);
               std::copy_n(weights.begin(), static_cast<std::ptrdiff_t>(there), arriving.begin());
               return GradientSource::Weights::kCame;
             },
         .ready = [&](std::size_t) { ++told; }});
    ASSERT_TRUE(loss.has_value());
    EXPECT_EQ(*loss, whole.loss);
    EXPECT_EQ(gradient, whole.gradient);
    EXPECT_EQ(there, weights.size());
    EXPECT_GE(waits, 2U) << "layer by layer";
    EXPECT_EQ(told, one->manifest().tensors.size());
  }
}

TEST(Gradient, OverlappedIsGivenUpWhereItWaitsAndBetweenTensorsAndLeavesNothing) {
  const auto one = source("cnn");
  const auto weights = one->initial_weights();
  const auto batch = examples(0, 32);
  const Result right = gradient_of(*one, weights, batch);
  const auto compute = [&](int waits, int tensors) {
    std::vector<float> gradient(weights.size());
    return one->compute_overlapped(weights,
                                   examples(32, 64),
                                   gradient,
                                   {.cancelled = [&] { return tensors <= 0; },
                                    .wait_for =
                                        [&](std::size_t) {
                                          return waits-- > 0 ? GradientSource::Weights::kThere
                                                             : GradientSource::Weights::kGivenUp;
                                        },
                                    .ready = [&](std::size_t) { --tensors; }});
  };
  constexpr int kMany = 100;
  for (const auto& [waits, tensors] :
       {std::pair{0, kMany}, {3, kMany}, {kMany, 1}, {kMany, 3}, {kMany, kMany}}) {
    EXPECT_EQ(compute(waits, tensors).has_value(), waits == kMany && tensors == kMany);
    std::vector<float> gradient(weights.size());
    (void)one->compute_in_parts(weights, batch, gradient, [](std::size_t) {});
    EXPECT_EQ(gradient, right.gradient);
  }
}

TEST(Gradient, IsTheSameWhetherOrNotItMayBeCancelled) {
  const auto one = source("cnn");
  const auto weights = one->initial_weights();
  std::vector<float> gradient(weights.size());
  ASSERT_TRUE(one->compute(weights, examples(0, 32), gradient, [] { return false; }));
  EXPECT_EQ(gradient, gradient_of(*one, weights, examples(0, 32)).gradient);
}

TEST(Training, LearnsFashionMnistInAFewHundredSteps) {
  for (const std::string& network : networks()) {
    SCOPED_TRACE(network);
    const auto one = source(network, 1);
    const auto evaluator =
        make_evaluator(Spec::parse(network), Spec::parse("fashion-mnist"), LearnOptions{.seed = 1});
    EXPECT_EQ(evaluator->manifest(), one->manifest());
    auto weights = one->initial_weights();
    const auto before = evaluator->evaluate(weights);
    EXPECT_LT(before.accuracy, 0.3);
    EXPECT_NEAR(*before.loss, std::log(10.0), 0.2);
    for (std::uint64_t step = 0; step < 300; ++step) {
      const auto batch = examples(32 * step, 32 * (step + 1));
      const auto result = gradient_of(*one, weights, batch);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] -= 0.1F * result.gradient[i];
      }
    }
    const auto after = evaluator->evaluate(weights);
    EXPECT_GT(after.accuracy, 0.7);
    EXPECT_LT(*after.loss, 0.9);
    EXPECT_EQ(evaluator->evaluate(weights).loss, after.loss);
  }
}

TEST(Training, OfResnet8LearnsAMinibatchByHeart) {
  const auto one = source("resnet8", 1);
  auto weights = one->initial_weights();
  const double before = gradient_of(*one, weights, examples(0, 16)).loss;
  EXPECT_NEAR(before, std::log(10.0), 0.5);
  for (int step = 0; step < 120; ++step) {
    const auto result = gradient_of(*one, weights, examples(0, 16));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] -= 0.1F * result.gradient[i];
    }
  }
  EXPECT_LT(gradient_of(*one, weights, examples(0, 16)).loss, before / 2.0);
}

TEST(Dataset, ThatIsUnknownIsRefused) {
  EXPECT_THROW(
      (void)make_gradient_source(Spec::parse("mlp"), Spec::parse("mnist-fashion"), LearnOptions{}),
      Error);
}

TEST(GradientSource, ChangesTrainingImagesByTheEpochAndTestImagesNever) {
  const Spec plain = Spec::parse("fashion-mnist");
  const Spec augmented = Spec::parse("fashion-mnist:augment=crop+flip");
  const Spec network = Spec::parse("mlp");
  const auto one = make_gradient_source(network, augmented, {.seed = 7});
  const auto other = make_gradient_source(network, plain, {.seed = 7});
  const std::vector<float> weights = one->initial_weights();
  const auto at_epoch = [&](GradientSource& source, std::uint64_t epoch) {
    source.begin_epoch(epoch);
    return gradient_of(source, weights, examples(0, 8)).gradient;
  };
  const std::vector<float> first = at_epoch(*one, 0);
  EXPECT_NE(at_epoch(*one, 1), first);
  EXPECT_EQ(at_epoch(*one, 0), first);
  EXPECT_NE(at_epoch(*other, 0), first);
  EXPECT_EQ(at_epoch(*other, 1), at_epoch(*other, 0));
  EXPECT_EQ(make_evaluator(network, augmented, {})->evaluate(weights).loss,
            make_evaluator(network, plain, {})->evaluate(weights).loss);
}

}  // namespace
}  // namespace outpace::learn
