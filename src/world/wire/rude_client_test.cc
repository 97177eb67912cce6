// What the contract's test cannot do with transports alone: clients, and a server, that break the
// rules.

#include "wire/rude_client_test.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <latch>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "protocol/codec.h"
#include "wire/address.h"
#include "wire/handshake.h"
#include "wire/lobby.h"
#include "wire/records.h"

namespace outpace::wire {
namespace {

using protocol::encode;
using protocol::Heartbeat;
using protocol::InitialWeights;
using protocol::Snapshot;

class RudeClientTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(All,
                         RudeClientTest,
                         testing::Values("tcp", "unix", "memory"),
                         [](const auto& kind) { return std::string(kind.param); });

// A head that claims this, with right checksums.
std::string head_of(std::uint32_t kind, std::uint32_t bytes) {
  std::array<std::uint32_t, 4> numbers = {kind, bytes, 0, 0};
  const std::string_view head(reinterpret_cast<const char*>(numbers.data()), kHeadBytes);
  numbers[3] = crc32c(head.substr(0, 12));
  return std::string(head);
}

std::string floats(std::size_t count) {
  return std::string(count * sizeof(float), 'x');
}

// ---- Strangers ----------------------------------------------------------------------------------

TEST_P(RudeClientTest, RefusesEveryOtherProofBeforeItReadsAnything) {
  const auto server = serve();
  using Forge = std::function<Proof(const Proven&)>;
  const std::vector<Forge> forgeries = {
      [](const Proven&) { return Proof{}; },
      [](const Proven& proven) { return prove("open-sesamf", "client", proven); },
      [](const Proven& proven) { return prove("", "client", proven); },
      [](const Proven& proven) { return prove(kToken, "server", proven); },
      [](Proven proven) {
        proven.server = make_nonce();
        return prove(kToken, "client", proven);
      },
      [](Proven proven) {
        proven.binding.fill(1);
        return prove(kToken, "client", proven);
      },
  };
  for (const Forge& forge : forgeries) {
    const RawClient client(server->address());
    const Proof proof = forge(client.open());
    client.write(proof);
    const auto answer = client.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code, AnswerCode::kWrongToken);
    EXPECT_FALSE(client.answer()) << "and closed";
  }
  EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.empty(); }));
  EXPECT_TRUE(refused_.wait_for(": a wrong token"));
}

TEST_P(RudeClientTest, RefusesAHandshakeThatWasRecorded) {
  const auto server = serve();
  const RawClient honest(server->address());
  const Proven proven = honest.open();
  const Proof proof = prove(kToken, "client", proven);
  honest.write(proof);
  EXPECT_EQ(honest.answer()->code, AnswerCode::kAccepted);
  const RawClient replay(server->address());
  replay.write(encode_opening(proven.client));
  replay.write(proof);
  EXPECT_EQ(replay.answer()->code, AnswerCode::kChallenge);
  EXPECT_EQ(replay.answer()->code, AnswerCode::kWrongToken);
}

TEST_P(RudeClientTest, DropsWhoIsNoneOfOurs) {
  const auto server = serve();
  for (const char* rubbish : {"GET / HTTP/1.1\r\n\r\n", "OUTPACE1", "x"}) {
    const RawClient client(server->address());
    client.write(rubbish);
    EXPECT_FALSE(client.answer()) << "dropped without a word";
  }
  EXPECT_TRUE(refused_.wait_for(": it is none of ours"));
  EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.empty(); }));
}

TEST_P(RudeClientTest, TellsAClientThatSpeaksTlsThatThereIsNone) {
  const auto server = serve();
  const RawClient client(server->address());
  client.write(std::string("\x16\x03\x01\x02", 4));
  EXPECT_EQ(client.answer()->code, AnswerCode::kHasNoTls);
}

TEST_P(RudeClientTest, IsNotKeptUpByStrangersWhoSayNothing) {
  auto server = serve();
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (std::size_t i = 0; i < kStrangersMax + 20; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server->address()));
  }
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("friend"), nullptr);
  EXPECT_NE(server_.wait_hello("friend"), ConnectionId{0}) << "the oldest gave way";
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience / 3) << "nor in its end";
}

// The address sanitizer itself opens a pipe to look at an object's type, and would have none.
#ifndef __SANITIZE_ADDRESS__
TEST_P(RudeClientTest, SurvivesAConnectionForWhichThereIsNoDescriptor) {
  const auto server = serve();
  const RawClient client(server->address());
  const Proof proof = prove(kToken, "client", client.open());
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const int free = ::dup(0);
  ::close(free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(free);
  ::setrlimit(RLIMIT_NOFILE, &none);
  client.write(proof);
  const bool told = refused_.wait_for("Too many open files");
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(told);
  Recorder events;
  const auto other = connect(server->address(), events);
  other->send(hello_from("friend"), nullptr);
  EXPECT_NE(server_.wait_hello("friend"), ConnectionId{0});
}
#endif

TEST_P(RudeClientTest, NamesOneStrangerASecondAndCountsTheRest) {
  const auto server = serve();
  for (int i = 0; i < 50; ++i) {
    const RawClient client(server->address());
    client.write("rubbish");
    EXPECT_FALSE(client.answer());
  }
  EXPECT_TRUE(refused_.wait_for(GetParam() == std::string("tcp") ? "refused 127.0.0.1:"
                                                                 : "refused process "));
  EXPECT_LT(refused_.count(), 50U);
}

// ---- Clients that have the token ----------------------------------------------------------------

TEST_P(RudeClientTest, EndsAConnectionThatBeginsWithSilence) {
  to_begin_ = std::chrono::milliseconds(50);
  const auto server = serve();
  for (const std::string& begun : {std::string(), head_of(1, 100) + "half of a message"}) {
    const RawClient silent(server->address());
    const Proof proof = prove(kToken, "client", silent.open());
    silent.write(std::string(proof.begin(), proof.end()) + begun);
    ASSERT_TRUE(silent.answer());
    EXPECT_EQ(silent.read_farewell(), "it said nothing for too long");
  }
}

TEST_P(RudeClientTest, EndsAConnectionWithAMalformedRecordAndNoOther) {
  const auto server = serve();
  Recorder events;
  const auto bystander = connect(server->address(), events);
  bystander->send(hello_from("bystander"), nullptr);
  const ConnectionId bystander_id = server_.wait_hello("bystander");

  const auto message = [](const std::string& frame) {
    return RawClient::record(RecordKind::kMessage, frame);
  };
  const auto some = [](std::size_t count) {
    return RawClient::record(RecordKind::kNumbers, floats(count));
  };
  const std::string changed = "was changed on the way: its checksum is another";
  std::string wrong_body = message(encode(Heartbeat{}, 0));
  wrong_body.back() = static_cast<char>(wrong_body.back() ^ 1);
  std::string wrong_head = message(encode(Heartbeat{}, 0));
  wrong_head[6] = 1;  // 64 KiB more.
  std::string wrong_number = message(encode(InitialWeights{}, 8)) + some(8);
  wrong_number.back() = static_cast<char>(wrong_number.back() ^ 0x40);
  std::vector<RudeCase> cases = {
      {message("rubbish"), "frame is malformed"},
      {head_of(99, 0), "a record of an unknown kind"},
      {head_of(0, 0), "a record of an unknown kind"},
      {head_of(1, 8'388'609), "a record of 8388609 bytes, and at most 8388608 are allowed"},
      {head_of(2, 262'148), "a record of 262148 bytes, and at most 262144 are allowed"},
      {head_of(3, 1025), "a record of 1025 bytes, and at most 1024 are allowed"},
      {message(encode(InitialWeights{}, 9)),
       "initial_weights has a payload of 9 numbers, and at most 8 are allowed"},
      {message(encode(InitialWeights{}, std::uint64_t{1} << 61U)),
       "initial_weights has a payload above 2^32 numbers"},
      {some(1), "numbers belong to no payload"},
      {message(encode(InitialWeights{}, 8)) + some(4) + some(5),
       "numbers go beyond the end of their payload"},
      {message(encode(InitialWeights{}, 8)) + some(0), "numbers must be whole and at least one"},
      {message(encode(InitialWeights{}, 8)) + RawClient::record(RecordKind::kNumbers, "three"),
       "numbers must be whole and at least one"},
      {message(encode(InitialWeights{}, 8)) + some(4) + message(encode(Heartbeat{}, 0)),
       "heartbeat came within the payload of initial_weights"},
  };
  if (!is_unix()) {
    cases.push_back({wrong_head, "the head of a record " + changed});
    cases.push_back({wrong_body, "a record " + changed});
    cases.push_back({wrong_number, "a record " + changed});
  }
  expect_farewells(*server, server_, cases);

  bystander->send(Heartbeat{}, nullptr);
  EXPECT_TRUE(server_.wait_received(bystander_id, 2));
  EXPECT_TRUE(events.log().closed.empty());
}

TEST_P(RudeClientTest, PutsTogetherWhatComesByteByByte) {
  const auto server = serve();
  const RawClient client(server->address());
  const auto one_by_one = [&client](std::string_view bytes) {
    for (const char& byte : bytes) {
      client.write(std::string_view(&byte, 1));
    }
  };
  Proven proven{.client = make_nonce(), .server = {}, .binding = {}};
  const OpeningBytes opening = encode_opening(proven.client);
  one_by_one({opening.data(), opening.size()});
  proven.server = client.answer()->bytes;
  const Proof proof = prove(kToken, "client", proven);
  one_by_one({proof.data(), proof.size()});
  one_by_one(RawClient::record(RecordKind::kMessage, encode(hello_from("slow"), 0)));
  const ConnectionId id = server_.wait_hello("slow");
  ASSERT_NE(id, ConnectionId{0});
  server->authorise(id, 8);
  one_by_one(RawClient::record(RecordKind::kMessage, encode(InitialWeights{}, 8)) +
             RawClient::record(RecordKind::kNumbers, floats(3)) +
             RawClient::record(RecordKind::kNumbers, floats(5)) +
             RawClient::record(RecordKind::kMessage, encode(Heartbeat{}, 0)));
  ASSERT_TRUE(server_.wait_received(id, 3));
  const float number = std::bit_cast<float>(std::array{'x', 'x', 'x', 'x'});
  EXPECT_EQ(server_.log(id).received[1].payload, std::vector<float>(8, number));
}

TEST_P(RudeClientTest, EndsAConnectionThatBreaksOffWithinAPayload) {
  const auto server = serve();
  ConnectionId id{0};
  {
    const RawClient client(server->address());
    client.join("a");
    id = server_.wait_hello("a");
    server->authorise(id, 8);
    client.write_message(encode(InitialWeights{}, 8));
    client.write(RawClient::record(RecordKind::kNumbers, floats(4)));
  }
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).received.size(), 1U) << "half a payload is no payload";
  EXPECT_EQ(server_.log(id).closed[0].why, "the connection was lost");
}

TEST_P(RudeClientTest, ClosesAClientThatDoesNotRead) {
  unread_max_ = {.messages = 1000, .payloads = 3};
  const auto server = serve();
  const RawClient client(server->address());
  client.join("deaf");
  const ConnectionId id = server_.wait_hello("deaf");
  const Payload payload = numbers(std::size_t{4} << 20U, 1);  // More than a socket holds.
  for (int i = 0; i < 8; ++i) {
    server->send(id, Snapshot{.version = Version{1}}, payload);
  }
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).closed[0].why,
            "it does not read: 4 messages wait for it, 4 of them with numbers");
}

TEST_P(RudeClientTest, ReadsNoMoreOfAClientThanItsReceiverHandles) {
  Recorder events;
  std::latch handled(1);
  std::atomic<int> in_hand{0};
  std::atomic<int> most{0};
  std::vector<std::jthread> handlers;  // The connection's thread fills it, as long as it lives.
  const auto server = wire::serve(
      {.address = any_address(), .token = kToken},
      [&, sink = server_.server_sink()](ConnectionId id, ConnectionEvent event) {
        auto* received = std::get_if<Received>(&event);
        if (received != nullptr && !received->payload.empty()) {
          most = std::max(most.load(), ++in_hand);
          handlers.emplace_back([&handled, &in_hand, turn = std::move(received->turn)]() mutable {
            handled.wait();
            --in_hand;
            turn.reset();
          });
        }
        sink(id, std::move(event));
      });
  const auto client = connect(server->address(), events);
  client->send(hello_from("eager"), nullptr);
  const ConnectionId id = server_.wait_hello("eager");
  server->authorise(id, 8);
  for (int i = 0; i < 10; ++i) {
    client->send(InitialWeights{}, numbers(8, 1));
  }
  ASSERT_TRUE(server_.wait_received(id, 2));
  handled.count_down();
  ASSERT_TRUE(server_.wait_received(id, 11));
  EXPECT_EQ(most, 1);
}

// ---- Servers that are none ----------------------------------------------------------------------

// The next connection to a listener that is no server of ours.
Descriptor accept_one(const Listener& listener) {
  Endpoint peer;
  Descriptor socket;
  while (socket.number() < 0) {
    socket = accept_from(listener.socket, peer);
  }
  return socket;
}

TEST_P(RudeClientTest, TellsAClientOfAServerThatIsNone) {
  const Listener listener = listen_on(any_address());
  Recorder events;
  const auto client = connect(listener.address, events);
  const Descriptor other = accept_one(listener);
  const std::string answer = "220 mail.example.org ESMTP";
  ASSERT_GT(::send(other.number(), answer.data(), answer.size(), MSG_NOSIGNAL), 0);
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  EXPECT_EQ(events.log().closed[0].why, listener.address + " is not an Outpace server");
}

TEST_P(RudeClientTest, TellsAClientOfAServerThatDoesNotKnowTheToken) {
  const Listener listener = listen_on(any_address());
  Recorder events;
  const auto client = connect(listener.address, events);
  const Descriptor other = accept_one(listener);
  for (const AnswerCode code : {AnswerCode::kChallenge, AnswerCode::kAccepted}) {
    const AnswerBytes bytes = encode_answer({.code = code, .bytes = make_nonce()});
    ASSERT_GT(::send(other.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
  }
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  EXPECT_EQ(events.log().closed[0].why,
            listener.address + ": the server does not know the job's token");
  EXPECT_TRUE(events.log().closed[0].refused);
}

}  // namespace
}  // namespace outpace::wire
