#include "wire/peer_links.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <poll.h>

#include "base/error.h"
#include "wire/address.h"
#include "wire/handshake.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

// The name comes with the proof, in one packet.
constexpr auto kForName = std::chrono::seconds(1);

Listener listen_for_peers(const PeerListener::Options& options) {
  Listener listener = listen_on(options.address);
  listener.keep_alive = options.keep_alive;
  return listener;
}

Error no_link(const std::string& what) {
  return {ExitCode::kFailure, what};
}

// Waits until the socket is ready. `waker` may be none (negative).
void await(const ByteStream& stream,
           short events,
           steady_clock::time_point until,
           const Descriptor& waker) {
  std::array<pollfd, 2> wait = {pollfd{.fd = stream.number(), .events = events, .revents = 0},
                                pollfd{.fd = waker.number(), .events = POLLIN, .revents = 0}};
  ::poll(wait.data(), wait.size(), milliseconds_until(until));
  if (wait[0].revents == 0) {
    throw no_link("it does not answer");
  }
}

void read_all(ByteStream& stream,
              std::span<char> bytes,
              steady_clock::time_point until,
              const Descriptor& waker) {
  while (!bytes.empty()) {
    const iovec part{.iov_base = bytes.data(), .iov_len = bytes.size()};
    const Transfer transfer = stream.receive({&part, 1});
    if (transfer.moved == Moved::kGone) {
      throw no_link("it closed the connection");
    }
    if (transfer.moved == Moved::kBlocked) {
      await(stream, POLLIN, until, waker);
    }
    bytes = bytes.subspan(transfer.bytes);
  }
}

// A socket that has taken hardly anything yet takes so little whole.
void write_all(ByteStream& stream, std::span<const char> bytes) {
  const iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  const Transfer transfer = stream.send({&part, 1});
  if (transfer.moved != Moved::kSome || transfer.bytes != bytes.size()) {
    throw no_link("it closed the connection");
  }
}

// The same socket, which outlives the stream.
Descriptor keep(const ByteStream& stream) {
  Descriptor socket(::fcntl(stream.number(), F_DUPFD_CLOEXEC, 0));
  if (socket.number() < 0) {
    throw no_link(std::strerror(errno));
  }
  return socket;
}

// Over a new connection: throws an Error unless the other side knows the token.
Descriptor shake_hands(Descriptor socket, const PeerVisit& visit, const Descriptor& waker) {
  PlainStream stream(std::move(socket));
  Proven proven{.client = make_nonce(), .server = {}, .binding = stream.binding()};
  write_all(stream, encode_opening(proven.client));
  AnswerBytes bytes{};
  Answer answer{};
  read_all(stream, bytes, visit.until, waker);
  if (!decode_answer(bytes, answer) || answer.code != AnswerCode::kChallenge) {
    throw no_link("it is none of the run's workers");
  }
  proven.server = answer.bytes;
  std::array<char, sizeof(Proof) + sizeof(PeerName)> proof_and_name{};
  const Proof proof = prove(visit.token, "client", proven);
  std::memcpy(proof_and_name.data(), proof.data(), proof.size());
  std::memcpy(proof_and_name.data() + proof.size(), &visit.self, sizeof(visit.self));
  write_all(stream, proof_and_name);
  read_all(stream, bytes, visit.until, waker);
  if (!decode_answer(bytes, answer) || answer.code != AnswerCode::kAccepted ||
      !same_proof(answer.bytes, prove(visit.token, "server", proven))) {
    throw no_link("it does not know the run's token");
  }
  return keep(stream);
}

}  // namespace

PeerListener::PeerListener(const Options& options)
    : lobby_(listen_for_peers(options),
             options.token,
             nullptr,
             nullptr,
             {.admitted = [this](const std::unique_ptr<ByteStream>& stream,
                                 const Proven& /*proven*/) { admit(*stream); },
              .refused = options.refused}) {}

void PeerListener::admit(const ByteStream& stream) {
  PlainStream named(keep(stream));
  std::array<char, sizeof(PeerName)> bytes{};
  read_all(named, bytes, steady_clock::now() + kForName, Descriptor());
  PeerName name;
  std::memcpy(&name, bytes.data(), sizeof(name));
  const std::lock_guard lock(mutex_);
  peers_.insert_or_assign(name, keep(named));
  changed_.notify_all();
}

Descriptor PeerListener::accept(const PeerName& from, steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return stopped_ || peers_.contains(from); });
  const auto found = peers_.find(from);
  if (stopped_ || found == peers_.end()) {
    return Descriptor();
  }
  Descriptor socket = std::move(found->second);
  peers_.erase(found);
  return socket;
}

void PeerListener::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

Descriptor connect_to_peer(const PeerVisit& visit, const Descriptor& waker) {
  std::string why = "it has no address";
  for (const Endpoint& endpoint : resolve(visit.address, visit.until)) {
    try {
      return shake_hands(connect_to(endpoint, visit.until, waker, visit.keep_alive), visit, waker);
    } catch (const Error& error) {
      why = error.what();
    }
  }
  throw no_link(visit.address + ": " + why);
}

}  // namespace outpace::wire
