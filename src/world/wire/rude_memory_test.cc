// Shared memory with clients that lend what cannot be trusted, and with those that cannot share.

#include <atomic>
#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>

#include "wire/rude_client_test.h"
#include "wire/sharing.h"

namespace outpace::wire {
namespace {

using protocol::encode;
using protocol::Heartbeat;
using protocol::InitialWeights;
using protocol::Snapshot;

constexpr std::uint64_t kMany = 16'384;
constexpr std::uint64_t kManyBytes = kMany * sizeof(float);
constexpr int kSealed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

class MemoryTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(All, MemoryTest, testing::Values("memory"));

Descriptor bare_memory_of(std::uint64_t bytes) {
  Descriptor memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(::ftruncate(memory.number(), static_cast<off_t>(bytes)), 0);
  return memory;
}

void seal(const Descriptor& memory, int seals) {
  EXPECT_EQ(::fcntl(memory.number(), F_ADD_SEALS, seals), 0);
}

Descriptor memory_of(std::uint64_t bytes, int seals) {
  Descriptor memory = bare_memory_of(bytes);
  EXPECT_EQ(::fallocate(memory.number(), 0, 0, static_cast<off_t>(bytes)), 0);
  seal(memory, seals);
  return memory;
}

std::string offer_of(std::uint64_t bytes) {
  return RawClient::record(RecordKind::kMemory, encode_number(bytes));
}

std::string announced() {
  return RawClient::record(RecordKind::kMessage, encode(InitialWeights{}, kMany));
}

std::string place_at(std::uint64_t offset) {
  return RawClient::record(RecordKind::kPlace, encode_number(offset));
}

// The server's id of a client that has joined and may send kMany numbers.
ConnectionId admit(const RawClient& client,
                   const std::string& host,
                   Recorder& server,
                   ServerTransport& transport) {
  client.join(host);
  const ConnectionId id = server.wait_hello(host);
  transport.authorise(id, kMany);
  return id;
}

// ---- What a client lends ------------------------------------------------------------------------

TEST_P(MemoryTest, RefusesMemoryThatItCannotTrustAndReadsTheSocketInstead) {
  const auto server = serve();
  struct Case {
    Descriptor memory;
    std::uint64_t bytes;
    std::string why;
  };
  std::vector<Case> cases;
  cases.push_back({Descriptor(), kManyBytes, "no descriptor came with its memory"});
  cases.push_back({memory_of(kManyBytes, F_SEAL_GROW),
                   kManyBytes,
                   "its memory is not sealed against shrinking"});
  cases.push_back({memory_of(kManyBytes, F_SEAL_SHRINK | F_SEAL_GROW),
                   kManyBytes,
                   "its memory is not sealed against holes"});
  Descriptor hollow = bare_memory_of(kManyBytes);
  seal(hollow, kSealed);
  cases.push_back(
      {std::move(hollow), kManyBytes, "its memory has holes: not all pages are allocated"});
  cases.push_back({memory_of(kManyBytes - 1, kSealed),
                   kManyBytes,
                   "its memory has fewer than the 65536 bytes that it lends"});
  cases.push_back({memory_of(2 * kManyBytes, kSealed),
                   2 * kManyBytes,
                   "it lends 131072 bytes of memory, and at most 65536 are allowed"});
  cases.push_back({memory_of(kManyBytes, kSealed),
                   ~std::uint64_t{0},
                   "it lends 18446744073709551615 bytes of memory, and at most 65536 are allowed"});
  cases.push_back({memory_of(kManyBytes, kSealed),
                   0,
                   "it lends 0 bytes of memory, and at most 65536 are allowed"});
  cases.push_back({Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)),
                   kManyBytes,
                   "what it lends is no memory of its own"});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const RawClient client(server->address());
    const ConnectionId id = admit(client, "rude " + std::to_string(i), server_, *server);
    if (cases[i].memory.number() < 0) {
      client.write(offer_of(cases[i].bytes));
    } else {
      client.write_with(offer_of(cases[i].bytes), cases[i].memory);
    }
    const RawClient::Record answer = client.read_record();
    EXPECT_EQ(answer.kind, RecordKind::kSharing);
    EXPECT_EQ(answer.body, cases[i].why);
    client.write(announced() +
                 RawClient::record(RecordKind::kNumbers, std::string(kManyBytes, 'x')));
    ASSERT_TRUE(server_.wait_received(id, 2));
    EXPECT_EQ(server_.log(id).received[1].payload.size(), kMany);
  }
  EXPECT_TRUE(warned_.wait_for("go over the socket and not through shared memory: no descriptor"));
  EXPECT_EQ(warned_.count(), 1U);
}

TEST_P(MemoryTest, EndsAConnectionWithAPlaceThatIsNoneAndNoOther) {
  const auto server = serve();
  struct Case {
    bool lends;
    std::string bytes;
    std::string why;
  };
  const std::string outside = " does not lie in the memory that it lends";
  const std::string payload = "a payload of 16384 numbers at byte ";
  const std::vector<Case> cases = {
      {false, announced() + place_at(0), "it has lent no memory for its payload"},
      {true, place_at(0), "a place in memory belongs to no payload"},
      {true, announced() + place_at(4), payload + "4" + outside},
      {true, announced() + place_at(kManyBytes), payload + "65536" + outside},
      {true, announced() + place_at(~std::uint64_t{3}), payload + "18446744073709551612" + outside},
      {true, announced() + place_at(2), payload + "2" + outside},
      {true,
       announced() + RawClient::record(RecordKind::kPlace, "four"),
       "a record of 4 bytes, where a number has 8"},
      {true,
       announced() + RawClient::record(RecordKind::kNumbers, std::string(4, 'x')) + place_at(0),
       "a payload comes over the socket and lies in memory"},
      {true,
       announced() + RawClient::record(RecordKind::kMessage, encode(Heartbeat{}, 0)),
       "heartbeat came within the payload of initial_weights"},
      {true,
       RawClient::record(RecordKind::kReturned, encode_number(0)),
       "it returns memory that it was not lent"},
      {true,
       RawClient::record(RecordKind::kSharing, ""),
       "it accepts memory that it was not offered"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::optional<RawClient> client(std::in_place, server->address());
    const ConnectionId id = admit(*client, "rude " + std::to_string(i), server_, *server);
    if (cases[i].lends) {
      client->write_with(offer_of(kManyBytes), memory_of(kManyBytes, kSealed));
      EXPECT_EQ(client->read_record().body, "");
    }
    client->write(cases[i].bytes);
    EXPECT_EQ(client->read_farewell(), cases[i].why);
    client.reset();
    ASSERT_TRUE(server_.wait_closed(id));
    EXPECT_EQ(server_.log(id).closed[0].why, cases[i].why);
    EXPECT_EQ(server_.log(id).received.size(), 1U) << "the hello, and nothing of the rest";
  }
}

TEST_P(MemoryTest, EndsAConnectionThatLendsMemoryAgainAndAgain) {
  const auto server = serve();
  std::optional<RawClient> client(std::in_place, server->address());
  const ConnectionId id = admit(*client, "a", server_, *server);
  for (int i = 0; i < kOffersMax; ++i) {
    client->write_with(offer_of(kManyBytes), memory_of(kManyBytes, kSealed));
    EXPECT_EQ(client->read_record().kind, RecordKind::kSharing);
  }
  client->write_with(offer_of(kManyBytes), memory_of(kManyBytes, kSealed));
  EXPECT_EQ(client->read_farewell(), "it lends memory again and again");
  client.reset();
  EXPECT_TRUE(server_.wait_closed(id));
}

TEST_P(MemoryTest, KeepsTheOneCopyOfBytesThatChangeMeanwhile) {
  constexpr std::size_t kPushes = 200;
  const auto server = serve();
  const RawClient client(server->address());
  const ConnectionId id = admit(client, "restless", server_, *server);
  const Descriptor memory = bare_memory_of(kManyBytes);
  auto* const numbers = static_cast<float*>(
      ::mmap(nullptr, kManyBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.number(), 0));
  std::fill(numbers, numbers + kMany, 1.0F);
  seal(memory, kSealed);
  client.write_with(offer_of(kManyBytes), memory);
  EXPECT_EQ(client.read_record().body, "");
  EXPECT_NE(::ftruncate(memory.number(), 0), 0) << "it cannot be shrunk any more";
  {
    const std::jthread restless([numbers](const std::stop_token& stop) {
      for (float value = 1; !stop.stop_requested(); value = 3 - value) {
        for (std::uint64_t i = 0; i < kMany; ++i) {
          std::atomic_ref(numbers[i]).store(value, std::memory_order_relaxed);
        }
      }
    });
    for (std::size_t i = 0; i < kPushes; ++i) {
      client.write(announced() + place_at(0));
    }
    ASSERT_TRUE(server_.wait_received(id, 1 + kPushes));
  }
  ::munmap(numbers, kManyBytes);
  const Log log = server_.log(id);
  for (std::size_t i = 1; i <= kPushes; ++i) {
    const std::span<const float> payload = log.received[i].payload.span();
    ASSERT_EQ(payload.size(), kMany);
    // A number that changes while it is copied may have bytes of both: those of 1 and 2 mix to
    // these.
    EXPECT_TRUE(std::all_of(payload.begin(), payload.end(), [](float value) {
      return value == 0.5F || value == 1 || value == 2 || value == 4;
    }));
    EXPECT_FALSE(log.received[i].payload.shared());
  }
}

TEST_P(MemoryTest, OutlivesAClientThatDiesInBetween) {
  const auto server = serve();
  for (const std::string& last : {announced(), announced() + place_at(0)}) {
    ConnectionId id{0};
    const std::string host = "dies " + std::to_string(last.size());
    {
      const RawClient client(server->address());
      id = admit(client, host, server_, *server);
      client.write_with(offer_of(kManyBytes), memory_of(kManyBytes, kSealed));
      EXPECT_EQ(client.read_record().body, "");
      client.write(last);
    }
    ASSERT_TRUE(server_.wait_closed(id));
    EXPECT_EQ(server_.log(id).received.size(), last == announced() ? 1U : 2U);
  }
}

// ---- What the server lends ----------------------------------------------------------------------

TEST_P(MemoryTest, LendsAFewPlacesToAClientThatReturnsNoneAndThenUsesTheSocket) {
  const auto server = serve();
  const RawClient client(server->address());
  const ConnectionId id = admit(client, "keeps", server_, *server);
  server->send(id, Snapshot{.version = Version{0}}, numbers(kMany, 0));
  EXPECT_EQ(client.read_record().kind, RecordKind::kMemory);
  EXPECT_EQ(client.read_record().kind, RecordKind::kMessage);
  EXPECT_EQ(client.read_record().kind, RecordKind::kNumbers);
  client.write_record(RecordKind::kSharing, "");
  client.write_message(encode(Heartbeat{}, 0));
  ASSERT_TRUE(server_.wait_received(id, 2));
  std::vector<std::string> places;
  for (std::uint64_t version = 1; version <= kUnreturnedMax + 1; ++version) {
    server->send(id, Snapshot{.version = Version{version}}, numbers(kMany, 0));
    EXPECT_EQ(client.read_record().kind, RecordKind::kMessage);
    const RawClient::Record record = client.read_record();
    EXPECT_EQ(record.kind, version <= kUnreturnedMax ? RecordKind::kPlace : RecordKind::kNumbers);
    places.push_back(record.body);
  }
  EXPECT_NE(places[0], places[1]) << "what may still be read is not written";
  client.write_record(RecordKind::kReturned, places[1]);
  client.write_message(encode(Heartbeat{}, 0));
  ASSERT_TRUE(server_.wait_received(id, 3));
  server->send(id, Snapshot{.version = Version{9}}, numbers(kMany, 0));
  EXPECT_EQ(client.read_record().kind, RecordKind::kMessage);
  EXPECT_EQ(client.read_record().body, places[1]);
}

// ---- Both ways, between sides that keep to the rules --------------------------------------------

TEST_P(MemoryTest, LetsAClientReadWeightsWhereTheServerPublishedThem) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->authorise(kMany);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  for (std::uint64_t version = 0; version < 4; ++version) {
    server->send(id, Snapshot{.version = Version{version}}, numbers(kMany, float(version)));
    ASSERT_TRUE(events.wait_received(ConnectionId{0}, version + 1));
    client->send(Heartbeat{}, nullptr);
    ASSERT_TRUE(server_.wait_received(id, 2 + version));
  }
  const Log log = events.log();
  for (std::uint64_t version = 0; version < 4; ++version) {
    EXPECT_TRUE(log.received[version].payload == *numbers(kMany, float(version)));
    // The first comes before memory is accepted; the last while this test holds two others.
    EXPECT_EQ(log.received[version].payload.shared(), version == 1 || version == 2);
  }
  EXPECT_EQ(warned_.count(), 0U);
}

TEST_P(MemoryTest, LetsAClientWriteAGradientWhereTheServerReadsIt) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kMany);
  const auto push = [&](float value) {
    const std::size_t before = server_.log(id).received.size();
    Room room = client->room(kMany);
    const float seen = room.numbers.back();
    std::fill(room.numbers.begin(), room.numbers.end(), value);
    client->send(InitialWeights{}, std::move(room).payload());
    EXPECT_TRUE(server_.wait_received(id, before + 1));
    EXPECT_TRUE(server_.log(id).received.back().payload == std::vector<float>(kMany, value));
    server->send(id, Snapshot{}, nullptr);  // Returns the place.
    EXPECT_TRUE(events.wait_received(ConnectionId{0}, before));
    return seen;
  };
  EXPECT_EQ(push(1), 0) << "memory of its own";
  EXPECT_EQ(push(2), 0) << "the shared memory, fresh";
  EXPECT_EQ(push(3), 2) << "the same memory again";
}

TEST_P(MemoryTest, UsesTheSocketWithAClientThatSharesNothingAndSaysSo) {
  const auto server = serve();
  Recorder events;
  ConnectOptions options = to(server->address());
  options.shares_memory = false;
  const auto client = wire::connect(options, events.client_sink());
  client->authorise(kMany);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  for (std::uint64_t version = 0; version < 3; ++version) {
    server->send(id, Snapshot{.version = Version{version}}, numbers(kMany, float(version)));
  }
  ASSERT_TRUE(events.wait_received(ConnectionId{0}, 3));
  for (std::uint64_t version = 0; version < 3; ++version) {
    EXPECT_TRUE(events.log().received[version].payload == *numbers(kMany, float(version)));
    EXPECT_FALSE(events.log().received[version].payload.shared());
  }
  EXPECT_TRUE(
      warned_.wait_for("gradients and weights go over the socket and not through shared "
                       "memory: the other side shares no memory"));
}

// The address sanitizer itself opens a pipe to look at an object's type, and would have none.
#ifndef __SANITIZE_ADDRESS__
TEST_P(MemoryTest, UsesTheSocketWhereTheSystemHasNoMemoryToShareAndSaysSo) {
  const auto server = serve();
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("a"), nullptr);
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, kMany);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int free = ::dup(0);
  ::close(free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(free);
  ::setrlimit(RLIMIT_NOFILE, &none);
  for (int i = 0; i < 2; ++i) {
    client->send(InitialWeights{}, numbers(kMany, 7));
  }
  const bool came = server_.wait_received(id, 3);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(came);
  EXPECT_TRUE(server_.log(id).received[2].payload == *numbers(kMany, 7));
  EXPECT_TRUE(warned_.wait_for("shared memory: memfd_create: Too many open files"));
  EXPECT_EQ(warned_.count(), 1U);
}
#endif

}  // namespace
}  // namespace outpace::wire
