// Tested by src/world/wire/transport_test.cc.

#include "wire/stream_server.h"

#include <array>
#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <unistd.h>

#include "base/error.h"
#include "base/overloaded.h"
#include "wire/address.h"
#include "wire/bundle.h"
#include "wire/lobby.h"
#include "wire/record_stream.h"
#include "wire/socket_set.h"
#include "wire/token_check.h"

namespace outpace::wire {
namespace {

// Messages of one connection that the receiver has not handled.
constexpr std::size_t kUnhandledMax = 64;
// How long a client may take to read what is left for it, since it read something last.
constexpr auto kToRead = std::chrono::seconds(10);

// Messages of one connection that the receiver has not handled; the connection waits for them.
class Turns {
 public:
  // Waits until there may be one more. False when nobody waits any more.
  [[nodiscard]] bool wait(bool numbers) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return closed_ || (messages_ < kUnhandledMax && !(numbers && payloads_ > 0));
    });
    messages_ += 1;
    payloads_ += numbers ? 1 : 0;
    return !closed_;
  }
  void give_back(bool numbers) {
    {
      const std::lock_guard lock(mutex_);
      messages_ -= 1;
      payloads_ -= numbers ? 1 : 0;
    }
    changed_.notify_one();
  }
  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t messages_ = 0;
  std::size_t payloads_ = 0;
  bool closed_ = false;
};

// One client. Its thread is the stream's.
class Connection {
 public:
  Connection(std::unique_ptr<ByteStream> bytes,
             const KeyName& proved,
             StreamOptions options,
             Duration to_begin)
      : proved_(proved),
        to_begin_(to_begin),
        traffic_(options.traffic),
        stream_(std::move(bytes), std::move(options)) {}

  // Hands on what the client sends, until the end. Returns why it ended.
  [[nodiscard]] std::string serve(const std::function<void(Received)>& sink) {
    try {
      std::optional by = std::chrono::steady_clock::now() + to_begin_;
      for (bool goes_on = true; goes_on;) {
        auto next = stream_.next(std::exchange(by, std::nullopt));
        goes_on = next && std::visit(Overloaded{[&](Received& received) {
                                                  return deliver(std::move(received), sink);
                                                },
                                                [&](const RecordStream::Farewell&) {
                                                  end("end of stream", "");
                                                  return false;
                                                }},
                                     *next);
      }
      stream_.linger(kToRead);
    } catch (const std::exception& error) {  // Also of memory that ran out.
      end(error.what(), error.what());
      // A client that sends garbage may never read: wait no longer than for one that reads.
      stream_.linger(kShutdown);
    }
    const std::lock_guard lock(mutex_);
    return why_.empty() ? stream_.why() : why_;
  }

  void send(const protocol::Message& message, Payload payload, More more) {
    stream_.send(message, std::move(payload), more);
  }
  void authorise(std::uint64_t numbers) { stream_.authorise(numbers); }
  void close() {
    end("closed by the server", "");
    turns_->close();
  }
  [[nodiscard]] bool hung_up() const { return stream_.hung_up(); }
  [[nodiscard]] int number() const { return stream_.number(); }
  [[nodiscard]] const KeyName& proved() const { return proved_; }
  void abort() {
    stream_.abort();
    turns_->close();
  }

 private:
  [[nodiscard]] bool deliver(Received received, const std::function<void(Received)>& sink) {
    const bool numbers = !received.payload.empty();
    if (numbers && std::holds_alternative<protocol::Push>(received.message)) {
      traffic_->gradient(received.payload.size(), received.bytes);
    }
    const bool goes_on = turns_->wait(numbers);
    received.turn = std::shared_ptr<void>(
        nullptr, [turns = turns_, numbers](void*) { turns->give_back(numbers); });
    if (goes_on) {
      sink(std::move(received));
    }
    return goes_on;
  }

  void end(const std::string& why, const std::string& farewell) {
    {
      const std::lock_guard lock(mutex_);
      if (why_.empty()) {
        why_ = why;
      }
    }
    stream_.end(farewell);
  }

  const KeyName proved_;
  const Duration to_begin_;
  const std::shared_ptr<TrafficCount> traffic_;
  RecordStream stream_;
  const std::shared_ptr<Turns> turns_ = std::make_shared<Turns>();  // Messages may outlive this.
  std::mutex mutex_;
  std::string why_;  // The connection ends, if this side ended it. Guarded by mutex_.
};

class StreamServer final : public ServerTransport {
 public:
  StreamServer(const ServeOptions& options, std::unique_ptr<TlsContext> tls, Sink sink)
      : sink_(std::move(sink)),
        unread_max_(options.unread_max),
        to_begin_(options.to_begin),
        tls_(std::move(tls)),
        passes_(options.passes),
        packer_(options.pack_weights == compress::WeightsKind::kNone
                    ? nullptr
                    : std::make_shared<WeightsPacker>(options.pack_weights)) {
    if (options.address.starts_with(kUnixPrefix) && options.shares_memory) {
      lender_ = std::make_shared<Lender>(kServerPlaces, options.warned);
    }
    open_lobby(lobby_, options.address, options);
    if (!options.beyond.empty()) {
      open_lobby(beyond_, options.beyond, options);
    }
    address_ = lobby_->address();
  }

  ~StreamServer() override {
    beyond_.reset();
    lobby_.reset();  // Nobody comes any more.
    if (address_.starts_with(kUnixPrefix)) {
      ::unlink(address_.c_str() + kUnixPrefix.size());
    }
    for (const auto& [id, connection] : known()) {
      connection->close();
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kShutdown, [this] { return connections_.empty(); });
    for (const auto& [id, connection] : connections_) {
      connection->abort();
    }
    lock.unlock();  // Each thread takes it to say that it has done.
    for (Visitor& visitor : visitors_) {
      visitor.thread.join();
    }
  }
  StreamServer(const StreamServer&) = delete;
  StreamServer& operator=(const StreamServer&) = delete;

  [[nodiscard]] std::string address() const override { return address_; }
  [[nodiscard]] std::string beyond() const override { return beyond_ ? beyond_->address() : ""; }

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
  [[nodiscard]] bool hung_up(ConnectionId connection) override {
    const auto found = find(connection);
    return !found || found->hung_up();
  }
  void close_shut_out() override {
    for (const auto& [id, connection] : known()) {
      if (!lets_in(connection->proved())) {
        connection->close();
      }
    }
  }
  [[nodiscard]] std::optional<KeyName> proved(ConnectionId connection) override {
    const auto found = find(connection);
    return found ? std::optional(found->proved()) : std::nullopt;
  }
  [[nodiscard]] bool has_unread() override { return sockets_.any_readable(); }
  [[nodiscard]] protocol::Traffic traffic() override { return traffic_->now(); }

 private:
  using Connections = std::map<ConnectionId, std::shared_ptr<Connection>>;
  struct Lanes {
    std::weak_ptr<Connection> of;
    Bundle* bundle;  // The connection's.
  };

  // The thread that serves a connection.
  struct Visitor {
    std::thread thread;
    bool done = false;
  };

  void open_lobby(std::optional<Lobby>& lobby,
                  const std::string& address,
                  const ServeOptions& options) {
    const bool is_unix = address.starts_with(kUnixPrefix);
    Listener listener = listen_on(address, is_unix ? Reach::kAddress : options.reach);
    listener.keep_alive = options.keep_alive;
    lobby.emplace(
        std::move(listener),
        options.token,
        is_unix ? nullptr : tls_.get(),
        is_unix ? nullptr : passes_.get(),
        Lobby::Callbacks{
            .admitted = [this, lender = is_unix ? lender_ : nullptr](
                            std::unique_ptr<ByteStream> bytes,
                            const Proven& proven) { admit(std::move(bytes), proven, lender); },
            .refused = options.refused});
  }

  // On a lobby's thread. `lender`: of memory that is shared with this client; may be null.
  void admit(std::unique_ptr<ByteStream> bytes,
             const Proven& proven,
             const std::shared_ptr<Lender>& lender) {
    const LaneName& lane = proven.lane;
    if (lane.alone()) {
      begin(std::move(bytes), proven.key, lender);
      return;
    }
    if (!lane.first) {
      join(std::move(bytes), lane);
      return;
    }
    auto bundle = std::make_unique<Bundle>(std::move(bytes));
    Bundle& lanes = *bundle;
    const auto connection = begin(std::move(bundle), proven.key, lender);
    const std::lock_guard lock(mutex_);
    std::erase_if(bundles_, [](const auto& known) { return known.second.of.expired(); });
    bundles_.insert_or_assign(lane.bundle, Lanes{.of = connection, .bundle = &lanes});
  }

  // One connection more of a client's; of one that has gone, it is closed.
  void join(std::unique_ptr<ByteStream> bytes, const LaneName& lane) {
    std::unique_lock lock(mutex_);
    const auto found = bundles_.find(lane.bundle);
    const auto connection = found == bundles_.end() ? nullptr : found->second.of.lock();
    if (connection) {
      Bundle* const bundle = found->second.bundle;
      lock.unlock();
      bundle->add(std::move(bytes));  // Which lives as long as the connection.
    }
  }

  std::shared_ptr<Connection> begin(std::unique_ptr<ByteStream> bytes,
                                    const KeyName& proved,
                                    const std::shared_ptr<Lender>& lender) {
    auto connection = std::make_shared<Connection>(
        std::move(bytes),
        proved,
        StreamOptions{
            .unread_max = unread_max_,
            .sharing = {.lender = lender, .peer_places = kClientPlaces, .in_place = false},
            .packer = packer_,
            .traffic = traffic_},
        to_begin_);
    const std::lock_guard lock(mutex_);
    forget_the_done();
    const ConnectionId id{next_id_++};
    Visitor& visitor = visitors_.emplace_back();
    connections_.emplace(id, connection);
    try {
      sockets_.add(connection->number());
      visitor.thread =
          std::thread([this, id, connection, &visitor] { serve(id, *connection, visitor); });
    } catch (...) {  // No thread for one more.
      connections_.erase(id);
      visitors_.pop_back();
      throw;
    }
    if (!lets_in(proved)) {  // It was shut out between its proof and now.
      connection->close();
    }
    return connection;
  }

  [[nodiscard]] bool lets_in(const KeyName& name) const {
    return name.is_token() || (passes_ != nullptr && passes_->find(name).has_value());
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

  void serve(ConnectionId id, Connection& connection, Visitor& visitor) {
    const std::string why =
        connection.serve([this, id](Received received) { sink_(id, std::move(received)); });
    sink_(id, Closed{.why = why});
    {
      const std::lock_guard lock(mutex_);
      connections_.erase(id);
      visitor.done = true;
    }
    changed_.notify_all();
  }

  std::shared_ptr<Connection> find(ConnectionId id) {
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : found->second;
  }

  Connections known() {
    const std::lock_guard lock(mutex_);
    return connections_;
  }

  // Constant after construction.
  const Sink sink_;
  const UnreadMax unread_max_;
  const Duration to_begin_;
  const std::unique_ptr<TlsContext> tls_;
  const std::shared_ptr<Passes> passes_;  // Null: the token alone is known.
  // Shared with the connections, as the next two; null: weights go as they are.
  const std::shared_ptr<WeightsPacker> packer_;
  const std::shared_ptr<TrafficCount> traffic_ = std::make_shared<TrafficCount>();
  std::shared_ptr<Lender> lender_;  // Null: they share no memory.
  std::string address_;
  SocketSet sockets_;  // The connections.
  // State below is guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_id_ = 1;
  Connections connections_;
  std::map<std::array<char, 16>, Lanes> bundles_;
  std::list<Visitor> visitors_;
  // Last: their threads call admit().
  std::optional<Lobby> lobby_;
  std::optional<Lobby> beyond_;
};

}  // namespace

std::unique_ptr<ServerTransport> serve_streams(const ServeOptions& options,
                                               std::unique_ptr<TlsContext> tls,
                                               ServerTransport::Sink sink) {
  return std::make_unique<StreamServer>(options, std::move(tls), std::move(sink));
}

}  // namespace outpace::wire
