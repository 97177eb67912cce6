#include "wire/peer_links.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <poll.h>

#include "base/check.h"
#include "base/error.h"
#include "wire/address.h"
#include "wire/certificates.h"
#include "wire/handshake.h"
#include "wire/reachable.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

// A worker's certificate is of one process.
constexpr std::chrono::days kValid{365};
// For one address of several.
constexpr std::chrono::seconds kForOneAddress{2};

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

void open(ByteStream& stream, steady_clock::time_point until, const Descriptor& waker) {
  while (true) {
    switch (stream.open()) {
      case Opening::kOpen:
        return;
      case Opening::kReads:
        await(stream, POLLIN, until, waker);
        break;
      case Opening::kWrites:
        await(stream, POLLOUT, until, waker);
        break;
      case Opening::kFailed:
        throw no_link("it is another one than the host says: " + stream.problem());
      case Opening::kGone:
        throw no_link("it closed the connection");
    }
  }
}

// The name goes as that of the connection's lane, so that it is proved with the key.
LaneName lane_of(const PeerName& name) {
  LaneName lane;
  std::memcpy(lane.bundle.data(), &name.group, sizeof(name.group));
  std::memcpy(lane.bundle.data() + sizeof(name.group), &name.rank, sizeof(name.rank));
  return lane;
}
PeerName name_of(const LaneName& lane) {
  PeerName name;
  std::memcpy(&name.group, lane.bundle.data(), sizeof(name.group));
  std::memcpy(&name.rank, lane.bundle.data() + sizeof(name.group), sizeof(name.rank));
  return name;
}

// Over a new connection: throws an Error unless the other side knows the key.
void shake_hands(ByteStream& stream,
                 const PeerVisit& visit,
                 const std::string& key,
                 steady_clock::time_point until,
                 const Descriptor& waker) {
  open(stream, until, waker);
  Proven proven{.client = make_nonce(),
                .server = {},
                .binding = stream.binding(),
                .lane = lane_of(visit.self),
                .key = {.generation = visit.self.group, .pass = {}}};
  write_all(stream, encode_opening(proven.client, proven.lane, proven.key));
  AnswerBytes bytes{};
  Answer answer{};
  read_all(stream, bytes, until, waker);
  if (!decode_answer(bytes, answer)) {
    throw no_link("it is none of the run's workers");
  }
  if (answer.code != AnswerCode::kChallenge) {
    throw no_link(answer.code == AnswerCode::kShutOut ? "it is in another group"
                                                      : "it is none of the run's workers");
  }
  proven.server = answer.bytes;
  write_all(stream, prove(key, "client", proven));
  read_all(stream, bytes, until, waker);
  if (!decode_answer(bytes, answer) || answer.code != AnswerCode::kAccepted ||
      !same_proof(answer.bytes, prove(key, "server", proven))) {
    throw no_link("it does not know the group's key");
  }
}

std::unique_ptr<TlsContext> context_to(const protocol::PeerPlace& place) {
  if (place.certificate.empty()) {
    return nullptr;
  }
  Fingerprint authority{};
  CHECK(place.certificate.size() == authority.size());  // The codec has seen to it.
  std::memcpy(authority.data(), place.certificate.data(), authority.size());
  return std::make_unique<TlsContext>(authority);
}

}  // namespace

std::string draw_group_key() {
  const Nonce drawn = make_nonce();
  static_assert(drawn.size() == protocol::kGroupKeySize);
  return {drawn.begin(), drawn.end()};
}

PeerLinks::PeerLinks(const Options& options) {
  if (options.sealed) {
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const Certificates made = make_certificates(now, kValid);
    tls_ = std::make_unique<TlsContext>(made);
    const Fingerprint authority = fingerprint_in(made.ca);
    place_.certificate.assign(authority.begin(), authority.end());
  }
  Listener listener = listen_on(options.host + ":0");
  place_.addresses = reachable_at(listener.address);
  place_.addresses.resize(std::min(place_.addresses.size(), protocol::kPlaceAddressesMax));
  Passes* const passes = this;
  lobby_.emplace(std::move(listener),
                 /*token=*/"",
                 tls_.get(),
                 passes,
                 Lobby::Callbacks{
                     .admitted = [this](std::unique_ptr<ByteStream> stream,
                                        const Proven& proven) { admit(std::move(stream), proven); },
                     .refused = options.refused});
}

void PeerLinks::expect(std::uint32_t group, const std::string& key) {
  CHECK(group > 0 && key.size() == protocol::kGroupKeySize);
  const std::lock_guard lock(mutex_);
  group_ = group;
  key_ = key;
  std::erase_if(peers_, [&](const auto& peer) { return peer.first.group != group; });
}

std::string PeerLinks::key_of(std::uint32_t group) const {
  const std::lock_guard lock(mutex_);
  return group == group_ ? key_ : "";
}

std::optional<std::array<char, 32>> PeerLinks::find(const KeyName& name) {
  const std::string key = key_of(name.generation);
  if (key.empty() || name.pass != PassName{}) {
    return std::nullopt;
  }
  std::array<char, 32> found{};
  std::ranges::copy(key, found.begin());
  return found;
}

void PeerLinks::admit(std::unique_ptr<ByteStream> stream, const Proven& proven) {
  const PeerName name = name_of(proven.lane);
  const std::lock_guard lock(mutex_);
  // All may have regrouped since it was asked for its proof.
  if (name.group == proven.key.generation && name.group == group_) {
    peers_.insert_or_assign(name, std::move(stream));
    changed_.notify_all();
  }
}

std::unique_ptr<ByteStream> PeerLinks::accept(const PeerName& from,
                                              steady_clock::time_point until,
                                              Duration keep_alive,
                                              const std::function<bool()>& given_up) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(
      lock, until, [&] { return given_up() || group_ != from.group || peers_.contains(from); });
  const auto found = peers_.find(from);
  if (given_up() || found == peers_.end()) {
    return nullptr;
  }
  std::unique_ptr<ByteStream> stream = std::move(found->second);
  peers_.erase(found);
  keep_alive_for(stream->number(), keep_alive);
  return stream;
}

void PeerLinks::wake() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

std::unique_ptr<ByteStream> PeerLinks::connect(const PeerVisit& visit,
                                               const Descriptor& waker) const {
  const std::string key = key_of(visit.self.group);
  if (key.empty()) {
    throw no_link("all have regrouped");
  }
  const auto tls = context_to(visit.to);
  if ((tls == nullptr) != (tls_ == nullptr)) {
    throw no_link(tls_ == nullptr ? "it takes TLS, and this worker does not"
                                  : "it takes no TLS, and this worker does");
  }
  std::string why = "it has no address";
  for (const std::string& address : visit.to.addresses) {
    const bool last = &address == &visit.to.addresses.back();
    const auto until =
        last ? visit.until : std::min(visit.until, steady_clock::now() + kForOneAddress);
    try {
      for (const Endpoint& endpoint : resolve(address, until)) {
        Descriptor socket = connect_to(endpoint, until, waker, visit.keep_alive);
        std::unique_ptr<ByteStream> stream;
        if (tls == nullptr) {
          stream = std::make_unique<PlainStream>(std::move(socket));
        } else {
          stream = std::make_unique<TlsStream>(std::move(socket), *tls);
        }
        shake_hands(*stream, visit, key, until, waker);
        return stream;
      }
    } catch (const Error& error) {
      why = address + ": " + error.what();
    }
  }
  throw no_link(why);
}

}  // namespace outpace::wire
