// What the contract's test cannot do with transports alone: clients that break the rules of the
// Unix socket's records.

#include "live/unix_transport.h"

#include <array>
#include <cstring>

#include <sys/socket.h>

#include "wire/transport_test.h"
#include "live/unix_address.h"
#include "live/unix_stream.h"
#include "protocol/codec.h"

namespace outpace::wire {
namespace {

using protocol::encode;
using protocol::Heartbeat;
using protocol::InitialWeights;

class UnixTransportTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(Unix, UnixTransportTest, testing::Values("unix"));

// Writes bytes, and reads records.
class RawUnixClient {
 public:
  explicit RawUnixClient(const std::string& address)
      : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const UnixAddress name(address);
    EXPECT_EQ(::connect(socket_.number(), name.address(), UnixAddress::size()), 0);
  }

  void write(const std::string& bytes) const {
    EXPECT_EQ(::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void write_record(RecordKind kind, const std::string& bytes) const { write(record(kind, bytes)); }
  // A packet of one frame.
  void write_frame(const std::string& frame) const {
    write_record(RecordKind::kPacket, protocol::encode_frame_head(frame.size()) + frame);
  }
  void join(const std::string& host) const {
    write_record(RecordKind::kAuthentication, kToken);
    write_frame(encode(hello_from(host), 0));
  }

  static std::string record(RecordKind kind, const std::string& bytes) {
    return head(static_cast<std::uint32_t>(bytes.size()), kind) + bytes;
  }
  static std::string head(std::uint32_t size, RecordKind kind) {
    const std::array<std::uint32_t, 2> numbers = {size, static_cast<std::uint32_t>(kind)};
    return {reinterpret_cast<const char*>(numbers.data()), sizeof(numbers)};
  }

  // The next record, as its kind and bytes; nothing at the end of the connection.
  [[nodiscard]] std::optional<std::pair<RecordKind, std::string>> read() const {
    std::array<std::uint32_t, 2> numbers{};
    if (!read_all(reinterpret_cast<char*>(numbers.data()), sizeof(numbers))) {
      return std::nullopt;
    }
    std::string bytes(numbers[0], '\0');
    EXPECT_TRUE(read_all(bytes.data(), bytes.size()));
    return std::pair(static_cast<RecordKind>(numbers[1]), bytes);
  }
  // Why the server ended the connection that it had accepted.
  [[nodiscard]] std::string read_farewell() const {
    const auto accepted = read();
    EXPECT_TRUE(accepted && accepted->first == RecordKind::kAccepted);
    const auto farewell = read();
    EXPECT_TRUE(farewell && farewell->first == RecordKind::kFarewell);
    return farewell ? farewell->second : "";
  }

 private:
  [[nodiscard]] bool read_all(char* to, std::size_t bytes) const {
    return bytes == 0 ||
           ::recv(socket_.number(), to, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }

  const Descriptor socket_;
};

TEST_P(UnixTransportTest, RefusesEveryOtherTokenBeforeItReadsAnything) {
  const auto server = serve();
  const std::string good = kToken;
  for (const std::string& wrong :
       {std::string(), std::string("open-sesamf"), good + "e", good.substr(1)}) {
    const RawUnixClient client(server->address());
    // In one piece: the server may have hung up before a second one.
    client.write(RawUnixClient::record(RecordKind::kAuthentication, wrong) +
                 RawUnixClient::record(RecordKind::kPacket, "rubbish"));
    const auto answer = client.read();
    ASSERT_TRUE(answer) << wrong;
    EXPECT_EQ(answer->first, RecordKind::kRefused);
    EXPECT_EQ(answer->second, "the server refused the token");
    EXPECT_FALSE(client.read());
  }
  for (const std::string& rubbish : {RawUnixClient::head(100'000, RecordKind::kAuthentication),
                                     std::string("GET / HTTP/1.1\r\n\r\n"),
                                     RawUnixClient::head(0, RecordKind::kPacket)}) {
    const RawUnixClient client(server->address());
    client.write(rubbish);
    EXPECT_FALSE(client.read()) << "dropped without a word";
  }
  EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.empty(); }));
}

TEST_P(UnixTransportTest, EndsAConnectionWithAMalformedRecordAndNoOther) {
  const auto server = serve();
  Recorder events;
  const auto bystander = connect(server->address(), events);
  bystander->send(hello_from("bystander"), nullptr);
  const ConnectionId bystander_id = server_.wait_hello("bystander");

  const auto too_large = static_cast<std::uint32_t>(protocol::kPacketBytesMax + 1);
  struct Case {
    std::string bytes;
    std::string why;
  };
  const std::vector<Case> cases = {
      {RawUnixClient::head(7, RecordKind::kPacket) + "rubbish",
       "packet must hold whole frames and nothing else"},
      {RawUnixClient::head(0, RecordKind::kPacket),
       "packet must hold whole frames and nothing else"},
      {RawUnixClient::head(0, RecordKind{99}), "a record of an unknown kind"},
      {RawUnixClient::head(1, RecordKind::kAuthentication) + "x", "a record of an unknown kind"},
      {RawUnixClient::head(too_large, RecordKind::kPacket),
       "a record of " + std::to_string(too_large) + " bytes, and at most " +
           std::to_string(too_large - 1) + " are allowed"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string host = "rude " + std::to_string(i);
    const RawUnixClient client(server->address());
    client.join(host);
    const ConnectionId id = server_.wait_hello(host);
    client.write(cases[i].bytes);
    EXPECT_EQ(client.read_farewell(), cases[i].why);
    ASSERT_TRUE(server_.wait_closed(id));
    EXPECT_EQ(server_.log(id).closed[0].why, cases[i].why);
  }

  bystander->send(Heartbeat{}, nullptr);
  EXPECT_TRUE(server_.wait_received(bystander_id, 2));
  EXPECT_TRUE(events.log().closed.empty());
}

TEST_P(UnixTransportTest, PutsTogetherWhatComesByteByByte) {
  const auto server = serve();
  const RawUnixClient client(server->address());
  const std::string hello = encode(hello_from("slow"), 0);
  const std::string packet = protocol::encode_frame_head(hello.size()) + hello;
  const std::string token = kToken;
  const std::string all =
      RawUnixClient::head(static_cast<std::uint32_t>(token.size()), RecordKind::kAuthentication) +
      token + RawUnixClient::head(static_cast<std::uint32_t>(packet.size()), RecordKind::kPacket) +
      packet;
  for (const char byte : all) {
    client.write(std::string(1, byte));
  }
  EXPECT_NE(server_.wait_hello("slow"), ConnectionId{0});
}

TEST_P(UnixTransportTest, EndsAConnectionThatBreaksOffWithinAPayload) {
  const auto server = serve();
  ConnectionId id{0};
  {
    const RawUnixClient client(server->address());
    client.join("a");
    id = server_.wait_hello("a");
    server->authorise(id, 8);
    client.write_frame(encode(InitialWeights{}, 8));
    client.write_frame(encode(protocol::ChunkHeader{.offset = 0, .numbers = 4}) +
                       std::string(4 * sizeof(float), 'x'));
  }
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).received.size(), 1U) << "half a payload is no payload";
  EXPECT_EQ(server_.log(id).closed[0].why, "the connection was lost");
}

TEST_P(UnixTransportTest, TellsAClientOfAServerThatIsNone) {
  const std::string address = any_address();
  const UnixAddress name(address);
  const Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.number(), name.address(), UnixAddress::size()), 0);
  ASSERT_EQ(::listen(listener.number(), 1), 0);
  Recorder events;
  const auto client = connect(address, events);
  const Descriptor other(::accept(listener.number(), nullptr, nullptr));
  const std::string answer = "220 mail.example.org ESMTP";
  ASSERT_GT(::send(other.number(), answer.data(), answer.size(), MSG_NOSIGNAL), 0);
  ASSERT_TRUE(events.wait_closed(ConnectionId{0}));
  EXPECT_EQ(events.log().closed[0].why, address + " is not an Outpace server");
}

TEST_P(UnixTransportTest, IsNotKeptUpByStrangersWhoSayNothing) {
  auto server = serve();
  std::vector<std::unique_ptr<RawUnixClient>> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(std::make_unique<RawUnixClient>(server->address()));
  }
  Recorder events;
  const auto client = connect(server->address(), events);
  client->send(hello_from("friend"), nullptr);
  EXPECT_NE(server_.wait_hello("friend"), ConnectionId{0});
  const auto start = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, kPatience / 3) << "nor in its end";
}

}  // namespace
}  // namespace outpace::wire
