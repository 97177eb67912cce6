// Tested by src/live/transport_test.cc.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/socket.h>

#include "base/error.h"
#include "live/token_check.h"
#include "live/unix_address.h"
#include "live/unix_stream.h"
#include "live/unix_transport.h"

namespace outpace::live {
namespace {

using std::chrono::steady_clock;

constexpr auto kBetweenAttempts = std::chrono::milliseconds(50);

class UnixClient final : public ClientTransport {
 public:
  UnixClient(const ConnectOptions& options, Sink sink)
      : options_(options),
        name_(options.address),
        sink_(std::move(sink)),
        give_up_(steady_clock::now() +
                 std::chrono::duration_cast<steady_clock::duration>(options.deadline)),
        socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)),
        number_(socket_.number()),
        stream_(std::move(socket_)),
        thread_([this] { run(); }) {}

  ~UnixClient() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    stream_.abort();
    thread_.join();
  }
  UnixClient(const UnixClient&) = delete;
  UnixClient& operator=(const UnixClient&) = delete;

  void send(const protocol::Message& message, Payload payload) override {
    stream_.send(message, std::move(payload), More::kNone);
  }
  void authorise(std::uint64_t numbers) override { authorised_ = numbers; }
  void finish() override { stream_.end(RecordKind::kFarewell, ""); }

 private:
  void run() {
    Closed closed;
    try {
      closed = converse();
    } catch (const std::exception& error) {  // Also of memory that ran out.
      closed = {.why = error.what()};
    }
    stream_.abort();
    sink_(std::move(closed));
  }

  // From the first attempt to connect to the end of the connection.
  [[nodiscard]] Closed converse() {
    if (!connect()) {
      return nobody();
    }
    stream_.begin(RecordKind::kAuthentication, options_.token);
    const auto answer = first_record();
    if (!answer) {
      return steady_clock::now() < give_up_ ? lost() : nobody();
    }
    if (answer->kind == RecordKind::kRefused) {
      return {.why = std::string(answer->bytes), .authentication = true};
    }
    if (answer->kind != RecordKind::kAccepted) {
      throw nobody_of_ours();
    }
    while (const auto record = stream_.next(protocol::kPacketBytesMax, -1)) {
      if (record->kind == RecordKind::kFarewell) {
        return {.why = record->bytes.empty() ? "end of stream" : std::string(record->bytes)};
      }
      if (record->kind != RecordKind::kPacket) {
        throw Error(ExitCode::kFailure, "a record of an unknown kind");
      }
      google::protobuf::io::ArrayInputStream bytes(record->bytes.data(),
                                                   static_cast<int>(record->bytes.size()));
      reader_.take(bytes, record->bytes.size(), authorised_, deliver_);
    }
    return lost();
  }

  [[nodiscard]] std::optional<Record> first_record() {
    try {
      return stream_.next(kTokenMax, milliseconds_left());
    } catch (const Error&) {  // Of a size that no answer has.
      throw nobody_of_ours();
    }
  }
  [[nodiscard]] Error nobody_of_ours() const {
    return {ExitCode::kFailure, options_.address + " is not an Outpace server"};
  }

  // Tries until the deadline, or until the client is destroyed.
  [[nodiscard]] bool connect() {
    std::unique_lock lock(mutex_);
    while (!stopping_ && steady_clock::now() < give_up_) {
      if (::connect(number_, name_.address(), UnixAddress::size()) == 0) {
        return true;
      }
      changed_.wait_for(lock, kBetweenAttempts, [this] { return stopping_; });
    }
    return false;
  }

  [[nodiscard]] int milliseconds_left() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up_ - steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  [[nodiscard]] Closed nobody() const {
    return {.why = fmt::format(
                "no server at {} within {:g} s", options_.address, to_seconds(options_.deadline))};
  }
  [[nodiscard]] static Closed lost() {
    return {.why = "connection lost: the server has closed it"};
  }

  // Constant after construction.
  const ConnectOptions options_;
  const UnixAddress name_;
  const Sink sink_;
  const std::function<void(Received)> deliver_ = [this](Received received) {
    sink_(std::move(received));
  };
  const steady_clock::time_point give_up_;
  Descriptor socket_;  // Only until the stream has it.
  const int number_;
  UnixStream stream_;
  PacketReader reader_;  // Of the thread.
  std::atomic<std::uint64_t> authorised_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // Guarded by mutex_.
  std::thread thread_;     // Last: the rest is there when it starts.
};

}  // namespace

std::unique_ptr<ClientTransport> connect_unix(const ConnectOptions& options,
                                              ClientTransport::Sink sink) {
  return std::make_unique<UnixClient>(options, std::move(sink));
}

}  // namespace outpace::live
