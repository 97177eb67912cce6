// Tested by src/world/wire/transport_test.cc.

#include "wire/stream_client.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/backoff.h"
#include "base/error.h"
#include "base/overloaded.h"
#include "wire/address.h"
#include "wire/bundle.h"
#include "wire/handshake.h"
#include "wire/record_stream.h"
#include "wire/unix_stream.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

// For one address of several, and for the server's part of a handshake.
constexpr auto kAttempt = std::chrono::seconds(5);
constexpr auto kHandshake = std::chrono::seconds(10);
// From one look to the next whether a connection of several was lost.
constexpr auto kBetweenLooks = std::chrono::seconds(1);

// The two sides do not know each other: trying again is no use.
class Refused : public Error {
 public:
  explicit Refused(const std::string& why) : Error(ExitCode::kAuthentication, why) {}
};
// The connection went away, or was never there: it may come.
class NotThere : public Error {
 public:
  explicit NotThere(const std::string& why) : Error(ExitCode::kFailure, why) {}
};

class StreamClient final : public ClientTransport {
 public:
  StreamClient(const ConnectOptions& options, std::unique_ptr<TlsContext> tls, Sink sink)
      : options_(options),
        tls_(std::move(tls)),
        sink_(std::move(sink)),
        pass_(options.address.starts_with(kUnixPrefix) ? std::nullopt : parse_pass(options.token)),
        key_(pass_ ? std::string(pass_->key.begin(), pass_->key.end()) : options.token),
        give_up_(steady_clock::now() +
                 std::chrono::duration_cast<steady_clock::duration>(options.deadline)),
        kept_(options.kept ? options.kept : std::make_shared<KeptNumbers>()),
        waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (waker_.number() < 0) {
      throw Error(ExitCode::kFailure, std::string("eventfd: ") + std::strerror(errno));
    }
    thread_ = std::thread([this] { run(); });
  }

  ~StreamClient() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      if (stream_) {
        stream_->abort();
      }
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
    thread_.join();
    if (lanes_.joinable()) {
      lanes_.join();
    }
  }
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  void send(const protocol::Message& message, Payload payload) override {
    const std::lock_guard lock(mutex_);
    if (stream_) {
      stream_->send(message, std::move(payload), More::kNone);
    } else if (!stopping_ && !finishing_) {
      waiting_.emplace_back(message, std::move(payload));
    }
  }
  Room room(std::uint64_t numbers) override {
    {
      const std::lock_guard lock(mutex_);
      if (stream_) {
        if (auto room = stream_->room(numbers)) {
          return *std::move(room);
        }
      }
    }
    auto own = kept_->borrow(numbers);
    own->resize(numbers);  // Does nothing to memory that has been used.
    return {*own, own, KeptNumbers::memory_of(own)};
  }
  bool slices() override {
    const std::lock_guard lock(mutex_);
    return stream_ && !stream_->may_share();
  }
  void authorise(std::uint64_t numbers) override {
    const std::lock_guard lock(mutex_);
    authorised_ = numbers;
    if (stream_) {
      stream_->authorise(numbers);
    }
  }
  void finish() override {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
    if (stream_) {
      stream_->finish("");
    }
  }

 private:
  void run() {
    Closed closed;
    bool joined = false;
    try {
      std::unique_ptr<ByteStream> bytes = join();
      joined = true;
      closed = converse(std::move(bytes));
    } catch (const Refused& refused) {
      closed = {.why = refused.what(), .refused = true};
    } catch (const std::exception& error) {  // Also of memory that ran out.
      closed = {.why = error.what(), .reached = joined};
    }
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      waiting_.clear();
      if (stream_) {
        stream_->abort();
      }
    }
    sink_(std::move(closed));
  }

  // ---- Until both know each other ----

  // Tries until the deadline, or until the client is destroyed.
  [[nodiscard]] std::unique_ptr<ByteStream> join() {
    std::string last;
    Backoff backoff(std::random_device{}());
    const auto begun = steady_clock::now();
    while (true) {
      try {
        const std::vector<Endpoint> endpoints = resolve(options_.address, give_up_);
        if (auto joined = try_each(endpoints, last)) {
          tell_tried("");
          return joined;
        }
      } catch (const Refused&) {
        throw;
      } catch (const Error& error) {
        last = error.what();
      }
      tell_tried(last);
      pollfd wait{.fd = waker_.number(), .events = POLLIN, .revents = 0};
      const auto now = steady_clock::now();
      const auto pause = backoff.next(std::chrono::duration_cast<Duration>(now - begun));
      const auto next =
          std::min(give_up_, now + std::chrono::duration_cast<steady_clock::duration>(pause));
      if (::poll(&wait, 1, milliseconds_until(next)) > 0 || steady_clock::now() >= give_up_) {
        throw NotThere(fmt::format("no server at {} within {:g} s{}",
                                   options_.address,
                                   to_seconds(options_.deadline),
                                   last.empty() ? "" : " (" + last + ")"));
      }
    }
  }

  void tell_tried(const std::string& why) const {
    if (options_.tried) {
      options_.tried(why);
    }
  }

  // Null if none answers; `last` says of each why.
  [[nodiscard]] std::unique_ptr<ByteStream> try_each(const std::vector<Endpoint>& endpoints,
                                                     std::string& last) {
    last.clear();
    for (const Endpoint& endpoint : endpoints) {
      try {
        const auto until = std::min(give_up_, steady_clock::now() + kAttempt);
        Descriptor socket = connect_to(endpoint, until, waker_, options_.keep_alive);
        choose_lanes(socket);
        endpoint_ = endpoint;
        return shake_hands(
            std::move(socket), lane_, std::min(give_up_, steady_clock::now() + kHandshake));
      } catch (const Refused&) {
        throw;
      } catch (const Error& error) {
        last += (last.empty() ? "" : "; ") + endpoint.text() + ": " + error.what();
      }
    }
    return nullptr;
  }

  // How many connections there are to be, for what the first one shows of the link.
  void choose_lanes(const Descriptor& socket) {
    const auto measured = is_unix() ? std::nullopt : round_trip(socket);
    round_trip_ = measured.value_or(Duration::zero());
    wanted_ = is_unix() ? 1 : options_.connections.value_or(lanes_for(round_trip_));
    lane_ = {};
    if (wanted_ > 1) {
      const Nonce random = make_nonce();
      std::copy_n(random.begin(), lane_.bundle.size(), lane_.bundle.begin());
    }
  }

  [[nodiscard]] std::unique_ptr<ByteStream> shake_hands(Descriptor socket,
                                                        const LaneName& lane,
                                                        steady_clock::time_point until) {
    std::unique_ptr<ByteStream> stream;
    if (tls_) {
      stream = std::make_unique<TlsStream>(std::move(socket), *tls_);
    } else if (is_unix()) {
      stream = std::make_unique<UnixStream>(std::move(socket));
    } else {
      stream = std::make_unique<PlainStream>(std::move(socket));
    }
    open_tls(*stream, until);
    Proven proven{.client = make_nonce(),
                  .server = {},
                  .binding = stream->binding(),
                  .lane = lane,
                  .key = pass_ ? pass_->name : KeyName{}};
    put(*stream, encode_opening(proven.client, lane, proven.key), until);
    proven.server = expect(AnswerCode::kChallenge, *stream, until);
    put(*stream, prove(key_, "client", proven), until);
    const Proof shown = expect(AnswerCode::kAccepted, *stream, until);
    if (!same_proof(shown, prove(key_, "server", proven))) {
      throw Refused(options_.address + ": the server does not know the job's " +
                    (pass_ ? "code" : "token"));
    }
    return stream;
  }

  void open_tls(ByteStream& stream, steady_clock::time_point until) const {
    while (true) {
      switch (stream.open()) {
        case Opening::kOpen:
          return;
        case Opening::kReads:
          await(stream, POLLIN, until);
          break;
        case Opening::kWrites:
          await(stream, POLLOUT, until);
          break;
        case Opening::kFailed:
          throw Refused(options_.address + ": TLS: " + stream.problem());
        case Opening::kGone:
          throw NotThere("it closed the connection");
      }
    }
  }

  void await(const ByteStream& stream, short events, steady_clock::time_point until) const {
    std::array<pollfd, 2> wait = {pollfd{.fd = stream.number(), .events = events, .revents = 0},
                                  pollfd{.fd = waker_.number(), .events = POLLIN, .revents = 0}};
    ::poll(wait.data(), wait.size(), milliseconds_until(until));
    if (wait[0].revents == 0) {
      throw NotThere("it does not answer");
    }
  }

  template <typename Bytes>
  void put(ByteStream& stream, const Bytes& bytes, steady_clock::time_point until) const {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const iovec part{.iov_base = const_cast<char*>(bytes.data()) + sent,
                       .iov_len = bytes.size() - sent};
      const Transfer transfer = stream.send({&part, 1});
      if (transfer.moved == Moved::kGone) {
        return;  // It may have said why.
      }
      if (transfer.moved == Moved::kBlocked) {
        await(stream, POLLOUT, until);
      }
      sent += transfer.bytes;
    }
  }

  // The server's next answer, which must be this one.
  [[nodiscard]] std::array<char, 32> expect(AnswerCode wanted,
                                            ByteStream& stream,
                                            steady_clock::time_point until) const {
    AnswerBytes bytes{};
    std::size_t have = 0;
    while (have < bytes.size()) {
      const iovec part{.iov_base = bytes.data() + have, .iov_len = bytes.size() - have};
      const Transfer transfer = stream.receive({&part, 1});
      have += transfer.bytes;
      if (!kMagic.starts_with({bytes.data(), std::min(have, kMagic.size())})) {
        throw Refused(options_.address + " is not an Outpace server");
      }
      if (transfer.moved == Moved::kGone) {
        if (!stream.problem().empty()) {
          throw Refused(options_.address + ": TLS: " + stream.problem());
        }
        throw NotThere("it closed the connection");
      }
      if (transfer.moved == Moved::kBlocked) {
        await(stream, POLLIN, until);
      }
    }
    Answer answer{};
    if (!decode_answer(bytes, answer)) {
      throw Refused(options_.address + " is not an Outpace server");
    }
    if (answer.code == wanted) {
      return answer.bytes;
    }
    if (answer.code == AnswerCode::kWrongToken && pass_) {
      throw Refused(options_.address + ": the server refused the code");
    }
    throw Refused(options_.address + ": " + words_of(answer.code));
  }

  [[nodiscard]] static std::string words_of(AnswerCode code) {
    switch (code) {
      case AnswerCode::kWrongToken:
        return "the server refused the token; is --token-file the server's?";
      case AnswerCode::kNeedsTls:
        return "the server takes TLS only; give this side the job's certificates (--tls-cert)";
      case AnswerCode::kShutOut:
        return "the server does not know this code any more: it has a new one (`outpace ctl RUN "
               "code`), or this machine was sent away";
      case AnswerCode::kNoCertificate:
        return "the server asks for a certificate beside the token; give this side the job's "
               "(--tls-cert), or join by a code";
      case AnswerCode::kHasNoTls:
        return "the server has no TLS; give it the job's certificates (--tls-cert)";
      default:
        return "the server broke the rules of the handshake";
    }
  }

  // ---- From then on ----

  [[nodiscard]] Closed converse(std::unique_ptr<ByteStream> bytes) {
    RecordStream& stream = begin(std::move(bytes));
    while (auto next = stream.next()) {
      if (const auto* farewell = std::get_if<RecordStream::Farewell>(&*next)) {
        return {.why = farewell->why.empty() ? "end of stream" : farewell->why, .reached = true};
      }
      sink_(std::get<Received>(std::move(*next)));
    }
    return {.why = "connection lost: the server has closed it", .reached = true};
  }

  // Sends what has been waiting.
  [[nodiscard]] RecordStream& begin(std::unique_ptr<ByteStream> bytes) {
    SharingOptions sharing{.peer_places = kServerPlaces, .in_place = true};
    if (is_unix() && options_.shares_memory) {
      sharing.lender = std::make_shared<Lender>(kClientPlaces, nullptr);  // The server warns.
    }
    Bundle* bundle = nullptr;
    if (wanted_ > 1) {
      auto lanes = std::make_unique<Bundle>(std::move(bytes));
      bundle = lanes.get();
      bytes = std::move(lanes);
      if (options_.several) {
        options_.several(wanted_, round_trip_);
      }
    }
    auto stream = std::make_unique<RecordStream>(std::move(bytes),
                                                 StreamOptions{.unread_max = kUnlimited,
                                                               .sharing = std::move(sharing),
                                                               .progress = options_.progress,
                                                               .kept = kept_});
    const std::lock_guard lock(mutex_);
    stream_ = std::move(stream);
    if (bundle != nullptr) {
      lanes_ = std::thread([this, bundle] { open_lanes(*bundle); });
    }
    stream_->authorise(authorised_);
    for (auto& [message, payload] : waiting_) {
      stream_->send(message, std::move(payload), More::kNone);
    }
    waiting_.clear();
    if (finishing_) {
      stream_->finish("");
    }
    if (stopping_) {
      stream_->abort();
    }
    return *stream_;
  }

  // On a thread of its own: opens the connections beside the first, and one for each that is lost.
  void open_lanes(Bundle& bundle) {
    LaneName lane = lane_;
    lane.first = false;
    Backoff backoff(std::random_device{}());
    auto well_since = steady_clock::now();
    for (std::size_t tries = 1; !stopping() && bundle.lanes() > 0; ++tries) {
      Duration pause = tries < wanted_ ? Duration::zero() : Duration(kBetweenLooks);
      if (bundle.lanes() < wanted_) {
        try {
          Descriptor socket =
              connect_to(endpoint_, steady_clock::now() + kAttempt, waker_, options_.keep_alive);
          bundle.add(shake_hands(std::move(socket), lane, steady_clock::now() + kHandshake));
          well_since = steady_clock::now();
        } catch (const std::exception&) {  // The stream goes on over those that there are.
          pause = std::max(
              pause,
              backoff.next(std::chrono::duration_cast<Duration>(steady_clock::now() - well_since)));
        }
      }
      pollfd wait{.fd = waker_.number(), .events = POLLIN, .revents = 0};
      ::poll(&wait,
             1,
             milliseconds_until(steady_clock::now() +
                                std::chrono::duration_cast<steady_clock::duration>(pause)));
    }
  }

  [[nodiscard]] bool stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  [[nodiscard]] bool is_unix() const { return options_.address.starts_with(kUnixPrefix); }

  // A client asks for what it gets, and sends what it is asked for.
  static constexpr UnreadMax kUnlimited{.messages = SIZE_MAX, .payloads = SIZE_MAX};

  // Constant after construction.
  const ConnectOptions options_;
  const std::unique_ptr<TlsContext> tls_;
  const Sink sink_;
  const std::optional<Pass> pass_;  // In place of a token.
  const std::string key_;           // That both sides prove.
  const steady_clock::time_point give_up_;
  const std::shared_ptr<KeptNumbers> kept_;  // Shared with those who read and write payloads.
  const Descriptor waker_;
  // The stream's thread's, and constant once lanes_ runs:
  std::size_t wanted_ = 1;  // Connections.
  Duration round_trip_{};
  LaneName lane_;
  Endpoint endpoint_;  // That answered.
  std::thread lanes_;
  // State below is guarded by mutex_.
  std::mutex mutex_;
  bool stopping_ = false;
  bool finishing_ = false;
  std::uint64_t authorised_ = 0;
  std::deque<std::pair<protocol::Message, Payload>> waiting_;  // For the stream.
  std::unique_ptr<RecordStream> stream_;                       // Once the handshake is over.
  std::thread thread_;
};

}  // namespace

std::unique_ptr<ClientTransport> connect_stream(const ConnectOptions& options,
                                                std::unique_ptr<TlsContext> tls,
                                                ClientTransport::Sink sink) {
  return std::make_unique<StreamClient>(options, std::move(tls), std::move(sink));
}

}  // namespace outpace::wire
