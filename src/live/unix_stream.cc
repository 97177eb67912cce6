// Tested by src/live/transport_test.cc.

#include "live/unix_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/check.h"
#include "base/error.h"

namespace outpace::live {
namespace {

constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kFirstCapacity = std::size_t{1} << 18U;
constexpr std::size_t kPiecesAtOnce = 64;
// As much as the system lets a socket hold; what it does not take waits here.
constexpr int kSendBufferBytes = 1 << 22;

std::uint32_t read_u32(const char* from) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

std::string head(RecordKind kind, std::size_t bytes) {
  const std::array<std::uint32_t, 2> numbers = {static_cast<std::uint32_t>(bytes),
                                                static_cast<std::uint32_t>(kind)};
  return {reinterpret_cast<const char*>(numbers.data()), kHeadBytes};
}

bool would_block() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

UnixStream::UnixStream(Descriptor socket)
    : socket_(std::move(socket)),
      waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      received_(new char[kFirstCapacity]),
      capacity_(kFirstCapacity) {
  if (waker_.number() < 0) {
    throw Error(ExitCode::kFailure, std::string("eventfd: ") + std::strerror(errno));
  }
  ::setsockopt(
      socket_.number(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
}

UnixStream::~UnixStream() = default;

// ---- Sending ------------------------------------------------------------------------------------

void UnixStream::send(const protocol::Message& message, Payload payload, More more) {
  const std::lock_guard lock(mutex_);
  if (ended_ || broken_) {
    return;
  }
  writer_.add(message, std::move(payload));
  if (more == More::kNone) {
    flush();
  }
}

void UnixStream::begin(RecordKind kind, const std::string& bytes) {
  const std::lock_guard lock(mutex_);
  CHECK(!begun_);
  begun_ = true;
  current_.emplace_front(head(kind, bytes.size()) + bytes);
  flush();
}

void UnixStream::end(RecordKind kind, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) {
    return;
  }
  farewell_.emplace(head(kind, why.size()) + why);
  flush();
}

void UnixStream::stop_reading() {
  {
    const std::lock_guard lock(mutex_);
    reads_ = false;
  }
  wake();
}

void UnixStream::abort() {
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    ended_ = true;
    writer_.clear();  // Also of a stream that never began, whose owner may go on sending.
  }
  ::shutdown(socket_.number(), SHUT_RDWR);
  wake();
}

void UnixStream::flush() {
  if (!begun_ || broken_) {
    return;
  }
  blocked_ = false;
  while (!current_.empty() || take_next_record()) {
    std::array<iovec, kPiecesAtOnce> parts{};
    const std::size_t count = std::min(current_.size(), parts.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view bytes = current_[i].view().substr(i == 0 ? sent_of_first_ : 0);
      // Not const only because the same structure serves to receive.
      parts.at(i) = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      forget_sent(static_cast<std::size_t>(sent));
    } else if (would_block()) {
      blocked_ = true;
      wake();
      return;
    } else {
      broken_ = true;  // The peer is gone, as reading will tell.
      writer_.clear();
      current_.clear();
      farewell_.reset();
    }
  }
}

bool UnixStream::take_next_record() {
  if (!writer_.empty()) {
    std::vector<Piece> packet = writer_.next();
    std::size_t bytes = 0;
    for (const Piece& piece : packet) {
      bytes += piece.view().size();
    }
    current_.emplace_back(head(RecordKind::kPacket, bytes));
    std::move(packet.begin(), packet.end(), std::back_inserter(current_));
    return true;
  }
  if (farewell_) {
    current_.push_back(*std::exchange(farewell_, std::nullopt));
    return true;
  }
  return false;
}

void UnixStream::forget_sent(std::size_t bytes) {
  sent_of_first_ += bytes;
  while (!current_.empty() && sent_of_first_ >= current_.front().view().size()) {
    sent_of_first_ -= current_.front().view().size();
    current_.pop_front();
  }
}

void UnixStream::wake() {
  const std::uint64_t one = 1;
  // It fails only if it is awake already.
  [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
}

// ---- Receiving ----------------------------------------------------------------------------------

std::optional<Record> UnixStream::next(std::size_t bytes_max, int timeout_ms) {
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (true) {
    bool reads = false;
    bool blocked = false;
    {
      const std::lock_guard lock(mutex_);
      reads = reads_;
      blocked = blocked_;
      if (aborted_ || (!reads && !blocked)) {
        return std::nullopt;
      }
    }
    if (reads) {
      if (const auto record = parse(bytes_max)) {
        return record;
      }
    }
    int patience = -1;
    if (timeout_ms >= 0) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now());
      patience = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    const auto events = static_cast<short>((reads ? POLLIN : 0) | (blocked ? POLLOUT : 0));
    std::array<pollfd, 2> wait = {pollfd{.fd = socket_.number(), .events = events, .revents = 0},
                                  pollfd{.fd = waker_.number(), .events = POLLIN, .revents = 0}};
    if (::poll(wait.data(), wait.size(), patience) == 0) {
      return std::nullopt;
    }
    if ((wait[1].revents & POLLIN) != 0) {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t taken = ::read(waker_.number(), &count, sizeof(count));
    }
    if ((wait[0].revents & POLLOUT) != 0) {
      const std::lock_guard lock(mutex_);
      flush();
    }
    const bool gone = (wait[0].revents & (POLLERR | POLLHUP)) != 0;
    if (gone && !reads) {
      return std::nullopt;  // Nobody will read the rest.
    }
    if (((wait[0].revents & POLLIN) != 0 || gone) && !receive()) {
      return std::nullopt;
    }
  }
}

std::optional<Record> UnixStream::parse(std::size_t bytes_max) {
  wanted_ = kHeadBytes;
  if (end_ - begin_ < wanted_) {
    return std::nullopt;
  }
  const std::size_t bytes = read_u32(received_.get() + begin_);
  if (bytes > bytes_max) {
    throw Error(ExitCode::kFailure,
                "a record of " + std::to_string(bytes) + " bytes, and at most " +
                    std::to_string(bytes_max) + " are allowed");
  }
  wanted_ += bytes;
  if (end_ - begin_ < wanted_) {
    return std::nullopt;
  }
  const char* start = received_.get() + begin_;
  begin_ += wanted_;
  return Record{.kind = static_cast<RecordKind>(read_u32(start + sizeof(std::uint32_t))),
                .bytes = {start + kHeadBytes, bytes}};
}

bool UnixStream::receive() {
  if (begin_ == end_) {
    begin_ = end_ = 0;
  }
  if (begin_ + wanted_ > capacity_ || end_ == capacity_) {
    const std::size_t capacity = std::max(capacity_, wanted_);
    std::unique_ptr<char[]> larger(new char[capacity]);
    std::memcpy(larger.get(), received_.get() + begin_, end_ - begin_);
    received_ = std::move(larger);
    capacity_ = capacity;
    end_ -= begin_;
    begin_ = 0;
  }
  const ssize_t bytes =
      ::recv(socket_.number(), received_.get() + end_, capacity_ - end_, MSG_DONTWAIT);
  if (bytes > 0) {
    end_ += static_cast<std::size_t>(bytes);
    return true;
  }
  return bytes < 0 && would_block();
}

}  // namespace outpace::live
