// What the contract's test cannot do with transports alone: clients that break the rules.

#include "live/grpc_transport.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "live/transport_test.h"
#include "protocol/codec.h"

namespace outpace::live {
namespace {

using protocol::encode;
using protocol::Goodbye;
using protocol::Heartbeat;
using protocol::InitialWeights;

class GrpcTransportTest : public TransportTest {};

INSTANTIATE_TEST_SUITE_P(Grpc, GrpcTransportTest, testing::Values("tcp"));

// Speaks gRPC and nothing above it.
class RawGrpcClient {
 public:
  RawGrpcClient(const std::string& address, const std::string& authorization)
      : stub_(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())) {
    if (!authorization.empty()) {
      context_.AddMetadata("authorization", authorization);
    }
    context_.set_deadline(std::chrono::system_clock::now() + kPatience);
    context_.set_wait_for_ready(true);
    call_ = stub_.PrepareCall(&context_, "/outpace.wire.Outpace/Connect", &queue_);
    call_->StartCall(nullptr);
    next();
  }
  ~RawGrpcClient() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  RawGrpcClient(const RawGrpcClient&) = delete;
  RawGrpcClient& operator=(const RawGrpcClient&) = delete;

  // A packet of one frame.
  void write(const std::string& frame) {
    write_raw(protocol::encode_frame_head(frame.size()) + frame);
  }
  void write_raw(const std::string& bytes) {
    const grpc::Slice slice(bytes);
    call_->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    next();
  }
  // The size of the next packet.
  std::size_t read() {
    grpc::ByteBuffer packet;
    call_->Read(&packet, nullptr);
    next();
    return packet.Length();
  }
  void end_writes() {
    call_->WritesDone(nullptr);
    next();
  }
  // Waits for the server to end the call.
  grpc::Status finish() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    next();
    return status;
  }

 private:
  void next() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

std::string good_authorization() {
  return std::string("Bearer ") + kToken;
}
std::string chunk(std::uint64_t offset, std::uint64_t count) {
  return encode(protocol::ChunkHeader{.offset = offset, .numbers = count}) +
         std::string(count * sizeof(float), 'x');
}

TEST_P(GrpcTransportTest, RefusesEveryOtherTokenBeforeItReadsAnything) {
  const auto server = serve();
  const std::string good = good_authorization();
  for (const std::string& wrong : {std::string(),
                                   std::string("Bearer"),
                                   std::string("Bearer open-sesamf"),
                                   good + "e",
                                   good.substr(0, good.size() - 1),
                                   std::string("Basic ") + kToken,
                                   std::string(kToken)}) {
    RawGrpcClient client(server->address(), wrong);
    client.write("rubbish");  // Had it been parsed, the status would be INVALID_ARGUMENT.
    EXPECT_EQ(client.finish().error_code(), grpc::StatusCode::UNAUTHENTICATED) << wrong;
  }
  EXPECT_TRUE(server_.wait([](const auto& logs) { return logs.empty(); }));
}

TEST_P(GrpcTransportTest, EndsAConnectionWithAMalformedFrameAndNoOther) {
  const auto server = serve();
  Recorder events;
  const auto bystander = connect(server->address(), events);
  bystander->send(hello_from("bystander"), nullptr);
  const ConnectionId bystander_id = server_.wait_hello("bystander");

  struct Case {
    std::vector<std::string> frames;
    std::string why;
  };
  const std::vector<Case> cases = {
      {{"rubbish"}, "frame is malformed"},
      {{encode(InitialWeights{}, 9)},
       "initial_weights has a payload of 9 numbers, and at most 8 are allowed"},
      {{chunk(0, 1)}, "chunk belongs to no payload"},
      {{encode(InitialWeights{}, 8), chunk(1, 1)}, "chunk.offset is 1 where 0 comes next"},
      {{encode(InitialWeights{}, 8), chunk(0, 4), chunk(0, 4)},
       "chunk.offset is 0 where 4 comes next"},
      {{encode(InitialWeights{}, 8), chunk(0, 4), chunk(4, 5)},
       "chunk goes beyond the end of its payload"},
      {{encode(InitialWeights{}, 8), chunk(0, 4), encode(Heartbeat{}, 0)},
       "heartbeat came within the payload of initial_weights"},
      {{encode(InitialWeights{}, 8), chunk(0, 8), chunk(8, 1)}, "chunk belongs to no payload"},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string host = "rude " + std::to_string(i);
    RawGrpcClient client(server->address(), good_authorization());
    client.write(encode(hello_from(host), 0));
    const ConnectionId id = server_.wait_hello(host);
    server->authorise(id, 8);
    for (const std::string& frame : cases[i].frames) {
      client.write(frame);
    }
    const grpc::Status status = client.finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << cases[i].why;
    EXPECT_EQ(status.error_message(), cases[i].why);
    ASSERT_TRUE(server_.wait_closed(id));
    EXPECT_EQ(server_.log(id).closed[0].why, cases[i].why);
  }

  bystander->send(Heartbeat{}, nullptr);
  EXPECT_TRUE(server_.wait_received(bystander_id, 2));
  EXPECT_TRUE(events.log().closed.empty());
}

TEST_P(GrpcTransportTest, EndsAConnectionWithAMalformedPacket) {
  const auto server = serve();
  const std::string frame = encode(Heartbeat{}, 0);
  const std::string head = protocol::encode_frame_head(frame.size());
  const std::vector<std::string> packets = {
      "", "rubbish", head, head + frame.substr(1), head + frame + "x", head + frame + head};
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const std::string host = "rude " + std::to_string(i);
    RawGrpcClient client(server->address(), good_authorization());
    client.write(encode(hello_from(host), 0));
    const ConnectionId id = server_.wait_hello(host);
    client.write_raw(packets[i]);
    EXPECT_EQ(client.finish().error_message(), "packet must hold whole frames and nothing else");
    ASSERT_TRUE(server_.wait_closed(id));
  }
}

TEST_P(GrpcTransportTest, TakesAllFramesOfAPacket) {
  const auto server = serve();
  RawGrpcClient client(server->address(), good_authorization());
  client.write(encode(hello_from("a"), 0));
  const ConnectionId id = server_.wait_hello("a");
  server->authorise(id, 8);
  std::string packet;
  for (const std::string& frame : {encode(InitialWeights{}, 8),
                                   chunk(0, 5),
                                   chunk(5, 3),
                                   encode(Heartbeat{}, 0),
                                   encode(Goodbye{}, 0)}) {
    packet += protocol::encode_frame_head(frame.size()) + frame;
  }
  client.write_raw(packet);
  ASSERT_TRUE(server_.wait_received(id, 4));
  const Log log = server_.log(id);
  EXPECT_EQ(log.received[1].payload.size(), 8U);
  EXPECT_EQ(std::string(protocol::name(log.received[2].message)), "heartbeat");
  EXPECT_EQ(std::string(protocol::name(log.received[3].message)), "goodbye");
}

TEST_P(GrpcTransportTest, EndsAConnectionWithAnOversizedPacket) {
  const auto server = serve();
  RawGrpcClient client(server->address(), good_authorization());
  client.write(encode(hello_from("a"), 0));
  const ConnectionId id = server_.wait_hello("a");
  client.write_raw(std::string(protocol::kPacketBytesMax + 1, 'x'));
  EXPECT_EQ(client.finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).closed[0].why,
            "the connection was lost, or a packet took more than 8 MiB");
}

// Or the socket would be reset while the client still has something to say, an acknowledgement say,
// and what it has not read by then would be lost.
TEST_P(GrpcTransportTest, EndsAConnectionOnlyWhenTheClientHasAllThatWasQueued) {
  const auto server = serve();
  RawGrpcClient client(server->address(), good_authorization());
  client.write(encode(hello_from("slow"), 0));
  const ConnectionId id = server_.wait_hello("slow");
  server->send(id, Heartbeat{}, nullptr);
  server->close(id);
  Recorder events;
  const auto other = connect(server->address(), events);
  other->send(hello_from("other"), nullptr);
  server_.wait_hello("other");
  EXPECT_TRUE(server_.log(id).closed.empty());
  EXPECT_GT(client.read(), 0U);
  EXPECT_EQ(client.read(), 0U) << "that was all";
  EXPECT_TRUE(server_.log(id).closed.empty());
  client.end_writes();
  EXPECT_TRUE(client.finish().ok());
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).closed[0].why, "closed by the server");
}

TEST_P(GrpcTransportTest, EndsAConnectionThatBreaksOffWithinAPayload) {
  const auto server = serve();
  ConnectionId id{0};
  {
    RawGrpcClient client(server->address(), good_authorization());
    client.write(encode(hello_from("a"), 0));
    id = server_.wait_hello("a");
    server->authorise(id, 8);
    client.write(encode(InitialWeights{}, 8));
    client.write(chunk(0, 4));
  }
  ASSERT_TRUE(server_.wait_closed(id));
  EXPECT_EQ(server_.log(id).received.size(), 1U) << "half a payload is no payload";
}

}  // namespace
}  // namespace outpace::live
