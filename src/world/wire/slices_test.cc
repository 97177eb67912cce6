// Gradients in slices and weights that come by and by: what the contract promises of them, over
// every carrier; and clients that break the rules.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "base/square_sum.h"
#include "protocol/codec.h"
#include "wire/rude_client_test.h"
#include "wire/transport_test.h"

namespace outpace::wire {
namespace {

using protocol::Abandoned;
using protocol::encode;
using protocol::Goodbye;
using protocol::Heartbeat;
using protocol::InitialWeights;
using protocol::Push;
using protocol::Slice;

constexpr std::uint64_t kWhole = 200'000;  // Several records, and more than memory is shared for.

Push push_of(std::uint64_t sequence) {
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

Slice slice_of(std::uint64_t sequence, std::uint64_t begin, std::uint64_t whole = kWhole) {
  return {.sequence = Sequence{sequence}, .begin = begin, .whole = whole};
}

// Numbers [begin, end) of a gradient.
Payload part(const std::shared_ptr<const std::vector<float>>& gradient,
             std::size_t begin,
             std::size_t end) {
  return {std::span(*gradient).subspan(begin, end - begin), gradient};
}

double squares_of(std::span<const float> numbers) {
  SquareSum sum;
  sum.add(numbers);
  return sum.total();
}

class SlicesTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(All,
                         SlicesTest,
                         testing::Values("unix", "memory", "tcp", "tls", "bundle", "bundle_tls"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(SlicesTest, ArriveAsOnePushWithWhatCameBetweenThemBefore) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kWhole);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    const auto gradient = numbers(kWhole, static_cast<float>(sequence));
    client->send(slice_of(sequence, 90'000), part(gradient, 90'000, kWhole));
    client->send(Heartbeat{}, nullptr);
    client->send(slice_of(sequence, 89'999), part(gradient, 89'999, 90'000));
    client->send(slice_of(sequence, 7), part(gradient, 7, 89'999));
    client->send(push_of(sequence), part(gradient, 0, 7));
  }
  client->send(push_of(4), numbers(kWhole, 4));  // And a whole one.
  ASSERT_TRUE(server_.wait_received(id, 1 + 2 * 3 + 1));
  const Log log = server_.log(id);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    EXPECT_TRUE(std::holds_alternative<Heartbeat>(log.received[2 * sequence - 1].message));
    const Received& push = log.received[2 * sequence];
    EXPECT_TRUE(push.message == protocol::Message(push_of(sequence)));
    EXPECT_TRUE(push.payload == *numbers(kWhole, static_cast<float>(sequence)));
    EXPECT_EQ(push.squares, squares_of(push.payload));
  }
  EXPECT_TRUE(log.received[7].payload == *numbers(kWhole, 4));
  EXPECT_EQ(log.received[7].squares, squares_of(log.received[7].payload));
}

TEST_P(SlicesTest, OfAnAbandonedGradientAreDiscarded) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kWhole);
  for (std::uint64_t sequence = 1; sequence <= 20; ++sequence) {
    const auto given_up = numbers(kWhole, 100);
    client->send(slice_of(2 * sequence, 90'000), part(given_up, 90'000, kWhole));
    client->send(slice_of(2 * sequence, 10), part(given_up, 10, 90'000));
    client->send(Abandoned{push_of(2 * sequence).id}, nullptr);
    const auto gradient = numbers(kWhole, static_cast<float>(sequence));
    client->send(slice_of(2 * sequence + 1, 5), part(gradient, 5, kWhole));
    client->send(push_of(2 * sequence + 1), part(gradient, 0, 5));
  }
  ASSERT_TRUE(server_.wait_received(id, 1 + 2 * 20));
  const Log log = server_.log(id);
  for (std::uint64_t sequence = 1; sequence <= 20; ++sequence) {
    EXPECT_TRUE(std::holds_alternative<Abandoned>(log.received[2 * sequence - 1].message));
    EXPECT_TRUE(log.received[2 * sequence].payload ==
                *numbers(kWhole, static_cast<float>(sequence)));
  }
}

TEST_P(SlicesTest, OfAClientThatDiesBetweenThemAreNeverSeen) {
  const auto server = serve();
  Recorder events;
  auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kWhole);
  const auto gradient = numbers(kWhole, 1);
  client->send(slice_of(1, 90'000), part(gradient, 90'000, kWhole));
  client->send(Heartbeat{}, nullptr);
  ASSERT_TRUE(server_.wait_received(id, 2));
  client->send(slice_of(1, 10), part(gradient, 10, 90'000));
  client.reset();
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).received.size(), 2U);
}

TEST_P(SlicesTest, AndWholePushesComeWithTheirSumOfSquares) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kWhole);
  // Where memory is shared, the first payload crosses the socket, and later ones lie there.
  for (std::uint64_t i = 0; i < 4; ++i) {
    auto broken = *numbers(kWhole - i, static_cast<float>(i));
    broken.back() = i == 3 ? HUGE_VALF : broken.back();
    client->send(push_of(i), std::make_shared<const std::vector<float>>(std::move(broken)));
    ASSERT_TRUE(server_.wait_received(id, 2 + i));
    const Received push = server_.log(id).received[1 + i];
    ASSERT_TRUE(push.squares.has_value());
    EXPECT_EQ(*push.squares, squares_of(push.payload));
    EXPECT_EQ(std::isfinite(*push.squares), i < 3);
  }
}

// Whether slices gain something is the carrier's to say: memory that is shared is read whole.
TEST_P(SlicesTest, AreOfferedWhereAPayloadCrossesTheSocket) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  ASSERT_NE(server_.wait_hello("a"), ConnectionId{0});
  EXPECT_EQ(client->slices(), !shares_memory());
}

// ---- Weights that come by and by ----------------------------------------------------------------

// How much of the newest release has come, as a client hears it.
class Progress {
 public:
  [[nodiscard]] std::function<void(std::uint64_t)> listener() {
    return [this](std::uint64_t arrived) {
      const std::lock_guard lock(mutex_);
      EXPECT_GT(arrived, arrived_);
      arrived_ = arrived;
      changed_.notify_all();
    };
  }
  bool wait(std::uint64_t wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return arrived_ >= wanted; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t arrived_ = 0;
};

protocol::Release release_of(std::uint64_t sequence) {
  return {.sequence = Sequence{sequence},
          .version = Version{sequence},
          .nominal = 1,
          .may_keep_part = false,
          .now = Time{},
          .ranges = {{.epoch = 0, .begin = 0, .end = 1}}};
}

TEST_P(SlicesTest, AReleaseIsThereWithItsFirstWeightsAndTheRestFollows) {
  const auto server = serve();
  Recorder events;
  Progress progress;
  ConnectOptions options = to(server->address());
  options.progress = progress.listener();
  const auto client = wire::connect(options, events.client_sink());
  client->authorise(kWhole);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  const auto weights = numbers(kWhole, 1);
  server->send(id, release_of(1), weights);
  ASSERT_TRUE(events.wait_received(ConnectionId{0}, 1));
  const Received release = events.log().received[0];
  ASSERT_EQ(release.payload.size(), kWhole);
  EXPECT_GE(release.arrived, 1U);
  EXPECT_LT(release.arrived, kWhole) << "nobody waited for the last one";
  EXPECT_TRUE(
      std::equal(release.payload.span().begin(),
                 release.payload.span().begin() + static_cast<std::ptrdiff_t>(release.arrived),
                 weights->begin()));
  ASSERT_TRUE(progress.wait(kWhole));
  EXPECT_TRUE(release.payload == *weights);
  // What follows it comes after it, and a snapshot comes whole.
  server->send(id, protocol::Snapshot{Version{2}}, weights);
  ASSERT_TRUE(events.wait_received(ConnectionId{0}, 2));
  EXPECT_EQ(events.log().received[1].arrived, kWhole);
  EXPECT_TRUE(events.log().received[1].payload == *weights);
}

TEST_P(SlicesTest, WeightsThatCameByAndByAreTakenWithoutACopy) {
  auto arriving = std::make_shared<std::vector<float>>();
  arriving->reserve(3);
  arriving->resize(1);
  Numbers numbers(arriving, 3);
  arriving->resize(3, 2.0F);
  const float* const there = arriving->data();
  arriving.reset();  // As the transport does when all are there.
  const std::vector<float> taken = std::move(numbers).take();
  EXPECT_EQ(taken, (std::vector<float>{0, 2, 2}));
  EXPECT_EQ(taken.data(), there);
}

// ---- Clients that break the rules ---------------------------------------------------------------

class RudeSlicesTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(All,
                         RudeSlicesTest,
                         testing::Values("tcp", "unix", "memory"),
                         [](const auto& kind) { return std::string(kind.param); });

std::string message(const protocol::Message& message, std::uint64_t numbers) {
  return RawClient::record(RecordKind::kMessage, encode(message, numbers)) +
         (numbers == 0
              ? ""
              : RawClient::record(RecordKind::kNumbers, std::string(numbers * sizeof(float), 'x')));
}

TEST_P(RudeSlicesTest, EndTheirConnectionWithAReason) {
  const auto server = serve();
  const auto slice = [](std::uint64_t sequence,
                        std::uint64_t begin,
                        std::uint64_t numbers,
                        std::uint64_t whole = 8) {
    return message(slice_of(sequence, begin, whole), numbers);
  };
  const std::string last_two = slice(1, 6, 2);
  std::string changed = slice(1, 6, 2);
  changed.back() = 'y';
  std::vector<RudeCase> cases = {
      // Where it lies.
      {slice(1, 4, 2), "slice [4, 6) leaves out numbers [6, 8), which come before it"},
      {last_two + slice(1, 3, 2), "slice [3, 5) leaves out numbers [5, 6), which come before it"},
      {last_two + last_two, "slice [6, 8) repeats numbers [6, 8), which have come"},
      {last_two + slice(1, 5, 2), "slice [5, 7) repeats numbers [6, 7), which have come"},
      {last_two + slice(1, 4, 4), "slice [4, 8) repeats numbers [6, 8), which have come"},
      {slice(1, 0, 8), "slice.begin must be at least 1: the front comes with the push"},
      {slice(1, 7, 2), "slice goes beyond the end of its gradient"},
      {slice(1, ~std::uint64_t{0}, 2), "slice goes beyond the end of its gradient"},
      {slice(1, 8, 1), "slice goes beyond the end of its gradient"},
      {slice(1, 8, 0), "slice must have a payload"},
      // How large its gradient is.
      {slice(1, 7, 2, 9), "slice is of a gradient of 9 numbers, and at most 8 are allowed"},
      {slice(1, 1, 9, 10), "slice has a payload of 9 numbers, and at most 8 are allowed"},
      {slice(1, 1, 1, (std::uint64_t{1} << 32U) + 1), "slice.whole is above 2^32 numbers"},
      {last_two + slice(1, 4, 2, 6),
       "slice is of a gradient of 6 numbers, and the one before was of 8"},
      // What it belongs to.
      {last_two + slice(2, 6, 2),
       "slice is of mini-batch 2, and the gradient of mini-batch 1 is not whole"},
      {last_two + message(push_of(2), 6),
       "push is of mini-batch 2, and the slices before it are of mini-batch 1"},
      {last_two + message(push_of(1), 5),
       "push misses numbers [5, 6) of its gradient: no slice brought them"},
      {last_two + message(push_of(1), 0),
       "push misses numbers [0, 6) of its gradient: no slice brought them"},
      {last_two + message(push_of(1), 8),
       "push repeats numbers [6, 8) of its gradient: a slice brought them"},
      {last_two + message(InitialWeights{}, 8),
       "initial_weights has a payload, and came between the slices of a gradient"},
      // Its numbers.
      {RawClient::record(RecordKind::kMessage, encode(slice_of(1, 6, 8), 2)) +
           RawClient::record(RecordKind::kNumbers, std::string(12, 'x')),
       "numbers go beyond the end of their payload"},
      {RawClient::record(RecordKind::kMessage, encode(slice_of(1, 6, 8), 2)) + last_two,
       "slice came within the payload of slice"},
      {RawClient::record(RecordKind::kMessage, encode(slice_of(1, 6, 8), 2)) +
           RawClient::record(RecordKind::kPlace, encode_number(0)),
       "a payload comes over the socket and lies in memory"},
      {last_two + RawClient::record(RecordKind::kMessage, encode(push_of(1), 6)) +
           RawClient::record(RecordKind::kPlace, encode_number(0)),
       "a payload comes over the socket and lies in memory"},
  };
  if (!is_unix()) {
    cases.push_back({changed, "a record was changed on the way: its checksum is another"});
  }
  expect_farewells(*server, server_, cases);
}

TEST_P(RudeSlicesTest, OfAClientThatIsNotAuthorisedTakeNoMemory) {
  const auto server = serve();
  const RawClient client(server->address());
  client.join("stranger");
  client.write(message(slice_of(1, 6, 8), 2));
  EXPECT_EQ(client.read_farewell(), "slice has a payload of 2 numbers, and at most 0 are allowed");
}

TEST_P(RudeSlicesTest, ComeByteByByteAndAreDroppedByAGoodbye) {
  const auto server = serve();
  const RawClient client(server->address());
  client.join("slow");
  const ConnectionId id = server_.wait_hello("slow");
  server->authorise(id, 8);
  const std::string bytes = message(slice_of(1, 6, 8), 2) + message(slice_of(1, 1, 8), 5) +
                            message(push_of(1), 1) + message(slice_of(2, 6, 8), 2) +
                            message(Goodbye{}, 0) + message(push_of(3), 8);
  for (const char& byte : bytes) {
    client.write(std::string_view(&byte, 1));
  }
  ASSERT_TRUE(server_.wait_received(id, 4));
  const float number = std::bit_cast<float>(std::array{'x', 'x', 'x', 'x'});
  EXPECT_EQ(server_.log(id).received[1].payload, std::vector<float>(8, number));
  EXPECT_TRUE(std::holds_alternative<Goodbye>(server_.log(id).received[2].message));
  EXPECT_EQ(server_.log(id).received[3].payload, std::vector<float>(8, number));
}

}  // namespace
}  // namespace outpace::wire
