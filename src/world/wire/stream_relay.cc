#include "wire/stream_relay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

namespace outpace::wire {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10U;

bool blocked() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

iovec StreamRelay::Way::room() {
  if (bytes.empty()) {
    bytes.resize(kBuffer);
  }
  if (begin > 0) {
    std::memmove(bytes.data(), bytes.data() + begin, end - begin);
    end -= std::exchange(begin, 0);
  }
  return {.iov_base = bytes.data() + end, .iov_len = bytes.size() - end};
}

StreamRelay::StreamRelay() : waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (waker_.number() < 0) {
    throw Error(ExitCode::kFailure, std::string("eventfd: ") + std::strerror(errno));
  }
}

StreamRelay::~StreamRelay() {
  thread_.request_stop();
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
}

Descriptor StreamRelay::carry(std::unique_ptr<ByteStream> stream) {
  std::array<int, 2> pair{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0) {
    throw Error(ExitCode::kFailure, std::string("socketpair: ") + std::strerror(errno));
  }
  Descriptor theirs(pair[0]);
  links_.push_back({.stream = std::move(stream), .local = Descriptor(pair[1])});
  return theirs;
}

void StreamRelay::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StreamRelay::run(const std::stop_token& stop) {
  std::vector<pollfd> wait;
  // A stream may hold bytes that its socket does not show any more.
  std::erase_if(links_, [](Link& link) { return !move(link); });
  while (!stop.stop_requested()) {
    wait.assign({{.fd = waker_.number(), .events = POLLIN, .revents = 0}});
    for (const Link& link : links_) {
      const bool takes = link.in.end - link.in.begin < kBuffer && !link.in.over;
      const int events = (takes ? POLLIN : 0) | (link.out.empty() ? 0 : POLLOUT);
      const bool reads = link.out.end - link.out.begin < kBuffer && !link.out.over;
      const int local = (reads ? POLLIN : 0) | (link.in.empty() ? 0 : POLLOUT);
      // One that waits for nothing would only be told again and again that it has hung up.
      wait.push_back({.fd = events == 0 ? -1 : link.stream->number(),
                      .events = static_cast<short>(events),
                      .revents = 0});
      wait.push_back({.fd = local == 0 ? -1 : link.local.number(),
                      .events = static_cast<short>(local),
                      .revents = 0});
    }
    ::poll(wait.data(), wait.size(), -1);
    auto link = links_.begin();
    for (std::size_t i = 1; i + 1 < wait.size(); i += 2) {
      const auto present = link++;
      if ((wait[i].revents != 0 || wait[i + 1].revents != 0) && !move(*present)) {
        links_.erase(present);
      }
    }
  }
  for (Link& link : links_) {
    (void)move(link);
  }
  links_.clear();
}

bool StreamRelay::move(Link& link) {
  for (bool moved = true; moved;) {
    moved = fill_out(link);
    moved = drain_out(link) || moved;
    moved = fill_in(link) || moved;
    moved = drain_in(link) || moved;
  }
  const bool sent = link.out.over && link.out.empty();
  const bool received = link.in.over && link.in.empty();
  if (sent || received) {
    link.stream->end_sending();
    link.stream->shut();
  }
  return !sent && !received;
}

bool StreamRelay::fill_out(Link& link) {
  const iovec room = link.out.over ? iovec{} : link.out.room();
  if (room.iov_len == 0) {
    return false;
  }
  const ssize_t got = ::recv(link.local.number(), room.iov_base, room.iov_len, MSG_DONTWAIT);
  if (got > 0) {
    link.out.end += static_cast<std::size_t>(got);
    return true;
  }
  link.out.over = got == 0 || !blocked();
  return false;
}

bool StreamRelay::drain_out(Link& link) {
  Way& way = link.out;
  if (way.empty()) {
    return false;
  }
  const iovec part{.iov_base = way.bytes.data() + way.begin, .iov_len = way.end - way.begin};
  const Transfer sent = link.stream->send({&part, 1});
  if (sent.moved == Moved::kGone) {
    way.over = true;
    way.begin = way.end;
  }
  way.begin += sent.bytes;
  return sent.moved == Moved::kSome;
}

bool StreamRelay::fill_in(Link& link) {
  const iovec room = link.in.over ? iovec{} : link.in.room();
  if (room.iov_len == 0) {
    return false;
  }
  const Transfer got = link.stream->receive({&room, 1});
  link.in.end += got.bytes;
  link.in.over = got.moved == Moved::kGone;
  return got.moved == Moved::kSome;
}

bool StreamRelay::drain_in(Link& link) {
  Way& way = link.in;
  if (way.empty()) {
    return false;
  }
  const ssize_t sent = ::send(link.local.number(),
                              way.bytes.data() + way.begin,
                              way.end - way.begin,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && !blocked()) {  // Nobody reads it any more.
    way.over = true;
    way.begin = way.end;
    return false;
  }
  way.begin += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  return sent > 0;
}

}  // namespace outpace::wire
