#include "live/push_packer.h"

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "compress/pack.h"

namespace outpace::live {
namespace {

using protocol::Method;

// Tensors of 100, 3 and 60 numbers; the second one is a buffer.
const protocol::Manifest kThree{.tensors = {{.name = "a", .shape = {10, 10}},
                                            {.name = "mean", .shape = {3}},
                                            {.name = "b", .shape = {60}}}};
const protocol::Script kBuffers{
    .groups = {{.method = Method::kByServer, .rate = 1.0}, {.method = Method::kAverage}},
    .group_of = {0, 1, 0}};
constexpr std::size_t kAll = 163;

compress::Compression asked(std::string_view spec) {
  return compress::Compression::parse(spec);
}

protocol::Welcome welcome(const std::string& compress, bool counted = false) {
  return {.job = 1,
          .generation = 1,
          .needs_weights = false,
          .heartbeat = std::chrono::seconds(1),
          .seed = 1,
          .with_replacement = false,
          .compress = compress,
          .counted = counted};
}

// What the server makes of one push of `gradient`.
std::vector<float> sent(PushPacker& packer, std::span<const float> gradient) {
  std::vector<float> out(gradient.size());
  const auto keeper = std::make_shared<int>(0);
  for (const PushPacker::Part& part : packer.pack(0, gradient, keeper)) {
    const auto place = std::span(out).subspan(part.begin, part.payload.count());
    if (part.payload.packing()) {
      compress::unpack(part.payload.packing()->format, part.payload.bytes(), place);
    } else {
      std::ranges::copy(part.payload.numbers(), place.begin());
    }
  }
  return out;
}

std::vector<float> some_gradient(float scale) {
  std::vector<float> gradient(kAll);
  for (std::size_t i = 0; i < kAll; ++i) {
    gradient[i] = scale * std::sin(static_cast<float>(i));
  }
  return gradient;
}

// The tensors that are gradients add up to this.
double sum(std::span<const float> numbers) {
  return std::accumulate(numbers.begin(), numbers.begin() + 100, 0.0) +
         std::accumulate(numbers.begin() + 103, numbers.end(), 0.0);
}

TEST(PushPacker, DoesAsTheJobSaysUnlessItWasTold) {
  PushPacker by_job(std::nullopt, kThree, {});
  EXPECT_FALSE(by_job.packs());
  by_job.welcomed(welcome("int8"));
  EXPECT_TRUE(by_job.packs());
  by_job.welcomed(welcome("none"));  // Another server.
  EXPECT_FALSE(by_job.packs());
  PushPacker told(asked("none"), kThree, {});
  told.welcomed(welcome("int8"));
  EXPECT_FALSE(told.packs());
}

TEST(PushPacker, LeavesBuffersAsTheyAre) {
  PushPacker packer(asked("topk:share=0.01"), kThree, kBuffers);
  const std::vector<float> gradient = some_gradient(1.0F);
  const std::vector<float> got = sent(packer, gradient);
  EXPECT_TRUE(std::equal(got.begin() + 100, got.begin() + 103, gradient.begin() + 100));
  EXPECT_NE(got, gradient);
}

// A hundred pushes: two in three count. What they sent and what is left add up to their gradients.
TEST(PushPacker, WhatIsLeftBehindCountsLater) {
  PushPacker packer(asked("topk:share=0.01"), kThree, kBuffers);
  double arrived = 0.0;
  double counted = 0.0;
  for (std::uint64_t push = 1; push <= 100; ++push) {
    const std::vector<float> gradient = some_gradient(1.0F / static_cast<float>(push));
    const double came = sum(sent(packer, gradient));
    packer.pushed(Sequence{push}, {});
    const bool counts = push % 3 != 0;
    packer.judged(counts);
    arrived += counts ? came : 0.0;
    counted += counts ? sum(gradient) : 0.0;
  }
  const std::vector<float> nothing(kAll);
  double rest = 0.0;
  for (int push = 0; push < 200; ++push) {  // Enough for all that is left.
    rest += sum(sent(packer, nothing));
    packer.judged(true);
  }
  EXPECT_NEAR(arrived + rest, counted, 1e-3);
  EXPECT_GT(std::abs(counted - arrived), 1e-2) << "nothing was left behind: the test shows nothing";
}

TEST(PushPacker, AsksWhetherAPushCountedWhoseVerdictWasLost) {
  for (const bool counted : {false, true}) {
    PushPacker packer(asked("topk:share=0.01"), kThree, {});
    const std::vector<float> gradient = some_gradient(1.0F);
    const std::vector<float> first = sent(packer, gradient);
    packer.pushed(Sequence{7}, {});
    EXPECT_EQ(packer.unanswered(), Sequence{7});
    packer.welcomed(welcome("", counted));
    EXPECT_EQ(packer.unanswered(), Sequence{});
    const std::vector<float> second = sent(packer, std::vector<float>(kAll));
    if (counted) {  // The next largest numbers are left.
      EXPECT_NE(second, std::vector<float>(kAll));
      EXPECT_NE(second, first);
    } else {  // Nothing is: the gradient's examples went back.
      EXPECT_EQ(second, std::vector<float>(kAll));
    }
  }
}

TEST(PushPacker, SlicesOfALostConnectionDoNotCount) {
  PushPacker packer(asked("topk:share=0.01"), kThree, {});
  const std::vector<float> gradient = some_gradient(1.0F);
  (void)packer.pack(100, std::span(gradient).subspan(100), std::make_shared<int>(0));
  packer.welcomed(welcome("", /*counted=*/true));
  const std::vector<float> nothing(kAll);
  EXPECT_EQ(sent(packer, nothing), nothing);
}

TEST(PushPacker, GoesBackWithAServerThatWentBackToACheckpoint) {
  PushPacker packer(asked("topk:share=0.01"), kThree, {});
  packer.welcomed(welcome(""));
  const auto push = [&](std::uint64_t version, bool kept) {
    packer.released({.sequence = Sequence{version},
                     .version = Version{version},
                     .nominal = 1,
                     .may_keep_part = false,
                     .now = Time{},
                     .ranges = {{.epoch = 0, .begin = 0, .end = 1}},
                     .kept = kept});
    const std::vector<float> arrived = sent(packer, some_gradient(static_cast<float>(version)));
    packer.pushed(Sequence{version}, {});
    packer.judged(true);
    return arrived;
  };
  (void)push(1, false);
  const std::vector<float> second = push(2, true);
  const std::vector<float> third = push(3, false);
  protocol::Welcome restarted = welcome("");
  restarted.generation = 2;
  packer.welcomed(restarted);
  packer.welcomed(restarted);  // The connection was lost again, before a release came.
  EXPECT_EQ(push(2, false), second);
  EXPECT_EQ(push(3, false), third);
}

TEST(PushPacker, KeepsWhatIsLeftOfATensorThatDidNotCount) {
  PushPacker packer(asked("topk:share=0.01"), kThree, {});
  (void)sent(packer, some_gradient(1.0F));
  packer.pushed(Sequence{1}, {});
  packer.judged(true);
  PushPacker same = packer;
  const std::vector<float> nothing(kAll);
  const std::vector<float> once = sent(packer, nothing);
  packer.pushed(Sequence{2}, {0, 1, 2});  // Without any tensor.
  packer.judged(true);
  EXPECT_EQ(sent(packer, nothing), once);
  (void)sent(same, nothing);
  same.pushed(Sequence{2}, {});
  same.judged(true);
  EXPECT_NE(sent(same, nothing), once);
}

}  // namespace
}  // namespace outpace::live
