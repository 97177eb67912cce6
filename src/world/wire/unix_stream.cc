// Tested by src/world/wire/rude_memory_test.cc.

#include "wire/unix_stream.h"

#include <array>
#include <cstring>

#include <sys/socket.h>

namespace outpace::wire {
namespace {

// Room for one descriptor; the system closes any others.
using Control = std::array<char, CMSG_SPACE(sizeof(int))>;

}  // namespace

Transfer UnixStream::send(std::span<const iovec> parts) {
  return send_parts(parts);
}

Transfer UnixStream::send_with(std::span<const iovec> parts, int descriptor) {
  alignas(cmsghdr) Control control{};
  msghdr message = message_of(parts);
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  const Transfer sent = transferred(::sendmsg(number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT));
  // Where the system carries no descriptor, the bytes go alone, and the peer sees that.
  return sent.moved == Moved::kGone ? send(parts) : sent;
}

Transfer UnixStream::receive(std::span<const iovec> parts) {
  if (!accepts_) {
    return receive_parts(parts);
  }
  alignas(cmsghdr) Control control{};
  msghdr message = message_of(parts);
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));
  const Transfer came = transferred(::recvmsg(number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
  const cmsghdr* const head = came.moved == Moved::kSome ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
      head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(head), sizeof(int));
    descriptor_ = Descriptor(descriptor);  // An older one that nobody took is closed.
  }
  return came;
}

}  // namespace outpace::wire
