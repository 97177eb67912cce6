// Sockets, and the question whether bytes wait in any of them. It takes the same time for a
// thousand sockets as for one, where poll() would look at each.

#pragma once

#include "wire/descriptor.h"

namespace outpace::wire {

class SocketSet {
 public:
  // Throws an internal error if the system has no descriptor left.
  SocketSet();

  // A socket leaves the set when it is closed. Throws an internal error if the system has no room.
  void add(int socket);
  // From any thread. True also of a socket whose peer has hung up and that was not closed yet.
  [[nodiscard]] bool any_readable() const;

 private:
  Descriptor epoll_;
};

}  // namespace outpace::wire
