// Tested by src/live/transport_test.cc.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "live/token_check.h"
#include "live/unix_address.h"
#include "live/unix_stream.h"
#include "live/unix_transport.h"

namespace outpace::live {
namespace {

// Limits for connections that have not sent the token: how long each may hold a thread, and how
// many there may be.
constexpr int kTokenMs = 10'000;
constexpr int kStrangersMax = 64;
constexpr int kBacklog = 1024;

// One client. Its thread is the stream's.
class UnixConnection {
 public:
  explicit UnixConnection(Descriptor socket) : stream_(std::move(socket)) {}

  // Whether the client has the token; waits for it.
  [[nodiscard]] bool knows(const std::string& token) {
    std::optional<Record> record;
    try {
      record = stream_.next(kTokenMax, kTokenMs);
    } catch (const Error&) {
      return false;  // Nobody of ours.
    }
    if (!record || record->kind != RecordKind::kAuthentication) {
      return false;
    }
    if (!same_token(record->bytes, token)) {
      stream_.begin(RecordKind::kRefused, "the server refused the token");
      return false;
    }
    stream_.begin(RecordKind::kAccepted, "");
    return true;
  }

  // Hands on what the client sends, until the end. Returns why it ended.
  [[nodiscard]] std::string serve(const std::function<void(Received)>& received) {
    try {
      while (const auto record = stream_.next(protocol::kPacketBytesMax, -1)) {
        if (record->kind == RecordKind::kFarewell) {
          end("end of stream", "");
        } else if (record->kind == RecordKind::kPacket) {
          google::protobuf::io::ArrayInputStream bytes(record->bytes.data(),
                                                       static_cast<int>(record->bytes.size()));
          reader_.take(bytes, record->bytes.size(), authorised_, received);
        } else {
          throw Error(ExitCode::kFailure, "a record of an unknown kind");
        }
      }
    } catch (const std::exception& error) {  // Also of memory that ran out.
      end(error.what(), error.what());
      // A client that sends garbage may never read: wait no longer than for one that reads.
      static_cast<void>(
          stream_.next(0, static_cast<int>(kShutdown / std::chrono::milliseconds(1))));
    }
    const std::lock_guard lock(mutex_);
    return why_.empty() ? "the connection was lost" : why_;
  }

  void send(const protocol::Message& message, Payload payload, More more) {
    stream_.send(message, std::move(payload), more);
  }
  void authorise(std::uint64_t numbers) { authorised_ = numbers; }
  void close() { end("closed by the server", ""); }
  void abort() { stream_.abort(); }

 private:
  void end(const std::string& why, const std::string& farewell) {
    {
      const std::lock_guard lock(mutex_);
      if (why_.empty()) {
        why_ = why;
      }
    }
    stream_.end(RecordKind::kFarewell, farewell);
    stream_.stop_reading();
  }

  UnixStream stream_;
  PacketReader reader_;  // Of the stream's thread.
  std::atomic<std::uint64_t> authorised_{0};
  std::mutex mutex_;
  std::string why_;  // The connection ends, if it was known beforehand. Guarded by mutex_.
};

class UnixServer final : public ServerTransport {
 public:
  UnixServer(const ServeOptions& options, Sink sink)
      : token_(options.token), sink_(std::move(sink)), address_(options.address) {
    const UnixAddress name(options.address);
    ::unlink(name.path().c_str());  // Of a server that is gone: nobody listens there.
    listener_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::bind(listener_.number(), name.address(), name.size()) != 0 ||
        ::listen(listener_.number(), kBacklog) != 0) {
      throw usage_error("cannot listen on " + options.address + ": " +
                        std::generic_category().message(errno));
    }
    acceptor_ = std::thread([this] { accept(); });
  }

  ~UnixServer() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    ::shutdown(listener_.number(), SHUT_RDWR);  // Ends the acceptor's wait.
    acceptor_.join();
    ::unlink(UnixAddress(address_).path().c_str());
    for (const auto& [id, connection] : known()) {
      connection->close();
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kShutdown, [this] { return connections_.empty(); });
    for (const Visitor& visitor : visitors_) {
      if (visitor.connection) {
        visitor.connection->abort();
      }
    }
    lock.unlock();  // Each thread takes it to say that it has done.
    for (Visitor& visitor : visitors_) {
      visitor.thread.join();
    }
  }
  UnixServer(const UnixServer&) = delete;
  UnixServer& operator=(const UnixServer&) = delete;

  [[nodiscard]] std::string address() const override { return address_; }

  void send(ConnectionId to,
            const protocol::Message& message,
            Payload payload,
            More more) override {
    if (const auto connection = find(to)) {
      connection->send(message, std::move(payload), more);
    }
  }
  void authorise(ConnectionId connection, std::uint64_t numbers) override {
    if (const auto found = find(connection)) {
      found->authorise(numbers);
    }
  }
  void close(ConnectionId connection) override {
    if (const auto found = find(connection)) {
      found->close();
    }
  }

 private:
  using Connections = std::map<ConnectionId, std::shared_ptr<UnixConnection>>;

  // A connection, and the thread that serves it.
  struct Visitor {
    std::shared_ptr<UnixConnection> connection;
    std::thread thread;
    bool done = false;
  };

  void accept() {
    while (true) {
      pollfd wait = {.fd = listener_.number(), .events = POLLIN, .revents = 0};
      ::poll(&wait, 1, -1);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || strangers_ < kStrangersMax; });
      if (stopping_) {
        return;
      }
      forget_the_done();
      Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
      if (socket.number() >= 0) {
        admit(std::move(socket));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        // Until somebody leaves: asking again at once would be no use.
        changed_.wait_for(lock, std::chrono::milliseconds(100));
      }
    }
  }

  // REQUIRES: mutex_ is held.
  void admit(Descriptor socket) {
    Visitor& visitor = visitors_.emplace_back();
    try {
      visitor.connection = std::make_shared<UnixConnection>(std::move(socket));
      visitor.thread = std::thread([this, &visitor] { serve(visitor); });
      ++strangers_;
    } catch (const std::exception&) {  // No memory, descriptor or thread for one more.
      visitors_.pop_back();
    }
  }

  // REQUIRES: mutex_ is held.
  void forget_the_done() {
    for (auto visitor = visitors_.begin(); visitor != visitors_.end();) {
      if (visitor->done) {
        visitor->thread.join();
        visitor = visitors_.erase(visitor);
      } else {
        ++visitor;
      }
    }
  }

  void serve(Visitor& visitor) {
    const bool known = visitor.connection->knows(token_);
    std::unique_lock lock(mutex_);
    --strangers_;
    if (known && !stopping_) {
      const ConnectionId id{next_id_++};
      connections_.emplace(id, visitor.connection);
      lock.unlock();
      changed_.notify_all();
      const std::string why = visitor.connection->serve(
          [this, id](Received received) { sink_(id, std::move(received)); });
      sink_(id, Closed{.why = why});
      lock.lock();
      connections_.erase(id);
    }
    visitor.connection.reset();
    visitor.done = true;
    lock.unlock();
    changed_.notify_all();
  }

  std::shared_ptr<UnixConnection> find(ConnectionId id) {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second;
  }

  Connections known() {
    const std::lock_guard lock(mutex_);
    return connections_;
  }

  // Constant after construction.
  const std::string token_;
  const Sink sink_;
  const std::string address_;
  Descriptor listener_;
  // State below is guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  int strangers_ = 0;  // Whose token has not come.
  std::uint64_t next_id_ = 1;
  Connections connections_;
  std::list<Visitor> visitors_;
  std::thread acceptor_;
};

}  // namespace

std::unique_ptr<ServerTransport> serve_unix(const ServeOptions& options,
                                            ServerTransport::Sink sink) {
  return std::make_unique<UnixServer>(options, std::move(sink));
}

}  // namespace outpace::live
