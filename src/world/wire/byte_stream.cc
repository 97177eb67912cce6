// Tested by src/world/wire/rude_client_test.cc.

#include "wire/byte_stream.h"

#include <cerrno>

#include <poll.h>
#include <sys/socket.h>

namespace outpace::wire {

Transfer ByteStream::transferred(ssize_t bytes) {
  if (bytes > 0) {
    return {.moved = Moved::kSome, .bytes = static_cast<std::size_t>(bytes)};
  }
  const bool later = bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  return {.moved = later ? Moved::kBlocked : Moved::kGone};
}

msghdr ByteStream::message_of(std::span<const iovec> parts) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());  // Not changed by sending or receiving.
  message.msg_iovlen = parts.size();
  return message;
}

short ByteStream::awaited(bool sends) const {
  return static_cast<short>(POLLIN | (sends ? POLLOUT : 0));
}

void ByteStream::end_sending() {
  ::shutdown(number(), SHUT_WR);
}

void ByteStream::shut() {
  ::shutdown(number(), SHUT_RDWR);
}

bool ByteStream::hung_up() const {
  pollfd socket{.fd = number(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&socket, 1, 0) == 1;
}

Transfer ByteStream::send_parts(std::span<const iovec> parts) const {
  const msghdr message = message_of(parts);
  return transferred(::sendmsg(number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT));
}

Transfer ByteStream::receive_parts(std::span<const iovec> parts) const {
  msghdr message = message_of(parts);
  return transferred(::recvmsg(number(), &message, MSG_DONTWAIT));
}

Transfer PlainStream::send(std::span<const iovec> parts) {
  return send_parts(parts);
}

Transfer PlainStream::receive(std::span<const iovec> parts) {
  return receive_parts(parts);
}

}  // namespace outpace::wire
