#include "chaos_run/fault_proxy.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/error.h"

namespace outpace::chaos_run {
namespace {

constexpr std::size_t kChunk = std::size_t{16} << 10U;
constexpr std::size_t kQueuedMost = std::size_t{4} << 20U;  // Bytes of a flow that is full.
constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::seconds kToConnect{2};
// A handshake is a few hundred bytes. A flipped bit in it reads as a wrong token or a wrong
// certificate, which no process may take for an accident.
constexpr std::uint64_t kHandshakeBytes = 8192;

// Closing it then resets the connection: what is on its way is lost, and the peer hears an error.
void reset_on_close(const wire::Descriptor& socket) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

FaultProxy::FaultProxy(const std::vector<std::string>& listen, std::uint64_t seed)
    : waker_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), rng_(seed, 1) {
  for (const std::string& address : listen) {
    links_.push_back(std::make_unique<Link>());
    links_.back()->listener = wire::listen_on(address);
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

FaultProxy::~FaultProxy() {
  thread_.request_stop();
  wake();
}

void FaultProxy::set_server(const std::string& address) {
  const std::lock_guard lock(mutex_);
  server_ = address;
}

void FaultProxy::disconnect(std::size_t link) {
  {
    const std::lock_guard lock(mutex_);
    links_[link]->disconnect = true;
  }
  wake();
}

void FaultProxy::delay(std::size_t link, Duration by) {
  const std::lock_guard lock(mutex_);
  links_[link]->delay = by;
}

void FaultProxy::corrupt(std::size_t link, std::uint64_t chunks) {
  const std::lock_guard lock(mutex_);
  links_[link]->corrupt = chunks;
}

std::uint64_t FaultProxy::still_to_corrupt(std::size_t link) {
  const std::lock_guard lock(mutex_);
  return links_[link]->corrupt;
}

void FaultProxy::block(std::size_t link, Blocked blocked) {
  {
    // What is being passed on now was sent before; nothing is once this returns.
    const std::scoped_lock lock(passing_, mutex_);
    links_[link]->blocked = blocked;
  }
  wake();
}

void FaultProxy::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    wait(Clock::now());
    accept_all();
    const auto now = Clock::now();
    std::vector<bool> disconnected(links_.size());
    for (std::size_t link = 0; link < links_.size(); ++link) {
      disconnected[link] = take_disconnect(link);
    }
    for (Connection& connection : connections_) {
      pass(connection, connection.to_server, now);
      pass(connection, connection.from_server, now);
      if (connection.broken || disconnected[connection.link]) {
        connection.broken = true;
        reset_on_close(connection.client);
        reset_on_close(connection.server);
      }
    }
    connections_.remove_if([](const Connection& one) {
      return one.broken || (one.to_server.told && one.from_server.told);
    });
  }
}

void FaultProxy::accept_all() {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    while (true) {
      wire::Endpoint peer;
      wire::Descriptor client = wire::accept_from(links_[link]->listener.socket, peer);
      if (client.number() < 0) {
        break;
      }
      open(link, std::move(client));
    }
  }
}

void FaultProxy::open(std::size_t link, wire::Descriptor client) {
  std::string server;
  {
    const std::lock_guard lock(mutex_);
    server = server_;
  }
  const auto deadline = Clock::now() + kToConnect;
  wire::Descriptor to_server;
  try {
    const wire::Descriptor never_wakes;
    to_server = wire::connect_to(wire::resolve(server, deadline).front(), deadline, never_wakes);
  } catch (const Error&) {  // The client sees what it would see of a server that is gone.
    reset_on_close(client);
    return;
  }
  const Flow there{
      .from = client.number(), .to = to_server.number(), .to_server = true, .chunks = {}};
  const Flow back{.from = to_server.number(), .to = client.number(), .chunks = {}};
  connections_.push_back({.link = link,
                          .client = std::move(client),
                          .server = std::move(to_server),
                          .to_server = there,
                          .from_server = back});
}

bool FaultProxy::take_disconnect(std::size_t link) {
  const std::lock_guard lock(mutex_);
  return std::exchange(links_[link]->disconnect, false);
}

bool FaultProxy::is_blocked(const Link& link, const Flow& flow) {
  const std::lock_guard lock(mutex_);
  return link.blocked == Blocked::kBothWays ||
         link.blocked == (flow.to_server ? Blocked::kToServer : Blocked::kFromServer);
}

void FaultProxy::pass(Connection& connection, Flow& flow, Clock::time_point now) {
  const std::lock_guard lock(passing_);
  if (is_blocked(*links_[connection.link], flow)) {
    return;
  }
  while (read_some(connection, flow, now)) {
  }
  while (write_some(connection, flow, now)) {
  }
  if (flow.ended && !flow.told && flow.chunks.empty()) {
    shutdown(flow.to, SHUT_WR);
    flow.told = true;
  }
}

bool FaultProxy::read_some(Connection& connection, Flow& flow, Clock::time_point now) {
  if (connection.broken || flow.ended || flow.queued >= kQueuedMost) {
    return false;
  }
  std::vector<char> bytes(kChunk);
  const ssize_t got = recv(flow.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0) {
    connection.broken = connection.broken || (errno != EAGAIN && errno != EINTR);
    return false;
  }
  if (got == 0) {
    flow.ended = true;
    return false;
  }
  bytes.resize(static_cast<std::size_t>(got));
  Link& link = *links_[connection.link];
  flow.read += bytes.size();
  flow.queued += bytes.size();
  spoil(link, flow, bytes);
  Duration delay{};
  {
    const std::lock_guard lock(mutex_);
    delay = link.delay;
  }
  // In order, also when the delay has just become shorter.
  const auto before = flow.chunks.empty() ? now : flow.chunks.back().due;
  flow.chunks.push_back({.due = std::max(before, now + delay), .bytes = std::move(bytes)});
  return true;
}

void FaultProxy::spoil(Link& link, Flow& flow, std::vector<char>& bytes) {
  if (flow.read < kHandshakeBytes) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (link.corrupt == 0) {
      return;
    }
    --link.corrupt;
  }
  char& byte = bytes[rng_.below(bytes.size())];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << rng_.below(8)));
}

bool FaultProxy::write_some(Connection& connection, Flow& flow, Clock::time_point now) {
  if (connection.broken || flow.chunks.empty() || flow.chunks.front().due > now) {
    return false;
  }
  Chunk& chunk = flow.chunks.front();
  const std::size_t left = chunk.bytes.size() - flow.sent_of_first;
  const ssize_t sent =
      send(flow.to, chunk.bytes.data() + flow.sent_of_first, left, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) {
    connection.broken = connection.broken || (errno != EAGAIN && errno != EINTR);
    return false;
  }
  flow.queued -= static_cast<std::size_t>(sent);
  flow.sent_of_first += static_cast<std::size_t>(sent);
  if (flow.sent_of_first < chunk.bytes.size()) {
    return false;
  }
  flow.chunks.pop_front();
  flow.sent_of_first = 0;
  return true;
}

void FaultProxy::wait(Clock::time_point now) {
  std::vector<pollfd> polled{{.fd = waker_.number(), .events = POLLIN, .revents = 0}};
  for (const auto& link : links_) {
    polled.push_back({.fd = link->listener.socket.number(), .events = POLLIN, .revents = 0});
  }
  auto until = now + kLook;
  for (Connection& connection : connections_) {
    for (Flow* flow : {&connection.to_server, &connection.from_server}) {
      if (is_blocked(*links_[connection.link], *flow)) {
        continue;
      }
      if (!flow->ended && flow->queued < kQueuedMost) {
        polled.push_back({.fd = flow->from, .events = POLLIN, .revents = 0});
      }
      if (flow->chunks.empty()) {
        continue;
      }
      if (flow->chunks.front().due > now) {
        until = std::min(until, flow->chunks.front().due);
      } else {
        polled.push_back({.fd = flow->to, .events = POLLOUT, .revents = 0});
      }
    }
  }
  poll(polled.data(), polled.size(), wire::milliseconds_until(until));
  std::array<char, 8> ignored{};
  while (::read(waker_.number(), ignored.data(), ignored.size()) > 0) {
  }
}

void FaultProxy::wake() {
  const std::uint64_t one = 1;
  if (::write(waker_.number(), &one, sizeof one) < 0) {
    return;  // It is awake already.
  }
}

}  // namespace outpace::chaos_run
