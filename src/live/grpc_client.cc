// Tested by src/live/transport_test.cc.

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include <fmt/core.h>
#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include "live/grpc_stream.h"
#include "live/grpc_transport.h"

namespace outpace::live {
namespace {

// Until the deadline: how long to wait between attempts to connect, and how long one may take.
constexpr int kWaitMinMs = 50;
constexpr int kWaitMaxMs = 1'000;
constexpr int kAttemptMs = 5'000;

std::shared_ptr<grpc::Channel> open_channel(const std::string& address) {
  grpc::ChannelArguments arguments;
  for (const Setting& setting : connection_settings()) {
    arguments.SetInt(setting.name, setting.value);
  }
  // Without this, clients of one process would share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A retry would need a copy of what was sent; a lost connection is the worker's to deal with.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Workers reach the server directly, also where the environment names a proxy for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kWaitMinMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kAttemptMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kWaitMaxMs);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

// gRPC's threads call into it until OnDone(), and the alarm calls once. The destructor waits for
// both; it must not run on a gRPC thread. A gRPC thread must never be the one that drops the
// channel, because the last channel joins those threads.
class GrpcClient final : public ClientTransport,
                         private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  GrpcClient(const ConnectOptions& options, Sink sink)
      : options_(options),
        sink_(std::move(sink)),
        channel_(open_channel(options.address)),
        stub_(channel_) {
    context_.AddMetadata("authorization", authorization(options.token));
    context_.set_wait_for_ready(true);
    // First: the call may be answered, and the alarm cancelled, before this returns.
    alarm_.Set(
        std::chrono::system_clock::now() +
            std::chrono::duration_cast<std::chrono::system_clock::duration>(options_.deadline),
        [this](bool expired) { connected_or_late(expired); });
    stub_.PrepareBidiStreamingCall(&context_, kConnectMethod, {}, this);
    AddHold();  // For send() and finish(), which come from outside gRPC's calls.
    StartRead(&incoming_);
    StartCall();
  }

  ~GrpcClient() override {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_ && alarm_done_; });
  }
  GrpcClient(const GrpcClient&) = delete;
  GrpcClient& operator=(const GrpcClient&) = delete;

  void send(const protocol::Message& message, Payload payload) override {
    const std::lock_guard lock(mutex_);
    if (!ended_ && !finishing_) {
      writer_.add(message, std::move(payload));
      pump();
    }
  }

  void authorise(std::uint64_t numbers) override { authorised_ = numbers; }

  void finish() override {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    pump();
  }

 private:
  // The server has seen the token and accepted.
  void OnReadInitialMetadataDone(bool ok) override {
    if (ok) {
      const std::lock_guard lock(mutex_);
      connected_ = true;
      alarm_.Cancel();
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      const std::lock_guard lock(mutex_);
      end();
      return;
    }
    if (incoming_.Length() == 0) {
      // That was all, and the server waits until this side has it.
      const std::lock_guard lock(mutex_);
      all_ = true;
      finishing_ = true;
      pump();
      StartRead(&incoming_);
      return;
    }
    try {
      take_packet(reader_, incoming_, authorised_, sink_);
    } catch (const std::exception& error) {  // Also of memory that ran out.
      const std::lock_guard lock(mutex_);
      why_ = error.what();
      context_.TryCancel();
      end();
      return;
    }
    incoming_.Clear();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.Clear();
    if (ok) {
      pump();
    } else {
      writer_.clear();  // The stream has broken, and the read that is under way will say so.
      broken_ = true;
    }
  }

  void OnDone(const grpc::Status& status) override {
    alarm_.Cancel();
    sink_(closed(status));
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_all();  // With the lock: this may be gone once it is free.
  }

  // Called once: when the time for connecting is up, or when the alarm was cancelled.
  void connected_or_late(bool late) {
    const std::lock_guard lock(mutex_);
    if (late && !connected_ && !ended_) {
      why_ = fmt::format(
          "no server at {} within {:g} s", options_.address, to_seconds(options_.deadline));
      context_.TryCancel();
    }
    alarm_done_ = true;
    changed_.notify_all();
  }

  // REQUIRES: mutex_ is held, and no read is under way.
  void end() {
    ended_ = true;
    writer_.clear();
    RemoveHold();
  }

  // REQUIRES: mutex_ is held.
  void pump() {
    if (writing_ || ended_ || broken_) {
      return;
    }
    if (!writer_.empty()) {
      outgoing_ = next_packet(writer_);
      writing_ = true;
      StartWrite(&outgoing_, write_options(writer_));
    } else if (finishing_ && !writes_done_) {
      writes_done_ = true;
      StartWritesDone();
    }
  }

  [[nodiscard]] Closed closed(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    if (!why_.empty()) {
      return {.why = why_};
    }
    if (all_) {
      return {.why = "end of stream"};  // However the connection went away after that.
    }
    switch (status.error_code()) {
      case grpc::StatusCode::OK:
        return {.why = "end of stream"};
      case grpc::StatusCode::UNAUTHENTICATED:
        return {.why = status.error_message(), .authentication = true};
      case grpc::StatusCode::UNIMPLEMENTED:
        return {.why = fmt::format("{} is not an Outpace server", options_.address)};
      case grpc::StatusCode::UNAVAILABLE:
        return {.why = fmt::format("connection lost: {}", status.error_message())};
      default:
        return {.why = status.error_message()};
    }
  }

  // Constant after construction.
  const ConnectOptions options_;
  const Sink sink_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;
  // Of the read that is under way: gRPC starts one at a time.
  grpc::ByteBuffer incoming_;
  PacketReader reader_;
  // Set by any thread.
  grpc::ClientContext context_;
  grpc::Alarm alarm_;
  std::atomic<std::uint64_t> authorised_{0};
  // State below is guarded by mutex_: callers of send() meet gRPC's threads here.
  std::mutex mutex_;
  std::condition_variable changed_;  // done_ or alarm_done_.
  PacketWriter writer_;
  grpc::ByteBuffer outgoing_;  // Of the write that is under way.
  std::string why_;            // The connection ends, if it was this side that ended it.
  bool writing_ = false;
  bool broken_ = false;
  bool connected_ = false;
  bool finishing_ = false;  // Sends what is queued, and nothing more.
  bool all_ = false;        // The server has nothing more to say.
  bool writes_done_ = false;
  bool ended_ = false;
  bool done_ = false;
  bool alarm_done_ = false;
};

}  // namespace

std::unique_ptr<ClientTransport> connect_grpc(const ConnectOptions& options,
                                              ClientTransport::Sink sink) {
  return std::make_unique<GrpcClient>(options, std::move(sink));
}

}  // namespace outpace::live
