// A stranger's bytes against the server's side of the handshake: the server answers by the rules,
// lets in exactly those that prove the token, and ends every other connection.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <poll.h>

#include "targets.h"
#include "wire/address.h"
#include "wire/certificates.h"
#include "wire/handshake.h"
#include "wire/lobby.h"
#include "wire/tls_stream.h"

namespace outpace::fuzz {
namespace {

using std::chrono::steady_clock;
using wire::Moved;

// The first byte of an input: how the stranger connects, and whether it goes on with the right
// proof once it is challenged.
enum class Way : std::uint8_t {
  kPlain,       // Without TLS, to a server that has none.
  kRawToTls,    // Its bytes are those of the socket, to a server with TLS.
  kThroughTls,  // With a worker's certificate: its bytes go through TLS.
};
constexpr std::uint8_t kWays = 3;
constexpr std::uint8_t kProves = 4;

constexpr auto kSoon = std::chrono::seconds(8);  // Less than the lobby's own patience.
const std::string kSecret = "open-sesame";

// Two lobbies, which serve all inputs of this process.
class House {
 public:
  House() : folder_(make_folder()) {
    write_certificates(folder_,
                       wire::make_certificates(std::chrono::floor<std::chrono::seconds>(
                                                   std::chrono::system_clock::now()),
                                               std::chrono::days(30)));
    server_.emplace(files("server"), wire::TlsSide::kServer);
    worker_.emplace(files("worker"), wire::TlsSide::kWorker);
    plain_.emplace(listen("plain"), kSecret, nullptr, nullptr, callbacks());
    over_tls_.emplace(listen("tls"), kSecret, &*server_, nullptr, callbacks());
  }
  ~House() {
    plain_.reset();
    over_tls_.reset();
    std::filesystem::remove_all(folder_);
  }
  House(const House&) = delete;
  House& operator=(const House&) = delete;

  [[nodiscard]] std::unique_ptr<wire::ByteStream> connect(Way way) const {
    const wire::Lobby& lobby = way == Way::kPlain ? *plain_ : *over_tls_;
    const auto until = steady_clock::now() + kSoon;
    wire::Descriptor socket =
        wire::connect_to(wire::resolve(lobby.address(), until).at(0), until, wire::Descriptor());
    if (way == Way::kThroughTls) {
      return std::make_unique<wire::TlsStream>(std::move(socket), *worker_);
    }
    return std::make_unique<wire::PlainStream>(std::move(socket));
  }
  [[nodiscard]] std::uint64_t admitted() const { return admitted_; }

 private:
  static std::filesystem::path make_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "outpace-fuzz-XXXXXX").string();
    hold(::mkdtemp(path.data()) != nullptr, "no temporary folder");
    return path;
  }
  [[nodiscard]] wire::TlsFiles files(const std::string& side) const {
    return {.certificate = (folder_ / (side + ".pem")).string(),
            .key = (folder_ / (side + ".key")).string(),
            .ca = (folder_ / "ca.pem").string()};
  }
  [[nodiscard]] wire::Listener listen(const std::string& name) const {
    return wire::listen_on("unix:" + (folder_ / name).string());
  }
  [[nodiscard]] wire::Lobby::Callbacks callbacks() {
    return {
        .admitted = [this](std::unique_ptr<wire::ByteStream>, const wire::Proven&) { ++admitted_; },
        .refused = [](const std::string&) {}};
  }

  const std::filesystem::path folder_;
  std::optional<wire::TlsContext> server_;
  std::optional<wire::TlsContext> worker_;
  std::atomic<std::uint64_t> admitted_{0};
  std::optional<wire::Lobby> plain_;
  std::optional<wire::Lobby> over_tls_;
};

class StrangerClient {
 public:
  explicit StrangerClient(std::unique_ptr<wire::ByteStream> stream) : stream_(std::move(stream)) {}

  // Whether the handshake of TLS came to its end.
  [[nodiscard]] bool open() {
    while (true) {
      switch (stream_->open()) {
        case wire::Opening::kOpen:
          return true;
        case wire::Opening::kReads:
          wait(POLLIN);
          break;
        case wire::Opening::kWrites:
          wait(POLLOUT);
          break;
        case wire::Opening::kFailed:
        case wire::Opening::kGone:
          return false;
      }
    }
  }
  void send(std::string_view bytes, Steps& steps) {
    while (!bytes.empty() && !gone_) {
      const std::size_t size = std::min(bytes.size(), std::max<std::size_t>(steps.next(), 1));
      std::string_view piece = bytes.substr(0, size);
      bytes.remove_prefix(size);
      while (!piece.empty() && !gone_) {
        const iovec part{.iov_base = const_cast<char*>(piece.data()), .iov_len = piece.size()};
        const wire::Transfer sent = stream_->send({&part, 1});
        piece.remove_prefix(sent.bytes);
        gone_ = sent.moved == Moved::kGone;
        if (sent.moved == Moved::kBlocked) {
          wait(POLLOUT);
        }
      }
    }
  }
  // Receives until there are `wanted` bytes, or the server has ended the connection.
  void receive(std::size_t wanted) {
    while (received_.size() < wanted) {
      std::array<char, 256> room{};
      const iovec part{.iov_base = room.data(), .iov_len = room.size()};
      const wire::Transfer came = stream_->receive({&part, 1});
      received_.append(room.data(), came.bytes);
      if (came.moved == Moved::kGone) {
        return;
      }
      if (came.moved == Moved::kBlocked) {
        wait(POLLIN);
      }
    }
  }
  void end_sending() { stream_->end_sending(); }

  [[nodiscard]] const std::string& received() const { return received_; }
  [[nodiscard]] wire::Binding binding() const { return stream_->binding(); }

 private:
  void wait(short events) {
    pollfd one{.fd = stream_->number(), .events = events, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::chrono::milliseconds(kSoon).count()));
    hold(ready != 0, "the server neither answers nor ends the connection");
  }

  const std::unique_ptr<wire::ByteStream> stream_;
  std::string received_;
  bool gone_ = false;
};

std::optional<wire::Answer> answer_at(const std::string& bytes, std::size_t number) {
  wire::AnswerBytes one{};
  if (bytes.size() < (number + 1) * one.size()) {
    return std::nullopt;
  }
  std::copy_n(
      bytes.begin() + static_cast<std::ptrdiff_t>(number * one.size()), one.size(), one.begin());
  wire::Answer answer{};
  hold(decode_answer(one, answer), "an answer that no client understands");
  return answer;
}

// What these bytes open; nothing if they are no opening.
std::optional<wire::Proven> opened(std::string_view bytes) {
  wire::OpeningBytes opening{};
  if (bytes.size() < opening.size()) {
    return std::nullopt;
  }
  std::copy_n(bytes.begin(), opening.size(), opening.begin());
  wire::Proven proven{};
  return decode_opening(opening, proven) ? std::optional(proven) : std::nullopt;
}

// Whether the server challenges the sender: it knows no passes.
bool opens(std::string_view bytes) {
  const auto found = opened(bytes);
  return found && found->key.is_token();
}

// The proof that belongs to the opening that was sent.
wire::Proof right_proof(std::string_view sent,
                        const wire::Answer& challenge,
                        wire::Binding binding) {
  wire::Proven proven = opened(sent).value();
  proven.server = challenge.bytes;
  proven.binding = binding;
  return wire::prove(kSecret, "client", proven);
}

// The answers of a server to these bytes, by the rules.
void check_answers(Way way, std::string_view sent, bool enters, const std::string& received) {
  if (way == Way::kRawToTls && sent.starts_with('\x16')) {
    return;  // An alert of TLS.
  }
  hold(received.size() % sizeof(wire::AnswerBytes) == 0, "half an answer");
  const auto first = answer_at(received, 0);
  const auto second = answer_at(received, 1);
  hold(!answer_at(received, 2), "a third answer");
  using enum wire::AnswerCode;
  if (way == Way::kRawToTls) {
    hold(first.has_value() == !sent.empty(), "a client without TLS is told so");
    hold(!first || first->code == kNeedsTls, "a client without TLS is told something else");
    return;
  }
  if (way == Way::kPlain && sent.starts_with('\x16')) {
    hold(first && first->code == kHasNoTls && !second, "a client with TLS is not told");
    return;
  }
  if (opened(sent) && !opens(sent)) {
    hold(first && first->code == kShutOut && !second, "a pass that nobody knows is let on");
    return;
  }
  hold(first.has_value() == opens(sent), "who opens is challenged, and nobody else");
  hold(!first || first->code == kChallenge, "the first answer is no challenge");
  hold(!second || second->code == (enters ? kAccepted : kWrongToken), "the wrong end");
  hold(!enters || second, "who proves the token is told so");
}

void shake_hands(const House& house, Bytes bytes) {
  const auto way = static_cast<Way>((bytes.front() & 3U) % kWays);
  const bool proves = (bytes.front() & kProves) != 0;
  bytes = bytes.subspan(1);
  Steps steps(bytes);
  const std::string_view sent = as_text(bytes);
  const std::uint64_t before = house.admitted();

  StrangerClient client(house.connect(way));
  hold(way != Way::kThroughTls || client.open(), "a worker's certificate is refused");
  client.send(sent, steps);
  const bool challenged = way != Way::kRawToTls && opens(sent);
  bool enters = false;
  if (challenged) {
    client.receive(sizeof(wire::AnswerBytes));
    const auto challenge = answer_at(client.received(), 0);
    hold(challenge.has_value(), "no challenge");
    if (proves) {
      const wire::Proof proof = right_proof(sent, *challenge, client.binding());
      client.send({proof.data(), proof.size()}, steps);
      // Only what comes right behind the opening is its proof.
      enters = sent.size() == sizeof(wire::OpeningBytes);
    }
  }
  client.end_sending();
  client.receive(SIZE_MAX);
  check_answers(way, sent, enters, client.received());
  hold(house.admitted() == before + (enters ? 1 : 0),
       enters ? "who proves the token is not let in" : "a stranger is let in");
}

}  // namespace

void handshake(Bytes bytes) {
  static const House house;
  // The lobby gives up what takes ten seconds, and on a busy machine anything may: an attempt that
  // took long says nothing. A handshake that hangs does so each time.
  constexpr auto kLong = std::chrono::seconds(5);
  constexpr int kAttempts = 3;
  for (int attempt = 1; !bytes.empty(); ++attempt) {
    const auto begun = steady_clock::now();
    try {
      return shake_hands(house, bytes);
    } catch (const Finding&) {
      if (steady_clock::now() < begun + kLong || attempt == kAttempts) {
        throw;
      }
    }
  }
}

}  // namespace outpace::fuzz
