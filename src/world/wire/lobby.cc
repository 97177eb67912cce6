// Tested by src/world/wire/rude_client_test.cc.

#include "wire/lobby.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/error.h"
#include "wire/unix_stream.h"

namespace outpace::wire {
namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 10s;       // For a whole handshake.
constexpr auto kGrace = 1s;           // A stranger's, before it gives way to the next.
constexpr auto kBetweenWords = 1s;    // From one refusal that is told to the next.
constexpr auto kBetweenFull = 10s;    // The same, while nobody can come.
constexpr char kTlsFirstByte = 0x16;  // A handshake record.

// A Unix socket's client has no address: it is known by its process.
std::string name_of(const Endpoint& endpoint, int socket) {
  if (!endpoint.is_unix()) {
    return endpoint.text();
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return "process " + std::to_string(peer.pid);
}

}  // namespace

Lobby::Lobby(Listener listener,
             std::string token,
             const TlsContext* tls,
             Passes* passes,
             Callbacks callbacks)
    : listener_(std::move(listener.socket)),
      keep_alive_(listener.keep_alive),
      address_(std::move(listener.address)),
      token_(std::move(token)),
      tls_(tls),
      passes_(passes),
      callbacks_(std::move(callbacks)),
      waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (waker_.number() < 0) {
    throw Error(ExitCode::kFailure, std::string("eventfd: ") + std::strerror(errno));
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Lobby::~Lobby() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
}

void Lobby::run(const std::stop_token& stop) {
  std::vector<pollfd> wait;
  while (!stop.stop_requested()) {
    wait.assign({{.fd = waker_.number(), .events = POLLIN, .revents = 0},
                 {.fd = listener_.number(),
                  .events = static_cast<short>(full_ ? 0 : POLLIN),
                  .revents = 0}});
    for (const Stranger& stranger : strangers_) {
      wait.push_back({.fd = stranger.stream->number(),
                      .events = static_cast<short>(stranger.writes ? POLLOUT : POLLIN),
                      .revents = 0});
    }
    const auto next = strangers_.empty() ? Clock::now() + 1h : strangers_.front().since + kPatience;
    ::poll(wait.data(),
           wait.size(),
           full_ ? std::min(milliseconds_until(next), 100) : milliseconds_until(next));
    full_ = false;
    auto stranger = strangers_.begin();
    for (std::size_t i = 2; i < wait.size(); ++i) {
      const auto current = stranger++;
      if (wait[i].revents != 0) {
        settle(current, go_on(*current));
      }
    }
    while (!strangers_.empty() && Clock::now() >= strangers_.front().since + kPatience) {
      drop_oldest("it said nothing for too long");
    }
    if (wait[1].revents != 0) {
      accept();
    }
  }
}

// Takes one at a time, so that the handshakes that have begun go on under any load.
void Lobby::accept() {
  make_room();
  if (strangers_.size() >= kStrangersMax) {
    full_ = true;  // All are new; those who wait are in the system's queue.
    return;
  }
  Endpoint peer;
  Descriptor socket = accept_from(listener_, peer, keep_alive_);
  if (socket.number() < 0) {
    const int error = errno;
    full_ = error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
    if (full_) {
      tell_full(error);
    }
    return;
  }
  try {
    std::string name = name_of(peer, socket.number());
    Stranger stranger{.stream = {}, .peer = std::move(name), .since = Clock::now()};
    if (peer.is_unix()) {
      stranger.stream = std::make_unique<UnixStream>(std::move(socket));
    } else {
      stranger.stream = std::make_unique<PlainStream>(std::move(socket));
    }
    strangers_.push_back(std::move(stranger));
  } catch (const std::exception&) {  // No memory for one more.
    full_ = true;
  }
}

void Lobby::make_room() {
  if (strangers_.size() >= kStrangersMax && Clock::now() >= strangers_.front().since + kGrace) {
    drop_oldest("it was slow, and others were waiting");
  }
}

void Lobby::drop_oldest(const std::string& why) {
  Stranger& oldest = strangers_.front();
  if (oldest.step != Step::kLeaving) {
    oldest.why = why;
    tell_refused(oldest);
  }
  strangers_.pop_front();
}

Lobby::Outcome Lobby::go_on(Stranger& stranger) {
  try {
    switch (stranger.step) {
      case Step::kFirstByte:
        return see_first_byte(stranger);
      case Step::kTls:
        return open_tls(stranger);
      case Step::kOpening:
        return take_opening(stranger);
      case Step::kProof:
        return take_proof(stranger);
      case Step::kLeaving:
        return drain(stranger);
    }
  } catch (const std::exception& error) {  // Also of memory that ran out.
    return refuse(stranger, error.what());
  }
  return Outcome::kLeft;
}

Lobby::Outcome Lobby::see_first_byte(Stranger& stranger) {
  char first = 0;
  const ssize_t seen = ::recv(stranger.stream->number(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (seen <= 0) {
    return seen < 0 && (errno == EAGAIN || errno == EINTR) ? Outcome::kWaits : Outcome::kLeft;
  }
  if (first == kTlsFirstByte && tls_ == nullptr) {
    return refuse(
        stranger, AnswerCode::kHasNoTls, "it spoke TLS, and this server has no certificate");
  }
  if (first != kTlsFirstByte && tls_ != nullptr) {
    return refuse(stranger, AnswerCode::kNeedsTls, "it spoke without TLS");
  }
  if (tls_ != nullptr) {
    // The stream is made anew around the same socket.
    Descriptor socket(::fcntl(stranger.stream->number(), F_DUPFD_CLOEXEC, 0));
    stranger.stream = std::make_unique<TlsStream>(std::move(socket), *tls_);
    stranger.step = Step::kTls;
    return open_tls(stranger);
  }
  stranger.step = Step::kOpening;
  return take_opening(stranger);
}

Lobby::Outcome Lobby::open_tls(Stranger& stranger) {
  switch (stranger.stream->open()) {
    case Opening::kOpen:
      stranger.writes = false;
      stranger.proven.binding = stranger.stream->binding();
      stranger.step = Step::kOpening;
      return take_opening(stranger);
    case Opening::kReads:
      stranger.writes = false;
      return Outcome::kWaits;
    case Opening::kWrites:
      stranger.writes = true;
      return Outcome::kWaits;
    case Opening::kFailed:
      return refuse(stranger, stranger.stream->problem());
    case Opening::kGone:
      break;
  }
  return Outcome::kLeft;
}

bool Lobby::fill(Stranger& stranger, std::size_t wanted, Outcome& outcome) {
  while (stranger.have < wanted) {
    const iovec part{.iov_base = stranger.bytes.data() + stranger.have,
                     .iov_len = wanted - stranger.have};
    const Transfer transfer = stranger.stream->receive({&part, 1});
    if (transfer.moved != Moved::kSome) {
      outcome = transfer.moved == Moved::kBlocked ? Outcome::kWaits : Outcome::kLeft;
      return false;
    }
    stranger.have += transfer.bytes;
  }
  stranger.have = 0;
  return true;
}

Lobby::Outcome Lobby::take_opening(Stranger& stranger) {
  Outcome outcome{};
  if (!fill(stranger, sizeof(OpeningBytes), outcome)) {
    // Rubbish is seen as soon as it comes, and not only when there is enough of it.
    const std::size_t begun = std::min(stranger.have, kMagic.size());
    return kMagic.starts_with({stranger.bytes.data(), begun})
               ? outcome
               : refuse(stranger, "it is none of ours");
  }
  if (!decode_opening(stranger.bytes, stranger.proven)) {
    return refuse(stranger, "it is none of ours");
  }
  if (!find_key(stranger, outcome)) {
    return outcome;
  }
  stranger.proven.server = make_nonce();
  stranger.step = Step::kProof;
  if (!answer(stranger, {.code = AnswerCode::kChallenge, .bytes = stranger.proven.server})) {
    return Outcome::kLeft;
  }
  return take_proof(stranger);
}

bool Lobby::find_key(Stranger& stranger, Outcome& outcome) {
  const KeyName& name = stranger.proven.key;
  if (name.is_token() && !token_.empty()) {
    stranger.key = token_;
    if (!stranger.stream->shows_certificate()) {
      outcome = refuse(stranger, AnswerCode::kNoCertificate, "it showed no certificate");
    }
    return stranger.stream->shows_certificate();
  }
  const auto key = passes_ == nullptr ? std::nullopt : passes_->find(name);
  if (!key) {
    outcome = refuse(stranger,
                     AnswerCode::kShutOut,
                     "its pass is of an old code, or was shut out, or this server gives no codes");
    return false;
  }
  stranger.key.assign(key->begin(), key->end());
  return true;
}

Lobby::Outcome Lobby::take_proof(Stranger& stranger) {
  Outcome outcome{};
  Proof offered{};
  if (!fill(stranger, offered.size(), outcome)) {
    return outcome;
  }
  std::copy_n(stranger.bytes.begin(), offered.size(), offered.begin());
  if (!same_proof(offered, prove(stranger.key, "client", stranger.proven))) {
    return refuse(stranger, AnswerCode::kWrongToken, "a wrong token");
  }
  const Proof own = prove(stranger.key, "server", stranger.proven);
  return answer(stranger, {.code = AnswerCode::kAccepted, .bytes = own}) ? Outcome::kAdmitted
                                                                         : Outcome::kLeft;
}

Lobby::Outcome Lobby::drain(const Stranger& stranger) {
  std::array<char, 1024> rest{};
  const ssize_t bytes = ::recv(stranger.stream->number(), rest.data(), rest.size(), MSG_DONTWAIT);
  return bytes > 0 || (bytes < 0 && errno == EAGAIN) ? Outcome::kWaits : Outcome::kLeft;
}

Lobby::Outcome Lobby::refuse(Stranger& stranger, const std::string& why) {
  stranger.why = why;
  return Outcome::kRefused;
}

Lobby::Outcome Lobby::refuse(Stranger& stranger, AnswerCode code, const std::string& why) {
  static_cast<void>(answer(stranger, {.code = code}));
  return refuse(stranger, why);
}

// A socket that has taken nothing yet takes an answer whole.
bool Lobby::answer(Stranger& stranger, const Answer& answer) {
  AnswerBytes bytes = encode_answer(answer);
  const iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
  const Transfer sent = stranger.stream->send({&part, 1});
  return sent.moved == Moved::kSome && sent.bytes == bytes.size();
}

void Lobby::settle(std::list<Stranger>::iterator stranger, Outcome outcome) {
  if (outcome == Outcome::kWaits) {
    return;
  }
  if (outcome == Outcome::kRefused) {
    tell_refused(*stranger);
    stranger->stream->end_sending();
    stranger->step = Step::kLeaving;
    stranger->writes = false;
    return;
  }
  if (outcome == Outcome::kAdmitted) {
    try {
      callbacks_.admitted(std::move(stranger->stream), stranger->proven);
    } catch (const std::exception& error) {  // No memory, thread or descriptor for one more.
      stranger->why = error.what();
      tell_refused(*stranger);
    }
  }
  strangers_.erase(stranger);
}

void Lobby::tell_refused(const Stranger& stranger) {
  const auto now = Clock::now();
  if (!callbacks_.refused || (told_ != Clock::time_point{} && now < told_ + kBetweenWords)) {
    ++untold_;
    return;
  }
  told_ = now;
  const std::uint64_t more = std::exchange(untold_, 0);
  callbacks_.refused("refused " + stranger.peer + ": " + stranger.why +
                     (more == 0 ? "" : " (and " + std::to_string(more) + " more before it)"));
}

void Lobby::tell_full(int error) {
  const auto now = Clock::now();
  if (!callbacks_.refused ||
      (told_full_ != Clock::time_point{} && now < told_full_ + kBetweenFull)) {
    return;
  }
  told_full_ = now;
  const bool files = error == EMFILE;
  callbacks_.refused(std::string("connections wait, and none can be taken: ") +
                     std::strerror(error) +
                     (files ? "; raise the limit of open files (ulimit -n)" : ""));
}

}  // namespace outpace::wire
