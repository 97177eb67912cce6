#include "collective/gloo_group.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collective/gloo_waits.h"
#include "collective/peer_sockets.h"
#include "wire/descriptor.h"
#include "wire/stream_relay.h"

namespace outpace::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Heartbeats reveal a silent process, TCP an other machine that is away, and a worker may be as
// slow as its delays make it. A sum therefore has no timeout.
constexpr milliseconds kNever = std::chrono::hours(24 * 365);

// Messages of a pair have the slots below this, and Gloo's sums those from 2^56 on.
constexpr std::uint64_t kSwaps = std::uint64_t{1} << 48U;
constexpr unsigned kSlotsOfSum = 8;  // Bits: how often one sum may swap.

// Keeps the first line of the message; the rest is of Gloo's sources.
[[noreturn]] void throw_broken(const std::exception& cause) {
  const std::string what = cause.what();
  throw GroupBroken("the workers' connections are broken: " + what.substr(0, what.find('\n')));
}

// A connection of Gloo's over a socket that is connected already. A pair of Gloo's own listens, and
// takes the first that connects; this one closes that listener before anybody is told of it.
class AdoptedPair final : public gloo::transport::tcp::Pair {
 public:
  using Pair::Pair;

  // `relayed`: it is a socket of this process, and not one of TCP.
  void adopt(const wire::Descriptor& socket, bool relayed, std::function<void()> failed) {
    failed_ = std::move(failed);
    const std::lock_guard lock(m_);
    if (state_ != LISTENING) {
      throw std::runtime_error("a stranger was sooner than the worker");
    }
    device_->unregisterDescriptor(fd_, this);
    ::close(fd_);
    fd_ = ::fcntl(socket.number(), F_DUPFD_CLOEXEC, 0);
    if (!relayed) {
      handleConnected();
      return;
    }
    peer_ = self_;  // For messages alone.
    device_->registerDescriptor(fd_, EPOLLIN, this);
    changeState(CONNECTED);
  }

 protected:
  // Gloo ends the process when a message is longer than the room for it, and has forgotten by then
  // who waits for it.
  bool read() override {
    try {
      return Pair::read();
    } catch (const std::exception& cause) {
      signalException(cause.what());
      failed_();
      return false;
    }
  }

 private:
  std::function<void()> failed_;
};

class AdoptingContext final : public gloo::transport::tcp::Context {
 public:
  using Context::Context;

  void adopt(int peer, const wire::Descriptor& socket, bool relayed, std::function<void()> failed) {
    auto pair =
        std::make_unique<AdoptedPair>(this, device_.get(), peer, milliseconds(getTimeout()));
    pair->adopt(socket, relayed, std::move(failed));
    pairs_.at(static_cast<std::size_t>(peer)) = std::move(pair);
  }
};

// The connections of one process to all others.
class Mesh final : public gloo::Context {
 public:
  Mesh(const GroupOptions& options, const std::map<std::uint32_t, wire::Descriptor>& sockets)
      : gloo::Context(static_cast<int>(options.rank), static_cast<int>(options.size)) {
    // Its sockets are given to it, so it need not be at the workers' network interface.
    const auto device = gloo::transport::tcp::CreateDevice("127.0.0.1");
    const auto inner = std::make_shared<AdoptingContext>(
        std::dynamic_pointer_cast<gloo::transport::tcp::Device>(device), rank, size);
    inner->setTimeout(kNever);
    setTimeout(kNever);
    watched_ = std::make_shared<WatchedContext>(inner);
    device_ = device;
    transportContext_ = watched_;
    for (const auto& [peer, socket] : sockets) {
      inner->adopt(static_cast<int>(peer), socket, options.links->sealed(), watched_->ends_waits());
    }
  }

  void break_all() { watched_->break_all(); }

 private:
  std::shared_ptr<WatchedContext> watched_;
};

// It outlives the stream, which has read nothing beyond its handshake.
wire::Descriptor same_socket(const wire::ByteStream& stream) {
  return wire::Descriptor(::fcntl(stream.number(), F_DUPFD_CLOEXEC, 0));
}

// Gloo does not write to what it sends.
std::unique_ptr<gloo::transport::UnboundBuffer> buffer_of(Mesh& mesh,
                                                          std::span<const std::byte> bytes) {
  return mesh.createUnboundBuffer(const_cast<std::byte*>(bytes.data()), bytes.size());
}

}  // namespace

struct GlooGroup::State {
  struct Sum {
    std::span<float> numbers;
    std::function<void(const Swap&)> other;  // Null: these numbers are summed by Gloo.
    std::uint32_t tag;
  };

  explicit State(const GroupOptions& given) : options(given), sockets(given) {}

  void compute_sums(const std::stop_token& stop);
  void sum(const Sum& sum) const;
  void begin(std::span<float> numbers, std::function<void(const Swap&)> other);
  void swap(std::uint64_t slot,
            const std::vector<std::span<const std::byte>>& out,
            const std::vector<std::span<std::byte>>& in) const;
  void broke(const std::exception& cause);
  void throw_if_broken() const;

  const GroupOptions options;
  PeerSockets sockets;
  std::optional<wire::StreamRelay> relay;  // Before the mesh, whose sockets it carries.
  std::shared_ptr<Mesh> mesh;              // Constant once it has joined.
  std::mutex mutex;                        // Guards what follows.
  std::condition_variable_any changed;
  std::string broken;          // Why; empty: it is not.
  std::exception_ptr failure;  // What a sum of another kind threw.
  std::deque<Sum> waiting;
  std::size_t running = 0;
  std::uint32_t sums = 0;
  gloo::transport::UnboundBuffer* receiving = nullptr;
  bool stopped = false;
  std::array<std::jthread, 2> threads;  // As many sums go on at once. Last: they stop first.
};

GlooGroup::GlooGroup(const GroupOptions& options) : state_(std::make_unique<State>(options)) {
  // Gloo writes to its sockets without MSG_NOSIGNAL. With SIGPIPE ignored, it throws an exception
  // instead.
  (void)std::signal(SIGPIPE, SIG_IGN);
}

GlooGroup::~GlooGroup() {
  abort();
}

void GlooGroup::join() {
  try {
    auto streams = state_->sockets.connect();
    std::map<std::uint32_t, wire::Descriptor> sockets;
    if (!streams.empty() && state_->options.links->sealed()) {
      state_->relay.emplace();
    }
    for (auto& [rank, stream] : streams) {
      sockets[rank] =
          state_->relay ? state_->relay->carry(std::move(stream)) : same_socket(*stream);
    }
    if (state_->relay) {
      state_->relay->start();
    }
    const std::lock_guard lock(state_->mutex);
    state_->throw_if_broken();
    state_->mesh = std::make_shared<Mesh>(state_->options, sockets);
  } catch (const GroupBroken&) {
    throw;
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
  for (std::jthread& thread : state_->threads) {
    thread = std::jthread([this](const std::stop_token& stop) { state_->compute_sums(stop); });
  }
}

void GlooGroup::State::throw_if_broken() const {
  if (!broken.empty()) {
    throw GroupBroken(broken);
  }
}

void GlooGroup::State::broke(const std::exception& cause) {
  const std::string what = cause.what();
  const std::lock_guard lock(mutex);
  if (broken.empty()) {
    broken = "the workers' connections are broken: " + what.substr(0, what.find('\n'));
  }
}

void GlooGroup::State::sum(const Sum& sum) const {
  if (sum.other) {
    std::uint64_t slot = kSwaps | std::uint64_t{sum.tag} << kSlotsOfSum;
    return sum.other([&](const auto& out, const auto& in) { swap(slot++, out, in); });
  }
  if (options.size == 1) {
    return;
  }
  gloo::AllreduceOptions what(mesh);
  what.setOutput(sum.numbers.data(), sum.numbers.size());
  what.setTag(sum.tag);
  void (*const add)(void*, const void*, const void*, std::size_t) = &gloo::sum<float>;
  what.setReduceFunction(add);
  gloo::allreduce(what);
}

void GlooGroup::State::swap(std::uint64_t slot,
                            const std::vector<std::span<const std::byte>>& out,
                            const std::vector<std::span<std::byte>>& in) const {
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> receiving;
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> sending;
  // Gloo tells the sender of each receive. On a thin link that would wait behind what is sent.
  for (std::uint32_t step = 1; step < options.size; ++step) {
    const std::uint32_t from = (options.rank + options.size - step) % options.size;
    receiving.push_back(mesh->createUnboundBuffer(in.at(from).data(), in.at(from).size()));
    receiving.back()->recv(static_cast<int>(from), slot);
  }
  for (std::uint32_t step = 1; step < options.size; ++step) {  // All begin with another rank.
    const std::uint32_t to = (options.rank + step) % options.size;
    sending.push_back(buffer_of(*mesh, out.at(to)));
    sending.back()->send(static_cast<int>(to), slot);
  }
  for (std::size_t i = 0; i < sending.size(); ++i) {
    (void)sending[i]->waitSend();
    (void)receiving[i]->waitRecv();
  }
}

void GlooGroup::State::compute_sums(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  while (changed.wait(lock, stop, [this] { return !waiting.empty(); })) {
    const Sum next = waiting.front();
    waiting.pop_front();
    if (broken.empty()) {
      ++running;
      lock.unlock();
      try {
        sum(next);
      } catch (const std::exception& cause) {
        if (dynamic_cast<const Error*>(&cause) != nullptr) {
          const std::lock_guard guard(mutex);
          failure = std::current_exception();
        }
        broke(cause);
        mesh->break_all();  // The other thread, and other processes, wait for other connections.
      }
      lock.lock();
      --running;
    }
    changed.notify_all();
  }
}

void GlooGroup::State::begin(std::span<float> numbers, std::function<void(const Swap&)> other) {
  const std::lock_guard lock(mutex);
  waiting.push_back({numbers, std::move(other), sums++});
  changed.notify_all();
}

void GlooGroup::begin_sum(std::span<float> numbers) {
  state_->begin(numbers, nullptr);
}

void GlooGroup::begin(std::function<void(const Swap&)> sum) {
  state_->begin({}, std::move(sum));
}

void GlooGroup::wait_for_sums() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->waiting.empty() && state_->running == 0; });
  if (state_->failure) {
    std::rethrow_exception(state_->failure);
  }
  state_->throw_if_broken();
}

void GlooGroup::send(std::uint32_t to, std::uint32_t tag, std::span<const std::byte> bytes) {
  try {
    const auto buffer = buffer_of(*state_->mesh, bytes);
    buffer->send(static_cast<int>(to), tag);
    (void)buffer->waitSend();
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::receive(std::uint32_t from, std::uint32_t tag, std::span<std::byte> bytes) {
  try {
    const auto buffer = state_->mesh->createUnboundBuffer(bytes.data(), bytes.size());
    buffer->recv(static_cast<int>(from), tag);
    (void)buffer->waitRecv();
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::exchange(std::uint32_t with,
                         std::uint32_t send_tag,
                         std::span<const std::byte> bytes,
                         std::uint32_t receive_tag,
                         std::span<std::byte> theirs) {
  try {
    const auto in = state_->mesh->createUnboundBuffer(theirs.data(), theirs.size());
    const auto out = buffer_of(*state_->mesh, bytes);
    in->recv(static_cast<int>(with), receive_tag);
    out->send(static_cast<int>(with), send_tag);
    (void)out->waitSend();
    (void)in->waitRecv();
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

std::optional<std::uint32_t> GlooGroup::receive_any(std::uint32_t tag, std::span<std::byte> bytes) {
  try {
    std::vector<int> others;
    for (int rank = 0; rank < state_->mesh->size; ++rank) {
      if (rank != state_->mesh->rank) {
        others.push_back(rank);
      }
    }
    const auto buffer = state_->mesh->createUnboundBuffer(bytes.data(), bytes.size());
    {
      const std::lock_guard lock(state_->mutex);
      state_->throw_if_broken();
      if (state_->stopped) {
        return std::nullopt;
      }
      state_->receiving = buffer.get();
    }
    int from = 0;
    bool came = false;
    std::exception_ptr failure;
    try {
      buffer->recv(others, tag);
      came = buffer->waitRecv(&from);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(state_->mutex);
    state_->receiving = nullptr;
    if (failure) {
      std::rethrow_exception(failure);
    }
    if (came) {
      return static_cast<std::uint32_t>(from);
    }
    state_->throw_if_broken();
    return std::nullopt;
  } catch (const GroupBroken&) {
    throw;
  } catch (const std::exception& cause) {
    throw_broken(cause);
  }
}

void GlooGroup::stop_receiving() {
  const std::lock_guard lock(state_->mutex);
  state_->stopped = true;
  if (state_->receiving != nullptr) {
    state_->receiving->abortWaitRecv();
  }
}

void GlooGroup::abort() {
  std::shared_ptr<Mesh> mesh;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->broken.empty()) {
      state_->broken = "the group of the workers was given up";
    }
    if (state_->receiving != nullptr) {
      state_->receiving->abortWaitRecv();
    }
    mesh = state_->mesh;
    state_->changed.notify_all();
  }
  state_->sockets.abort();
  if (mesh) {
    mesh->break_all();
  }
}

}  // namespace outpace::collective
