#include "live/paced_source.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

std::unique_ptr<worker::GradientSource> paced(std::vector<double> seconds) {
  return make_paced_source({.manifest = {{{.name = "weight", .shape = {3}}}},
                            .dataset_examples = 100,
                            .batch = 8,
                            .seconds = std::move(seconds),
                            .worker = WorkerId{1},
                            .seed = 1});
}

TEST(PacedSource, WaitsForItsShareOfAnIteration) {
  const auto source = paced({0.04});
  const std::vector<float> weights(3);
  const std::vector<std::uint64_t> examples(4);  // Half of a mini-batch.
  std::vector<float> gradient(3);
  const auto begun = steady_clock::now();
  EXPECT_TRUE(source->compute(weights, examples, gradient, [] { return false; }).has_value());
  // A busy machine wakes it later, never sooner.
  EXPECT_GE(steady_clock::now() - begun, std::chrono::milliseconds(20));
  EXPECT_GT(gradient[2], 0.0F);
}

TEST(PacedSource, MakesUpForBeingWokenLate) {
  const auto source = paced({0.005});
  const std::vector<float> weights(3);
  const std::vector<std::uint64_t> examples(8);
  std::vector<float> gradient(3);
  const auto pass = [&] {
    const auto begun = steady_clock::now();
    (void)source->compute(weights, examples, gradient, [] { return false; });
    return steady_clock::now() - begun;
  };
  constexpr auto kWhole = std::chrono::milliseconds(5);
  constexpr auto kMost = std::chrono::microseconds(200);
  EXPECT_GE(pass(), kWhole);  // Nothing was late before.
  // Sooner or later a pass is woken less late than the one before it, and so takes less than 5 ms.
  auto shortest = steady_clock::duration::max();
  for (int passes = 0; passes < 2000 && shortest >= kWhole; ++passes) {
    shortest = std::min(shortest, pass());
  }
  EXPECT_LT(shortest, kWhole);
  EXPECT_GE(shortest, kWhole - kMost);
}

TEST(PacedSource, TellsOfTensorsFromTheLastToTheFirstWhileItWaits) {
  constexpr auto kWhole = std::chrono::milliseconds(80);
  const auto source = make_paced_source({.manifest = {{{.name = "a", .shape = {2}},
                                                       {.name = "b", .shape = {2}},
                                                       {.name = "c", .shape = {1}}}},
                                         .dataset_examples = 100,
                                         .batch = 8,
                                         .seconds = {0.08},
                                         .backward_share = 0.5,
                                         .worker = WorkerId{1},
                                         .seed = 1});
  const std::vector<float> weights(5);
  const std::vector<std::uint64_t> examples(8);
  std::vector<float> gradient(5);
  std::vector<std::size_t> tensors;
  std::vector<steady_clock::duration> since;
  const auto begun = steady_clock::now();
  (void)source->compute_in_parts(weights, examples, gradient, [&](std::size_t tensor) {
    tensors.push_back(tensor);
    since.push_back(steady_clock::now() - begun);
  });
  EXPECT_EQ(tensors, (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_GE(since.at(0), kWhole / 2);
  EXPECT_GE(since.at(1), kWhole * 3 / 4);
  EXPECT_GE(since.at(2), kWhole);
}

// Three layers, the second without weights.
std::unique_ptr<worker::GradientSource> layered() {
  return make_paced_source({.manifest = {{{.name = "a", .shape = {2}},
                                          {.name = "b", .shape = {2}},
                                          {.name = "c", .shape = {1}}}},
                            .dataset_examples = 100,
                            .batch = 8,
                            .seconds = {0.08},
                            .layers = {{.forward = 0.125, .backward = 0.25, .tensors = 2},
                                       {.forward = 0.125, .backward = 0.125, .tensors = 0},
                                       {.forward = 0.125, .backward = 0.25, .tensors = 1}},
                            .worker = WorkerId{1},
                            .seed = 1});
}

TEST(PacedSource, BeginsALayerWhenItsWeightsAreThereAndEndsEachAtItsTime) {
  using Weights = worker::GradientSource::Weights;
  constexpr auto kWhole = std::chrono::milliseconds(80);
  constexpr auto kLate = std::chrono::milliseconds(40);
  const std::vector<float> weights(5);
  const std::vector<std::uint64_t> examples(8);
  std::vector<float> gradient(5);
  std::vector<std::size_t> needed;
  std::vector<std::size_t> tensors;
  std::vector<steady_clock::duration> since;
  const auto begun = steady_clock::now();
  const auto loss = layered()->compute_overlapped(
      weights,
      examples,
      gradient,
      {.cancelled = [] { return false; },
       .wait_for =
           [&](std::size_t numbers) {
             needed.push_back(numbers);
             if (numbers < weights.size()) {
               return Weights::kThere;
             }
             std::this_thread::sleep_until(begun + kLate);  // By then layers 1 and 2 have passed.
             return Weights::kCame;
           },
       .ready =
           [&](std::size_t tensor) {
             tensors.push_back(tensor);
             since.push_back(steady_clock::now() - begun);
           }});
  EXPECT_TRUE(loss.has_value());
  EXPECT_EQ(needed, (std::vector<std::size_t>{4, 5}));
  EXPECT_EQ(tensors, (std::vector<std::size_t>{2, 1, 0}));
  EXPECT_GE(since.at(0), kLate + kWhole * 3 / 8);
  EXPECT_GE(since.at(1), kLate + kWhole * 6 / 8);
  EXPECT_EQ(gradient, std::vector<float>(5, gradient[0]));
}

TEST(PacedSource, GivesUpALayerWhoseWeightsDoNotCome) {
  const std::vector<float> weights(5);
  const std::vector<std::uint64_t> examples(8);
  std::vector<float> gradient(5);
  EXPECT_FALSE(
      layered()
          ->compute_overlapped(
              weights,
              examples,
              gradient,
              {.cancelled = {},
               .wait_for = [](std::size_t) { return worker::GradientSource::Weights::kGivenUp; },
               .ready = [](std::size_t) { ADD_FAILURE(); }})
          .has_value());
}

TEST(PacedSource, GivesUpInTheMiddle) {
  const auto source = paced({1e6});
  const std::vector<float> weights(3);
  const std::vector<std::uint64_t> examples(8);
  std::vector<float> gradient(3);
  int looks = 0;
  EXPECT_FALSE(
      source->compute(weights, examples, gradient, [&looks] { return ++looks == 3; }).has_value());
  EXPECT_EQ(looks, 3);
}

}  // namespace
}  // namespace outpace::live
