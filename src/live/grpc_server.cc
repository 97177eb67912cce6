// Tested by src/live/transport_test.cc.

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "base/check.h"
#include "base/error.h"
#include "live/grpc_stream.h"
#include "live/grpc_transport.h"
#include "live/token_check.h"

namespace outpace::live {
namespace {

// Of a connection without a call: all that somebody without the token can have.
constexpr int kIdleMs = 30'000;
constexpr int kHandshakeMs = 10'000;

bool knows_token(const grpc::CallbackServerContext& context, const std::string& authorization) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find("authorization");
  return found != metadata.end() && metadata.count("authorization") == 1 &&
         same_token({found->second.data(), found->second.size()}, authorization);
}

// Ends a call of which nothing was read.
class Refusal final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Refusal(grpc::Status status) { Finish(std::move(status)); }

 private:
  void OnDone() override { const std::unique_ptr<Refusal> self(this); }
};

// One client, as gRPC's threads see it. Shared: the server may drop it while send() or gRPC is in
// it.
class GrpcConnection final : public grpc::ServerGenericBidiReactor,
                             public std::enable_shared_from_this<GrpcConnection> {
 public:
  // `closed` is called once and last.
  struct Events {
    std::function<void(Received)> received;
    std::function<void(Closed)> closed;
  };

  GrpcConnection(grpc::CallbackServerContext& context, Events events)
      : context_(context), events_(std::move(events)) {}

  void start() {
    StartSendInitialMetadata();  // Tells the client that it is in.
    StartRead(&incoming_);
  }

  void send(const protocol::Message& message, Payload payload, More more) {
    const std::lock_guard lock(mutex_);
    if (!closing_ && !end_) {
      writer_.add(message, std::move(payload));
      if (more == More::kNone) {
        pump();
      }
    }
  }

  void authorise(std::uint64_t numbers) { authorised_ = numbers; }

  void close() {
    const std::lock_guard lock(mutex_);
    if (!closing_ && !end_) {
      closing_ = true;
      why_ = "closed by the server";
      pump();
    }
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) {
      try {
        take_packet(reader_, incoming_, authorised_, events_.received);
      } catch (const std::exception& error) {  // Also of memory that ran out.
        fail(error.what());
        return;
      }
      incoming_.Clear();
    }
    const std::lock_guard lock(mutex_);
    if (ok && !end_) {
      StartRead(&incoming_);
    } else if (!ok) {
      closing_ = true;
      heard_all_ = true;
      pump();
    }
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.Clear();
    if (!ok && !end_) {
      end_ = grpc::Status::CANCELLED;
    }
    pump();
  }

  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (!end_) {
      end_ = grpc::Status::CANCELLED;
    }
    pump();
  }

  void OnDone() override {
    const std::shared_ptr<GrpcConnection> self = shared_from_this();
    std::string why;
    {
      const std::lock_guard lock(mutex_);
      why = !why_.empty() ? why_
            // gRPC does not tell these two apart.
            : cancelled_ ? "the connection was lost, or a packet took more than 8 MiB"
                         : "end of stream";
    }
    events_.closed({.why = why});
  }

  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (end_) {
      return;
    }
    end_ = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, why);
    why_ = why;
    if (writing_) {
      context_.TryCancel();  // A client that sends garbage may never read: do not wait for it.
    }
    pump();
  }

  // REQUIRES: mutex_ is held.
  void pump() {
    if (writing_ || finished_) {
      return;
    }
    if (!end_ && !writer_.empty()) {
      outgoing_ = next_packet(writer_);
      writing_ = true;
      StartWrite(&outgoing_, write_options(writer_));
      return;
    }
    if (!end_ && closing_ && !heard_all_) {
      // A socket that is closed while the client still sends is reset, and what is on its way is
      // lost. So the client is told that this was all, and ends first.
      if (!told_) {
        told_ = true;
        outgoing_ = nothing();
        writing_ = true;
        StartWrite(&outgoing_);
      }
      return;
    }
    if (!end_ && closing_) {
      end_ = grpc::Status::OK;
    }
    if (end_) {
      finished_ = true;
      writer_.clear();
      Finish(*end_);
    }
  }

  // Constant after construction.
  grpc::CallbackServerContext& context_;
  const Events events_;
  // Of the read that is under way: gRPC starts one at a time.
  grpc::ByteBuffer incoming_;
  PacketReader reader_;
  // Set by any thread.
  std::atomic<std::uint64_t> authorised_{0};
  // State below is guarded by mutex_: callers of send() meet gRPC's threads here.
  std::mutex mutex_;
  PacketWriter writer_;
  grpc::ByteBuffer outgoing_;        // Of the write that is under way.
  std::string why_;                  // The connection ends, if it was this side that ended it.
  std::optional<grpc::Status> end_;  // No write is begun any more.
  bool writing_ = false;
  bool closing_ = false;    // Ends when nothing is queued.
  bool told_ = false;       // The client has been sent a packet of nothing: that this was all.
  bool heard_all_ = false;  // The client sends nothing any more.
  bool finished_ = false;
  bool cancelled_ = false;
};

class GrpcServer final : public ServerTransport, private grpc::CallbackGenericService {
 public:
  // Throws a usage error.
  GrpcServer(const ServeOptions& options, Sink sink)
      : authorization_(authorization(options.token)), sink_(std::move(sink)) {
    grpc::ServerBuilder builder;
    configure(builder);
    int port = 0;
    builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) {
      throw usage_error("cannot listen on " + options.address + "; choose another --listen");
    }
    address_ =
        options.address.starts_with("unix:")
            ? options.address
            : options.address.substr(0, options.address.rfind(':') + 1) + std::to_string(port);
  }

  ~GrpcServer() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    for (const std::shared_ptr<GrpcConnection>& connection : all()) {
      connection->close();
    }
    server_->Shutdown(std::chrono::system_clock::now() + kShutdown);
    server_.reset();
    const std::lock_guard lock(mutex_);
    CHECK(connections_.empty());
  }
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  [[nodiscard]] std::string address() const override { return address_; }

  void send(ConnectionId to,
            const protocol::Message& message,
            Payload payload,
            More more) override {
    if (const std::shared_ptr<GrpcConnection> connection = find(to)) {
      connection->send(message, std::move(payload), more);
    }
  }
  void authorise(ConnectionId connection, std::uint64_t numbers) override {
    if (const std::shared_ptr<GrpcConnection> found = find(connection)) {
      found->authorise(numbers);
    }
  }
  void close(ConnectionId connection) override {
    if (const std::shared_ptr<GrpcConnection> found = find(connection)) {
      found->close();
    }
  }

 private:
  static void configure(grpc::ServerBuilder& builder) {
    for (const Setting& setting : connection_settings()) {
      builder.AddChannelArgument(setting.name, setting.value);
    }
    // Else a second server would quietly share the port, and get half of the workers.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1);
  }

  // A new call. gRPC reads nothing of it before this returns, and then only if asked to.
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* call) override {
    if (!knows_token(*call, authorization_)) {
      return refuse(grpc::StatusCode::UNAUTHENTICATED, "the server refused the token");
    }
    if (call->method() != kConnectMethod) {
      return refuse(grpc::StatusCode::UNIMPLEMENTED, "no such method");
    }
    std::shared_ptr<GrpcConnection> connection;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) {
        return refuse(grpc::StatusCode::UNAVAILABLE, "the server is going");
      }
      const ConnectionId id{next_id_++};
      connection = std::make_shared<GrpcConnection>(
          *call,
          GrpcConnection::Events{
              .received = [this, id](Received received) { sink_(id, std::move(received)); },
              .closed = [this, id](Closed closed) { end(id, std::move(closed)); }});
      connections_.emplace(id, connection);
    }
    connection->start();
    return connection.get();
  }

  static grpc::ServerGenericBidiReactor* refuse(grpc::StatusCode code, const char* why) {
    return std::make_unique<Refusal>(grpc::Status(code, why)).release();
  }

  void end(ConnectionId id, Closed closed) {
    sink_(id, std::move(closed));
    const std::lock_guard lock(mutex_);
    connections_.erase(id);
  }

  std::shared_ptr<GrpcConnection> find(ConnectionId id) {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second;
  }

  std::vector<std::shared_ptr<GrpcConnection>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<GrpcConnection>> connections;
    for (const auto& [id, connection] : connections_) {
      connections.push_back(connection);
    }
    return connections;
  }

  // Constant after construction.
  const std::string authorization_;
  const Sink sink_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
  // State below is guarded by mutex_: callers of send() meet gRPC's threads here.
  std::mutex mutex_;
  std::uint64_t next_id_ = 1;
  bool stopping_ = false;
  std::map<ConnectionId, std::shared_ptr<GrpcConnection>> connections_;
};

}  // namespace

std::unique_ptr<ServerTransport> serve_grpc(const ServeOptions& options,
                                            ServerTransport::Sink sink) {
  return std::make_unique<GrpcServer>(options, std::move(sink));
}

}  // namespace outpace::live
