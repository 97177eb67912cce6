#include "protocol/codec.h"

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/stubs/common.h>
#include <gtest/gtest.h>
#include <outpace.pb.h>

#include "base/error.h"
#include "base/rng.h"
#include "protocol/random_messages_test.h"

namespace outpace::protocol {
namespace {

// The error's line; empty if the bytes decode.
std::string refusal(const std::string& bytes) {
  try {
    static_cast<void>(decode(bytes));
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    return error.what();
  }
  return "";
}
std::string refusal(const Message& message, std::uint64_t payload_numbers = 0) {
  return refusal(encode(message, payload_numbers));
}

// A decoded frame again as bytes: what was taken must be well formed, or this fails.
std::string encode_again(const Frame& frame) {
  return encode(frame.message, frame.payload_numbers);
}

TEST(Codec, GivesBackEveryMessageAsItWas) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Message message = RandomMessages(seed).next();
    const std::uint64_t numbers = carries_payload(message) ? seed : 0;
    const Frame frame = decode(encode(message, numbers));
    EXPECT_TRUE(frame.message == message) << name(message);
    EXPECT_EQ(frame.payload_numbers, numbers);
  }
}

TEST(Codec, TellsAWorkerThatItWasPresumedDead) {
  const Stop stop{.how = Farewell::kPresumedDead, .why = "silent for 5 s"};
  EXPECT_TRUE(decode(encode(stop, 0)).message == Message(stop));
}

TEST(Codec, RefusesOrUnderstandsEveryTruncatedFrame) {
  const google::protobuf::LogSilencer silence;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const std::string bytes = encode(RandomMessages(seed).next(), 0);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const std::string part = bytes.substr(0, size);
      if (refusal(part).empty()) {
        EXPECT_EQ(refusal(encode_again(decode(part))), "");
      }
    }
  }
}

TEST(Codec, RefusesOrUnderstandsEveryFrameWithFlippedBits) {
  const google::protobuf::LogSilencer silence;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, 1);
    std::string bytes = encode(RandomMessages(seed).next(), 0);
    for (int flips = 0; flips < 20; ++flips) {
      char& byte = bytes[rng.below(bytes.size())];
      byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << rng.below(8)));
      if (refusal(bytes).empty()) {
        EXPECT_EQ(refusal(encode_again(decode(bytes))), "");
      }
    }
  }
}

TEST(Codec, RefusesOrUnderstandsNoise) {
  const google::protobuf::LogSilencer silence;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, 2);
    std::string bytes(rng.below(200), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(rng.below(256));
    }
    if (!bytes.empty() && seed % 2 == 0) {  // Half of it begins as a real frame does.
      bytes[0] = static_cast<char>((1 + rng.below(15)) << 3U | 2U);
    }
    static_cast<void>(refusal(bytes));
  }
}

TEST(Codec, RefusesFramesAboveTheLimit) {
  const std::string bytes(kFrameBytesMax + 1, '\0');
  EXPECT_EQ(refusal(bytes), "frame takes more than 8 MiB");
}

TEST(Codec, RefusesAFrameWithoutAMessage) {
  EXPECT_EQ(refusal(std::string()), "frame holds no message that we know");
  EXPECT_EQ(refusal(std::string("\xc2\x3e\x00", 3)), "frame holds no message that we know");
}

TEST(Codec, IgnoresFieldsThatItDoesNotKnow) {
  // Field 1000, as a later version may send it.
  const Frame frame = decode(encode(Heartbeat{}, 0) + std::string("\xc2\x3e\x01x", 4));
  EXPECT_TRUE(std::holds_alternative<Heartbeat>(frame.message));
}

TEST(Codec, RefusesAPayloadOnAMessageThatHasNone) {
  pb::Frame frame;
  frame.mutable_heartbeat();
  frame.set_payload_numbers(1);
  EXPECT_EQ(refusal(frame.SerializeAsString()), "heartbeat must not have a payload");
}

TEST(Codec, RefusesAPayloadAboveTheLimit) {
  EXPECT_EQ(refusal(InitialWeights{}, kWeightsMax), "");
  EXPECT_EQ(refusal(InitialWeights{}, kWeightsMax + 1),
            "initial_weights has a payload above 2^32 numbers");
}

TEST(Codec, CutsTextsForPeopleBetweenLetters) {
  const std::string letters = std::string(kTextMax - 1, 'a') + "\xc3\xa4\xc3\xa4";  // Two umlauts.
  const Frame frame = decode(encode(Stop{.how = Farewell::kFailed, .why = letters}, 0));
  EXPECT_EQ(std::get<Stop>(frame.message).why, std::string(kTextMax - 1, 'a'));
}

TEST(Codec, DoesNotSendAManifestThatFillsMoreThanAFrame) {
  Observe observe;
  for (int i = 0; i < 9000; ++i) {
    observe.manifest.tensors.push_back(
        {.name = std::to_string(i) + std::string(1000, 'n'), .shape = {1}});
  }
  EXPECT_THROW(static_cast<void>(encode(observe, 0)), Error);
}

// ---- Field by field ---------------------------------------------------------------------------

Hello a_hello(Manifest manifest = {.tensors = {{.name = "w", .shape = {2}}}}) {
  return {.worker = WorkerId{0},
          .process = 1,
          .host = "here",
          .dataset_examples = 1,
          .manifest = std::move(manifest)};
}
Push a_push() {
  return {.id = {.job = 1,
                 .generation = 1,
                 .worker = WorkerId{2},
                 .incarnation = 1,
                 .sequence = Sequence{3}},
          .examples = 32,
          .partial = false,
          .loss = 0.5,
          .compute_seconds = 0.1};
}
// The refusal of a slice of a gradient of 8 numbers.
std::string said_of_slice(std::uint64_t begin, std::uint64_t numbers, std::uint64_t whole = 8) {
  return refusal(Slice{.sequence = Sequence{3}, .begin = begin, .whole = whole}, numbers);
}
Release a_release(Ranges ranges = {{.epoch = 0, .begin = 0, .end = 32}}) {
  return {.sequence = Sequence{1},
          .version = Version{2},
          .nominal = 32,
          .may_keep_part = false,
          .now = Time{},
          .ranges = std::move(ranges)};
}

TEST(Codec, ChecksTheFieldsOfHello) {
  EXPECT_EQ(refusal(a_hello()), "");
  Hello hello = a_hello();
  hello.worker = WorkerId{kWorkersMax};
  EXPECT_EQ(refusal(hello), "hello.worker must be below 65536");
  hello = a_hello();
  hello.dataset_examples = 0;
  EXPECT_EQ(refusal(hello), "hello.dataset_examples must be at least 1");

  pb::Frame frame;
  frame.mutable_hello()->set_dataset_examples(1);
  frame.mutable_hello()->set_host(std::string(kTextMax + 1, 'h'));
  EXPECT_EQ(refusal(frame.SerializeAsString()), "hello.host is longer than 1024 bytes");
}

TEST(Codec, ChecksWhereASliceLies) {
  EXPECT_EQ(said_of_slice(6, 2), "");
  EXPECT_EQ(said_of_slice(1, 7), "");
  EXPECT_EQ(said_of_slice(0, 8), "slice.begin must be at least 1: the front comes with the push");
  EXPECT_EQ(said_of_slice(6, 0), "slice must have a payload");
  EXPECT_EQ(said_of_slice(6, 3), "slice goes beyond the end of its gradient");
  EXPECT_EQ(said_of_slice(8, 1), "slice goes beyond the end of its gradient");
  EXPECT_EQ(said_of_slice(~std::uint64_t{0}, 2), "slice goes beyond the end of its gradient");
  EXPECT_EQ(said_of_slice(1, 1, kWeightsMax), "");
  EXPECT_EQ(said_of_slice(1, 1, kWeightsMax + 1), "slice.whole is above 2^32 numbers");
  const Slice slice{.sequence = Sequence{3}, .begin = 6, .whole = 8};
  EXPECT_TRUE(decode(encode(slice, 2)).message == Message(slice));
}

TEST(Codec, ChecksTheManifest) {
  const auto said = [](Manifest manifest) { return refusal(a_hello(std::move(manifest))); };
  const std::uint64_t most = kWeightsMax;
  EXPECT_EQ(said({.tensors = {{.name = "w", .shape = {most}}}}), "");
  EXPECT_EQ(said({.tensors = {{.name = "w", .shape = {most}}, {.name = "b", .shape = {}}}}),
            "hello.manifest has more than 2^32 numbers");
  EXPECT_EQ(said({.tensors = {{.name = "w", .shape = {most, most}}}}),
            "hello.manifest has more than 2^32 numbers");
  EXPECT_EQ(said({}), "hello.manifest has no tensors");
  EXPECT_EQ(said({.tensors = {{.name = "w", .shape = {2, 0}}}}),
            "hello.manifest holds a tensor with an extent of 0");
  EXPECT_EQ(said({.tensors = {{.name = "w", .shape = std::vector<std::uint64_t>(17, 1)}}}),
            "hello.manifest holds a tensor of rank above 16");
  EXPECT_EQ(said({.tensors = {{.name = "", .shape = {1}}}}),
            "hello.manifest holds a tensor without a name");
  EXPECT_EQ(said({.tensors = {{.name = std::string(kTextMax + 1, 'n'), .shape = {1}}}}),
            "hello.manifest.name is longer than 1024 bytes");
  EXPECT_EQ(said({.tensors = {{.name = "w", .shape = {1}}, {.name = "w", .shape = {1}}}}),
            "hello.manifest names a tensor twice");
  EXPECT_EQ(refusal(Observe{.manifest = {}}), "observe.manifest has no tensors");
}

TEST(Codec, RefusesTooManyTensorsWithoutReadingThemAll) {
  // Each takes two bytes: were all of them read first, 8 MiB would become hundreds.
  pb::Frame frame;
  std::string& manifest = *frame.mutable_hello()->mutable_manifest();
  for (std::uint32_t i = 0; i <= kTensorsMax; ++i) {
    const std::string tensor_name = std::to_string(i);
    manifest.append({'\x0a', static_cast<char>(tensor_name.size() + 2), '\x0a'});
    manifest.append(1, static_cast<char>(tensor_name.size())).append(tensor_name);
  }
  frame.mutable_hello()->set_dataset_examples(1);
  EXPECT_EQ(refusal(frame.SerializeAsString()), "hello.manifest has more than 65536 tensors");
}

TEST(Codec, ChecksTheFieldsOfPush) {
  EXPECT_EQ(refusal(a_push(), 5), "");
  const std::vector<std::pair<std::function<void(Push&)>, std::string>> cases = {
      {[](Push& push) { push.id.worker = WorkerId{kWorkersMax}; },
       "push.id.worker must be below 65536"},
      {[](Push& push) { push.examples = 0; }, "push.examples must be at least 1"},
      {[](Push& push) { push.loss = std::nan(""); }, "push.loss must be finite"},
      {[](Push& push) { push.compute_seconds = std::numeric_limits<double>::infinity(); },
       "push.compute_seconds must be finite"},
      {[](Push& push) { push.compute_seconds = -1; }, "push.compute_seconds must not be negative"},
  };
  for (const auto& [spoil, line] : cases) {
    Push push = a_push();
    spoil(push);
    EXPECT_EQ(refusal(push), line);
  }
  pb::Frame frame;
  frame.mutable_push()->set_examples(1);
  EXPECT_EQ(refusal(frame.SerializeAsString()), "push.id is missing");
  frame.mutable_abandoned();
  EXPECT_EQ(refusal(frame.SerializeAsString()), "abandoned.id is missing");
}

TEST(Codec, ChecksTheFieldsOfRelease) {
  EXPECT_EQ(refusal(a_release()), "");
  EXPECT_EQ(refusal(a_release({})), "release.ranges must not be empty");
  EXPECT_EQ(refusal(a_release({{.epoch = 0, .begin = 5, .end = 5}})),
            "release.ranges hold one that is empty");
  EXPECT_EQ(refusal(a_release({{.epoch = 0, .begin = 6, .end = 5}})),
            "release.ranges hold one that is empty");
  EXPECT_EQ(refusal(a_release(
                {{.epoch = 0, .begin = 0, .end = UINT32_MAX}, {.epoch = 1, .begin = 0, .end = 1}})),
            "release.ranges hold more than 2^32 - 1 examples");
  EXPECT_EQ(refusal(a_release(Ranges(kRangesMax, {.epoch = 0, .begin = 0, .end = 1}))), "");
  EXPECT_EQ(refusal(a_release(Ranges(kRangesMax + 1, {.epoch = 0, .begin = 0, .end = 1}))),
            "release.ranges are more than 4096");
  Release release = a_release();
  release.nominal = 0;
  EXPECT_EQ(refusal(release), "release.nominal must be at least 1");
  release = a_release();
  release.now = Time{Duration{-1}};
  EXPECT_EQ(refusal(release), "release.now must not be negative");

  pb::Frame frame;
  frame.mutable_release()->set_nominal(1);
  frame.mutable_release()->add_ranges(1);
  EXPECT_EQ(refusal(frame.SerializeAsString()), "release.ranges must be triples");
}

TEST(Codec, ChecksWhatAReleaseTellsOfTheNext) {
  Release release = a_release();
  release.ahead = {{{.epoch = 0, .begin = 1, .end = 2}, {.epoch = 1, .begin = 0, .end = 3}},
                   {{.epoch = 1, .begin = 3, .end = 9}}};
  EXPECT_EQ(refusal(release), "");
  release.ahead[1].front().end = 3;
  EXPECT_EQ(refusal(release), "release.ahead holds a range that is empty or too large");
  release.ahead.assign(kAheadMax + 1, {{.epoch = 0, .begin = 0, .end = 1}});
  EXPECT_EQ(refusal(release), "release.ahead is of more than 256 releases");
  release.ahead.assign(1, Ranges(kRangesMax + 1, {.epoch = 0, .begin = 0, .end = 1}));
  EXPECT_EQ(refusal(release), "release.ahead is of more than 4096 ranges");

  const auto refused = [](const std::vector<std::uint64_t>& numbers) {
    pb::Frame frame;
    pb::Release& out = *frame.mutable_release();
    out.set_nominal(1);
    for (const std::uint64_t number : {0U, 0U, 1U}) {
      out.add_ranges(number);
    }
    out.mutable_ahead()->Add(numbers.begin(), numbers.end());
    return refusal(frame.SerializeAsString());
  };
  EXPECT_EQ(refused({0, 0, 1, 2}), "");
  EXPECT_EQ(refused({0, 0, 1}), "release.ahead must be fourfold");
  EXPECT_EQ(refused({1, 0, 1, 2}), "release.ahead is not in order");
  EXPECT_EQ(refused({0, 0, 1, 2, 2, 0, 1, 2}), "release.ahead is not in order");
}

TEST(Codec, ChecksTheOtherMessages) {
  Measurement measurement{.version = Version{1}, .accuracy = 1.5, .loss = 0.1};
  EXPECT_EQ(refusal(measurement), "measurement.accuracy must lie in [0, 1]");
  measurement.accuracy = std::nan("");
  EXPECT_EQ(refusal(measurement), "measurement.accuracy must lie in [0, 1]");
  measurement = {.version = Version{1}, .accuracy = 1, .loss = std::nan("")};
  EXPECT_EQ(refusal(measurement), "measurement.loss must be finite");
  EXPECT_EQ(refusal(Welcome{}), "welcome.heartbeat must be above 0");
  EXPECT_EQ(refusal(Welcome{.heartbeat = std::chrono::seconds(1), .incarnation = 0}),
            "welcome.incarnation must be at least 1");

  pb::Frame frame;
  frame.mutable_verdict();
  EXPECT_EQ(refusal(frame.SerializeAsString()), "verdict.outcome is not one that we know");
  frame.mutable_verdict()->set_outcome(static_cast<pb::Outcome>(4));
  EXPECT_EQ(refusal(frame.SerializeAsString()), "verdict.outcome is not one that we know");
  frame.mutable_stop();
  EXPECT_EQ(refusal(frame.SerializeAsString()), "stop.how is not one that we know");
  frame.mutable_stop()->set_how(static_cast<pb::Farewell>(6));
  EXPECT_EQ(refusal(frame.SerializeAsString()), "stop.how is not one that we know");
  frame.mutable_stop()->set_how(static_cast<pb::Farewell>(-1));
  EXPECT_EQ(refusal(frame.SerializeAsString()), "stop.how is not one that we know");
  frame.mutable_stop()->set_how(static_cast<pb::Farewell>(6));
  EXPECT_EQ(refusal(frame.SerializeAsString()), "stop.how is not one that we know");
}

}  // namespace
}  // namespace outpace::protocol
