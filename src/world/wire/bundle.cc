#include "wire/bundle.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"

namespace outpace::wire {
namespace {

// The other side is told after this many bytes: often enough to keep its window open.
constexpr std::uint64_t kTellAfter = kOnTheWayMax / 32;
// What a socket holds and has not sent: as little as keeps it busy, for what it holds waits behind
// its losses, and another connection could have carried it.
constexpr int kUnsentBytes = 1 << 17;

constexpr Lane kBell = UINT64_MAX;

Descriptor poller() {
  Descriptor made(::epoll_create1(EPOLL_CLOEXEC));
  if (made.number() < 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
  return made;
}

// The first bytes of `parts` behind `skip` of them, at most kChunkMax.
std::string gather(std::span<const iovec> parts, std::size_t skip) {
  std::string bytes;
  for (const iovec& part : parts) {
    const std::size_t skipped = std::min(skip, part.iov_len);
    skip -= skipped;
    const std::size_t step = std::min(part.iov_len - skipped, kChunkMax - bytes.size());
    bytes.append(static_cast<const char*>(part.iov_base) + skipped, step);
    if (bytes.size() == kChunkMax) {
      break;
    }
  }
  return bytes;
}

std::size_t size_of(std::span<const iovec> parts) {
  std::size_t size = 0;
  for (const iovec& part : parts) {
    size += part.iov_len;
  }
  return size;
}

}  // namespace

std::size_t lanes_for(Duration round_trip) {
  using std::chrono::milliseconds;
  return round_trip < milliseconds(5) ? 1 : 4;
}

Bundle::Bundle(std::unique_ptr<ByteStream> first)
    : ByteStream(poller()),
      sealed_(first->sealed()),
      bell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  watch_socket(bell_.number(), kBell);
  add(std::move(first));
}

Bundle::~Bundle() = default;

void Bundle::add(std::unique_ptr<ByteStream> stream) {
  const std::lock_guard lock(mutex_);
  if (over_ || connections_.size() >= kLanesMax || stream->sealed() != sealed_) {
    return;
  }
  const int socket = stream->number();
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &kUnsentBytes, sizeof(kUnsentBytes));
  const Lane lane = next_lane_++;
  connections_.push_back({.lane = lane, .stream = std::move(stream), .heard = lane == 0});
  const auto added = std::prev(connections_.end());
  try {
    watch_socket(socket, lane);
    put(added, {.kind = FrameKind::kTaken, .place = arrived_.taken()}, nullptr);  // To be heard.
    if (drain(added)) {
      read(added);  // TLS may have taken from the socket what came early.
    }
  } catch (...) {
    const auto lost = std::find_if(connections_.begin(),
                                   connections_.end(),
                                   [lane](const Connection& one) { return one.lane == lane; });
    if (lost != connections_.end()) {
      lose(lost);
    }
    throw;
  }
  watch();
  ring();
}

void Bundle::watch_socket(int socket, Lane lane) const {
  epoll_event readable{.events = EPOLLIN, .data = {.u64 = lane}};
  if (::epoll_ctl(number(), EPOLL_CTL_ADD, socket, &readable) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

std::size_t Bundle::lanes() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

// ---- Sending ------------------------------------------------------------------------------------

Transfer Bundle::send(std::span<const iovec> parts) {
  const std::lock_guard lock(mutex_);
  go_on();
  const std::size_t all = size_of(parts);
  std::size_t sent = 0;
  auto free = free_now();
  while (sent < all && !sent_.owes() && has_room()) {
    if (free.empty() && (free = free_now()).empty()) {
      break;
    }
    const auto connection = free.front();
    free.pop_front();
    const Chunk& chunk = sent_.add(gather(parts, sent), connection->lane);
    sent += chunk.bytes->size();
    last_used_ = connection->lane;
    put(connection,
        {.kind = FrameKind::kChunk,
         .bytes = static_cast<std::uint32_t>(chunk.bytes->size()),
         .place = chunk.place},
        &chunk);
    if (!drain(connection)) {
      free = free_now();
    }
  }
  blocked_ = sent < all;
  watch();
  if (sent > 0) {
    return {.moved = Moved::kSome, .bytes = sent};
  }
  return {.moved = connections_.empty() ? Moved::kGone : Moved::kBlocked};
}

bool Bundle::has_room() const {
  return sent_.on_the_way() + kChunkMax <= kOnTheWayMax;
}

std::deque<Bundle::Connections::iterator> Bundle::free_now() {
  std::vector<pollfd> sockets;
  std::deque<Connections::iterator> idle;
  for (auto connection = connections_.begin(); connection != connections_.end(); ++connection) {
    if (connection->heard && connection->out.empty()) {
      sockets.push_back({.fd = connection->stream->number(), .events = POLLOUT, .revents = 0});
      idle.push_back(connection);
    }
  }
  ::poll(sockets.data(), sockets.size(), 0);
  std::deque<Connections::iterator> free;
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if ((sockets[i].revents & POLLOUT) != 0) {
      free.push_back(idle[i]);
    }
  }
  const auto next = std::find_if(
      free.begin(), free.end(), [this](auto connection) { return connection->lane > last_used_; });
  std::rotate(free.begin(), next, free.end());
  return free;
}

void Bundle::go_on() {
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    const auto current = connection++;
    drain(current);
  }
  while (sent_.owes()) {
    const auto free = free_now();
    if (free.empty()) {
      break;
    }
    const Chunk& chunk = sent_.give_again(free.front()->lane);
    last_used_ = chunk.lane;
    put(free.front(),
        {.kind = FrameKind::kChunk,
         .bytes = static_cast<std::uint32_t>(chunk.bytes->size()),
         .place = chunk.place},
        &chunk);
    drain(free.front());
  }
  if (is_to_tell()) {
    put_taken();
  }
}

bool Bundle::is_to_tell() const {
  return !over_ && arrived_.taken() - told_ >= kTellAfter;
}

void Bundle::put(Connections::iterator connection, FrameHead head, const Chunk* chunk) {
  connection->out.push_back({.head = encode_frame(head), .chunk = chunk ? chunk->bytes : nullptr});
}

void Bundle::put_taken() {
  const auto free = free_now();
  if (connections_.empty()) {
    return;
  }
  told_ = arrived_.taken();
  const auto connection = free.empty() ? connections_.begin() : free.front();
  put(connection, {.kind = FrameKind::kTaken, .place = told_}, nullptr);
  drain(connection);
}

bool Bundle::drain(Connections::iterator connection) {
  while (!connection->out.empty()) {
    Outgoing& first = connection->out.front();
    const std::size_t heads = std::min(first.sent, kFrameHeadBytes);
    const std::string_view chunk = first.chunk ? *first.chunk : std::string_view();
    const std::string_view rest = chunk.substr(first.sent - heads);
    const std::array<iovec, 2> parts = {
        iovec{.iov_base = first.head.data() + heads, .iov_len = kFrameHeadBytes - heads},
        iovec{.iov_base = const_cast<char*>(rest.data()), .iov_len = rest.size()}};
    const Transfer sent = connection->stream->send(std::span(parts).subspan(
        heads == kFrameHeadBytes ? 1 : 0, heads == kFrameHeadBytes || rest.empty() ? 1 : 2));
    if (sent.moved == Moved::kGone) {
      lose(connection);
      return false;
    }
    if (sent.moved == Moved::kBlocked) {
      return true;
    }
    first.sent += sent.bytes;
    if (first.sent == kFrameHeadBytes + chunk.size()) {
      connection->out.pop_front();
    }
  }
  return true;
}

void Bundle::lose(Connections::iterator connection) {
  sent_.lost(connection->lane);
  // It may have been the one that told.
  told_ = std::min(told_, arrived_.taken() - std::min(arrived_.taken(), kTellAfter));
  connections_.erase(connection);  // Which closes its socket, and so ends its watch.
  ring();
}

void Bundle::ring() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(bell_.number(), &one, sizeof(one));
}

// ---- Receiving ----------------------------------------------------------------------------------

Transfer Bundle::receive(std::span<const iovec> parts) {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = arrived_.read(parts);
  if (bytes > 0) {
    go_on();
    watch();
    return {.moved = Moved::kSome, .bytes = bytes};
  }
  const bool more = std::any_of(connections_.begin(),
                                connections_.end(),
                                [](const Connection& connection) { return !connection.ended; });
  return {.moved = more ? Moved::kBlocked : Moved::kGone};
}

bool Bundle::pending() const {
  const std::lock_guard lock(mutex_);
  return arrived_.readable();
}

short Bundle::awaited(bool /*sends*/) const {
  return POLLIN;  // Which it gives for whatever happens at one of the sockets.
}

short Bundle::found(short events) {
  if (events == 0) {
    return 0;
  }
  const std::lock_guard lock(mutex_);
  std::array<epoll_event, kLanesMax + 1> happened{};
  const int count = ::epoll_wait(number(), happened.data(), static_cast<int>(happened.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto connection =
        std::find_if(connections_.begin(), connections_.end(), [&](const Connection& one) {
          return one.lane == happened.at(static_cast<std::size_t>(i)).data.u64;
        });
    const std::uint32_t what = happened.at(static_cast<std::size_t>(i)).events;
    if (connection == connections_.end()) {
      if (!connections_.empty()) {  // Else it goes on: nothing else will wake who waits.
        std::uint64_t rung = 0;
        [[maybe_unused]] const ssize_t taken = ::read(bell_.number(), &rung, sizeof(rung));
      }
      continue;
    }
    if (connection->ended && (what & (EPOLLHUP | EPOLLERR)) != 0) {
      lose(connection);  // Both sides have ended.
    } else if ((what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
      read(connection);
    }
  }
  go_on();
  watch();
  const bool sends = blocked_ && !sent_.owes() && has_room() && !free_now().empty();
  return static_cast<short>(POLLIN | (sends || connections_.empty() ? POLLOUT : 0));
}

void Bundle::read(Connections::iterator connection) {
  while (!connection->ended) {
    const Moved moved = read_some(*connection);
    if (moved == Moved::kBlocked) {
      return;
    }
    if (moved == Moved::kGone) {
      lose(connection);
      return;
    }
  }
  // What follows an end is the end of the connection: nobody is to be told of it again and again.
  epoll_event nothing{.events = 0, .data = {.u64 = connection->lane}};
  ::epoll_ctl(number(), EPOLL_CTL_MOD, connection->stream->number(), &nothing);
  connection->waits = false;  // watch() asks anew.
}

Moved Bundle::read_some(Connection& connection) {
  if (!connection.head) {
    const iovec part{.iov_base = connection.head_bytes.data() + connection.head_have,
                     .iov_len = kFrameHeadBytes - connection.head_have};
    const Transfer transfer = connection.stream->receive({&part, 1});
    connection.head_have += transfer.bytes;
    if (connection.head_have == kFrameHeadBytes) {
      connection.head_have = 0;
      connection.head = decode_frame(connection.head_bytes);
      connection.chunk.resize(connection.head->bytes);
      connection.chunk_have = 0;
      if (connection.chunk.empty()) {
        take(connection);
      }
    }
    return transfer.moved;
  }
  const iovec part{.iov_base = connection.chunk.data() + connection.chunk_have,
                   .iov_len = connection.chunk.size() - connection.chunk_have};
  const Transfer transfer = connection.stream->receive({&part, 1});
  connection.chunk_have += transfer.bytes;
  if (connection.chunk_have == connection.chunk.size()) {
    take(connection);
  }
  return transfer.moved;
}

void Bundle::take(Connection& connection) {
  connection.heard = true;
  const FrameHead head = *std::exchange(connection.head, std::nullopt);
  switch (head.kind) {
    case FrameKind::kChunk:
      arrived_.add(head.place, std::exchange(connection.chunk, {}));
      break;
    case FrameKind::kTaken:
      sent_.taken(head.place);
      break;
    case FrameKind::kEnd:
      connection.ended = true;
      break;
  }
}

// ---- Both ---------------------------------------------------------------------------------------

void Bundle::watch() {
  // What goes again may go anywhere; so may what send() could not send, if there is room for it.
  const bool any = sent_.owes() || is_to_tell() || (blocked_ && has_room());
  for (Connection& connection : connections_) {
    const bool waits = (any && connection.heard) || !connection.out.empty();
    if (std::exchange(connection.waits, waits) == waits) {
      continue;
    }
    epoll_event wanted{.events = (connection.ended ? 0U : EPOLLIN) | (waits ? EPOLLOUT : 0U),
                       .data = {.u64 = connection.lane}};
    ::epoll_ctl(number(), EPOLL_CTL_MOD, connection.stream->number(), &wanted);
  }
}

void Bundle::end_sending() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  for (auto connection = connections_.begin(); connection != connections_.end();) {
    const auto current = connection++;
    put(current, {.kind = FrameKind::kEnd}, nullptr);
    if (drain(current)) {
      current->stream->end_sending();
    }
  }
}

void Bundle::shut() {
  const std::lock_guard lock(mutex_);
  over_ = true;
  for (Connection& connection : connections_) {
    connection.stream->shut();
  }
}

bool Bundle::hung_up() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(connections_.begin(), connections_.end(), [](const Connection& connection) {
    return connection.stream->hung_up();
  });
}

}  // namespace outpace::wire
