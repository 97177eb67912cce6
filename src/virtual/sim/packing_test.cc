#include "sim/packing.h"

#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "compress/pack.h"

namespace outpace::sim {
namespace {

using compress::WeightsKind;

using Hundred = std::vector<float>;

constexpr WorkerId kFirstPacks{0};
constexpr WorkerId kSecondPacks{1};
constexpr std::size_t kWaveNumbers = 100;

Packing packing_of(const std::string& gradients, WeightsKind weights = WeightsKind::kNone) {
  return {.gradients = compress::Compression::parse(gradients), .weights = weights};
}

// For a hundred numbers.
Packer packer_of(const Packing& packing) {
  return Packer(packing, 2, sizeof(float) * kWaveNumbers);
}

Hundred wave(float scale) {
  Hundred numbers(kWaveNumbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = scale * std::sin(static_cast<float>(i + 1));
  }
  return numbers;
}

Packer::Weights weights_of(Hundred numbers) {
  return std::make_shared<const Hundred>(std::move(numbers));
}

// What the server gets of a gradient, packed with what is left of those before.
Hundred through_feedback(compress::Feedback& feedback, const Hundred& gradient) {
  std::vector<std::byte> bytes(compress::packed_bytes(feedback.format(), gradient.size()));
  feedback.pack(0, gradient, bytes);
  Hundred found(gradient.size());
  compress::unpack(feedback.format(), bytes, found);
  return found;
}

protocol::Verdict verdict_of(Sequence sequence, protocol::Outcome outcome) {
  return {.sequence = sequence, .outcome = outcome, .why = {}};
}

TEST(Packing, ChangesNothingUnlessAsked) {
  Packer packer = packer_of({});
  Hundred gradient = wave(1.0F);
  packer.pack(kFirstPacks, Sequence{1}, gradient);
  EXPECT_EQ(gradient, wave(1.0F));
  EXPECT_EQ(packer.unanswered(kFirstPacks), Sequence{});
  const Packer::Weights weights = weights_of(wave(2.0F));
  const Packer::Sent sent = packer.send(kFirstPacks, weights);
  EXPECT_EQ(sent.weights, weights);
  EXPECT_EQ(sent.bytes, 400.0);
  packer.received();
  EXPECT_EQ(packer.traffic().gradients, (protocol::Carried{1, kWaveNumbers, 400}));
  EXPECT_EQ(packer.traffic().weights, (protocol::Carried{1, kWaveNumbers, 400}));
}

// Blocks of 64 and 36 numbers, each with two bytes of scale.
TEST(Packing, CountsTheBytesOfPushes) {
  EXPECT_EQ(packer_of(packing_of("bf16")).gradient_bytes(), 200.0);
  EXPECT_EQ(packer_of(packing_of("int8")).gradient_bytes(), 104.0);
  EXPECT_EQ(packer_of(packing_of("int4")).gradient_bytes(), 54.0);
}

TEST(Packing, CountsTheBytesOfWeightsWithoutValues) {
  EXPECT_EQ(weights_bytes(WeightsKind::kNone, kWaveNumbers, false), 400U);
  EXPECT_EQ(weights_bytes(WeightsKind::kBf16, kWaveNumbers, true), 200U);
  EXPECT_EQ(weights_bytes(WeightsKind::kInt8, kWaveNumbers, true), 400U);
  EXPECT_EQ(weights_bytes(WeightsKind::kInt8, kWaveNumbers, false), 104U);
  EXPECT_EQ(weights_bytes(WeightsKind::kDelta, kWaveNumbers, true), 200U);
  // All have changed: a count, a bit for each number, and each number.
  EXPECT_EQ(weights_bytes(WeightsKind::kDelta, kWaveNumbers, false), 2U + 13U + 200U);
}

TEST(Packing, LeavesBehindWhatTheVerdictSays) {
  for (const auto outcome : {protocol::Outcome::kAccepted, protocol::Outcome::kDropped}) {
    Packer packer = packer_of(packing_of("int8"));
    compress::Feedback expected(compress::Compression::parse("int8"), kWaveNumbers);
    for (std::uint64_t release = 1; release <= 3; ++release) {
      Hundred gradient = wave(static_cast<float>(release));
      const Hundred right = through_feedback(expected, gradient);
      packer.pack(kFirstPacks, Sequence{release}, gradient);
      EXPECT_EQ(gradient, right);
      EXPECT_EQ(packer.unanswered(kFirstPacks), Sequence{release});
      packer.judged(kFirstPacks, verdict_of(Sequence{release - 1}, outcome));  // An older push's.
      EXPECT_EQ(packer.unanswered(kFirstPacks), Sequence{release});
      packer.judged(kFirstPacks, verdict_of(Sequence{release}, outcome));
      EXPECT_EQ(packer.unanswered(kFirstPacks), Sequence{});
      if (outcome == protocol::Outcome::kAccepted) {
        expected.accepted();
      } else {
        expected.given_up();
      }
    }
  }
}

// What is left outlasts a connection, and not the process.
TEST(Packing, OfAWorkerThatComesAgain) {
  for (const bool counted : {true, false}) {
    Packer packer = packer_of(packing_of("int8"));
    compress::Feedback expected(compress::Compression::parse("int8"), kWaveNumbers);
    Hundred gradient = wave(1.0F);
    (void)through_feedback(expected, gradient);
    packer.pack(kFirstPacks, Sequence{1}, gradient);
    packer.connected(kFirstPacks, counted);
    if (counted) {
      expected.accepted();
    } else {
      expected.given_up();
    }
    Hundred next = wave(0.3F);
    const Hundred right = through_feedback(expected, next);
    packer.pack(kFirstPacks, Sequence{2}, next);
    EXPECT_EQ(next, right);
    packer.settle(kFirstPacks, true);
    packer.started(kFirstPacks);
    Hundred last = wave(0.3F);
    compress::Feedback fresh(compress::Compression::parse("int8"), kWaveNumbers);
    const Hundred of_fresh = through_feedback(fresh, last);
    packer.pack(kFirstPacks, Sequence{3}, last);
    EXPECT_EQ(last, of_fresh);
  }
}

TEST(Packing, SendsWeightsAgainstWhatTheConnectionHasCarried) {
  for (const WeightsKind kind : {WeightsKind::kBf16, WeightsKind::kInt8, WeightsKind::kDelta}) {
    Packer packer = packer_of(packing_of("none", kind));
    Hundred has;
    std::uint64_t bytes = 0;
    const auto expect = [&](WorkerId worker, const Hundred& weights) {
      Hundred now(kWaveNumbers);
      const std::vector<std::byte> packed = compress::pack_weights(kind, has, weights, now);
      Hundred right(kWaveNumbers);
      compress::unpack_weights(kind, packed, has, right);
      const Packer::Sent sent = packer.send(worker, weights_of(weights));
      EXPECT_EQ(*sent.weights, right);
      EXPECT_EQ(sent.bytes, static_cast<double>(packed.size()));
      has = right;
      bytes += packed.size();
    };
    expect(kFirstPacks, wave(1.0F));
    expect(kFirstPacks, wave(1.01F));
    packer.connected(kFirstPacks, false);
    has.clear();
    expect(kFirstPacks, wave(1.02F));
    has.clear();
    expect(kSecondPacks, wave(1.02F));
    EXPECT_EQ(packer.traffic().weights, (protocol::Carried{4, 4 * kWaveNumbers, bytes}));
    packer.server_began();
    EXPECT_EQ(packer.traffic(), protocol::Traffic{});
  }
}

TEST(Packing, PacksOnceForWorkersThatHaveTheSame) {
  Packer packer = packer_of(packing_of("none", WeightsKind::kInt8));
  for (const float scale : {1.0F, 1.5F}) {
    const Packer::Weights weights = weights_of(wave(scale));
    const Packer::Weights first = packer.send(kFirstPacks, weights).weights;
    EXPECT_EQ(packer.send(kSecondPacks, weights).weights, first);
  }
  packer.connected(kSecondPacks, false);
  const Packer::Weights weights = weights_of(wave(2.0F));
  const Packer::Weights first = packer.send(kFirstPacks, weights).weights;
  EXPECT_NE(*packer.send(kSecondPacks, weights).weights, *first) << "it has nothing yet";
}

}  // namespace
}  // namespace outpace::sim
