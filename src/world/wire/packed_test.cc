// Gradients and weights that travel packed, over every carrier; and clients that break the rules.

#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/square_sum.h"
#include "compress/pack.h"
#include "protocol/codec.h"
#include "wire/rude_client_test.h"
#include "wire/transport_test.h"

namespace outpace::wire {
namespace {

using compress::Format;
using compress::Kind;
using compress::WeightsKind;
using protocol::Packing;

constexpr std::uint64_t kPacked = 100'000;  // Several records when packed, too.
constexpr Format kEight{.kind = Kind::kInt8};

using Weights = std::shared_ptr<const std::vector<float>>;

protocol::Push push_number(std::uint64_t sequence) {
  return {.id = {.job = 1,
                 .generation = 1,
                 .worker = WorkerId{0},
                 .incarnation = 1,
                 .sequence = Sequence{sequence}},
          .examples = 1,
          .partial = false,
          .loss = 0.5,
          .compute_seconds = 0.1};
}

protocol::Release release_number(std::uint64_t sequence) {
  return {.sequence = Sequence{sequence},
          .version = Version{sequence},
          .nominal = 1,
          .may_keep_part = false,
          .now = Time{},
          .ranges = {{.epoch = 0, .begin = 0, .end = 1}}};
}

Payload packed_payload(const Format& format, std::span<const float> numbers) {
  auto bytes =
      std::make_shared<std::vector<std::byte>>(compress::packed_bytes(format, numbers.size()));
  compress::pack(format, numbers, *bytes);
  const Packing packing{.format = format, .bytes = bytes->size()};
  return {std::move(bytes), packing, numbers.size()};
}

// What a receiver makes of these.
std::vector<float> through(const Format& format, std::span<const float> numbers) {
  const Payload payload = packed_payload(format, numbers);
  std::vector<float> out(numbers.size());
  compress::unpack(format, payload.bytes(), out);
  return out;
}

// Weights that move a little from version to version.
Weights version_of(std::uint64_t version) {
  auto weights = std::make_shared<std::vector<float>>(kPacked);
  for (std::size_t i = 0; i < kPacked; ++i) {
    const auto place = static_cast<float>(i % 977);
    (*weights)[i] = std::sin(place) + 1e-3F * static_cast<float>(version) * std::cos(place);
  }
  return weights;
}

double furthest(std::span<const float> a, std::span<const float> b) {
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  }
  return most;
}

class PackedTest : public TransportTest {
 protected:
  std::unique_ptr<ServerTransport> serve_packing(WeightsKind kind, Recorder& heard) {
    return wire::serve({.address = any_address(),
                        .token = kToken,
                        .tls = tls(TlsSide::kServer),
                        .unread_max = unread_max_,
                        .shares_memory = shares_memory(),
                        .pack_weights = kind},
                       heard.server_sink());
  }
};

INSTANTIATE_TEST_SUITE_P(All,
                         PackedTest,
                         testing::Values("unix", "memory", "tcp", "tls", "bundle", "bundle_tls"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(PackedTest, APushArrivesAsNumbersWithItsSquares) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kPacked);
  const Weights gradient = numbers(kPacked, 1);
  std::size_t heard = 1;
  for (const Format& format : {kEight,
                               Format{.kind = Kind::kInt4},
                               Format{.kind = Kind::kBf16},
                               Format{.kind = Kind::kTopK, .kept = 82, .bits = 2}}) {
    client->send(push_number(heard), packed_payload(format, *gradient));
    ASSERT_TRUE(server_.wait_received(id, ++heard));
    const Received push = server_.log(id).received.back();
    const std::vector<float> expected = through(format, *gradient);
    EXPECT_TRUE(push.payload == expected);
    EXPECT_EQ(push.bytes, compress::packed_bytes(format, kPacked));
    SquareSum squares;
    squares.add(expected);
    EXPECT_EQ(push.squares, squares.total());
  }
  client->send(push_number(heard), gradient);  // And one that is not packed.
  ASSERT_TRUE(server_.wait_received(id, ++heard));
  EXPECT_TRUE(server_.log(id).received.back().payload == *gradient);
  const protocol::Traffic traffic = server->traffic();
  EXPECT_EQ(traffic.gradients.payloads, 5U);
  EXPECT_EQ(traffic.gradients.numbers, 5 * kPacked);
  EXPECT_LT(traffic.gradients.bytes, (4 + 1.1 + 0.6 + 2.1 + 0.1) * kPacked);
}

TEST_P(PackedTest, SlicesMayBePackedEachByItself) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kPacked);
  const Weights gradient = numbers(kPacked, 1);
  const std::span<const float> all(*gradient);
  const auto slice = [&](std::size_t begin) {
    return protocol::Slice{.sequence = Sequence{1}, .begin = begin, .whole = kPacked};
  };
  client->send(slice(70'001), packed_payload(kEight, all.subspan(70'001)));
  client->send(slice(70'000), Payload(all.subspan(70'000, 1), gradient));
  client->send(slice(7), packed_payload({.kind = Kind::kInt4}, all.subspan(7, 69'993)));
  client->send(push_number(1), packed_payload(kEight, all.first(7)));
  ASSERT_TRUE(server_.wait_received(id, 2));
  const Received push = server_.log(id).received.back();
  const std::span<const float> got = push.payload;
  EXPECT_EQ(furthest(got.first(7), through(kEight, all.first(7))), 0.0);
  EXPECT_EQ(
      furthest(got.subspan(7, 69'993), through({.kind = Kind::kInt4}, all.subspan(7, 69'993))),
      0.0);
  EXPECT_EQ(got[70'000], all[70'000]);
  EXPECT_EQ(furthest(got.subspan(70'001), through(kEight, all.subspan(70'001))), 0.0);
}

// A worker that lags behind gets some versions and not others; what it has stays near.
TEST_P(PackedTest, WeightsFollowOverAConnectionAndBeginAnewOverTheNext) {
  for (const WeightsKind kind : {WeightsKind::kInt8, WeightsKind::kDelta, WeightsKind::kBf16}) {
    Recorder heard;
    const auto server = serve_packing(kind, heard);
    for (const std::string host : {"a", "b"}) {
      Recorder events;
      const auto client = connect(server->address(), events);
      client->authorise(kPacked);
      client->send(hello_from(host), nullptr);
      const ConnectionId id = heard.wait_hello(host);
      for (std::uint64_t version = 1; version <= 20; version += 1 + version % 3) {
        const Weights weights = version_of(version);
        server->send(id, release_number(version), weights);
        ASSERT_TRUE(events.wait([&](const auto& logs) {
          return logs.contains(ConnectionId{0}) && !logs.at(ConnectionId{0}).received.empty() &&
                 logs.at(ConnectionId{0}).received.back().message ==
                     protocol::Message(release_number(version));
        })) << compress::name(kind)
            << " of version " << version << " to " << host << ": "
            << (events.log().closed.empty() ? "" : events.log().closed[0].why);
        const Received release = events.log().received.back();
        EXPECT_LT(furthest(release.payload, *weights), 4e-3) << version;
        EXPECT_EQ(release.arrived, kPacked);
      }
    }
  }
}

TEST_P(PackedTest, ManyReleasesAtOnceLeaveWhatTheLastOneSays) {
  const auto server = serve_packing(WeightsKind::kInt8, server_);
  Recorder events;
  const auto client = connect(server->address(), events);
  client->authorise(kPacked);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  constexpr std::uint64_t kLast = 40;
  for (std::uint64_t version = 1; version <= kLast; ++version) {
    server->send(id, release_number(version), version_of(version));
  }
  ASSERT_TRUE(events.wait([&](const auto& logs) {
    return logs.contains(ConnectionId{0}) && !logs.at(ConnectionId{0}).received.empty() &&
           logs.at(ConnectionId{0}).received.back().message ==
               protocol::Message(release_number(kLast));
  })) << "a connection that lost count would have ended";
  EXPECT_LT(furthest(events.log().received.back().payload, *version_of(kLast)), 1e-3);
  const protocol::Traffic traffic = server->traffic();
  EXPECT_LE(traffic.weights.payloads, kLast);
  EXPECT_LE(traffic.weights.bytes,
            4 * kPacked + (traffic.weights.payloads - 1) * kPacked * 11 / 10);
}

TEST(PackedRules, AreHeldAgainstAClient) {
  const TemporaryDirectory folder;
  Recorder events;
  const auto server = wire::serve({.address = "unix:" + (folder / "s").string(), .token = kToken},
                                  events.server_sink());
  const auto record = [](RecordKind kind, const std::string& body) {
    return RawClient::record(kind, body);
  };
  const auto push = [&](const Packing& packing, std::uint64_t count) {
    return record(RecordKind::kMessage, protocol::encode(push_number(1), count, packing));
  };
  const Format top{.kind = Kind::kTopK, .kept = 4096, .bits = 8};  // All eight, each with a place.
  const Packing sparse{.format = top, .bytes = compress::packed_bytes(top, 8)};
  std::vector<std::byte> bytes(sparse.bytes);
  const std::vector<float> some(8, 1.0F);
  compress::pack(top, some, bytes);
  bytes[2] = std::byte{200};  // The first place is beyond the eighth number.
  const std::string beyond(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const Packing eight{.format = kEight, .bytes = 10};
  expect_farewells(
      *server,
      events,
      {{push({.format = kEight, .bytes = compress::packed_bytes(kEight, 1'000'000)}, 1'000'000),
        "push has a payload of 1000000 numbers, and at most 8 are allowed"},
       {push(eight, 8) + record(RecordKind::kNumbers, std::string(11, 'x')),
        "packed numbers go beyond the end of their payload"},
       {push(eight, 8) + record(RecordKind::kNumbers, ""),
        "packed numbers go beyond the end of their payload"},
       {push(sparse, 8) + record(RecordKind::kNumbers, beyond),
        "packed numbers: chunk 0, number 0: place 200 is beyond the chunk's 8 numbers"}});
}

}  // namespace
}  // namespace outpace::wire
