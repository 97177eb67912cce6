// Tested by src/world/wire/transport_test.cc.

#include "wire/socket_set.h"

#include <cerrno>
#include <system_error>

#include <sys/epoll.h>

namespace outpace::wire {

SocketSet::SocketSet() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_.number() < 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
}

void SocketSet::add(int socket) {
  epoll_event readable{.events = EPOLLIN, .data = {.fd = socket}};
  if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, socket, &readable) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
}

bool SocketSet::any_readable() const {
  epoll_event found{};
  return ::epoll_wait(epoll_.number(), &found, 1, 0) == 1;
}

}  // namespace outpace::wire
