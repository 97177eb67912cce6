// Carries bytes between streams and sockets of this process: for a library that wants a socket,
// while what leaves the machine is sealed.
//
// One thread carries all of them, both ways, as far as each side takes it: what one side does not
// take, the other is not asked for, beyond a buffer of 256 KiB each way. The end of either side is
// passed on to the other, after what came before it.

#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "wire/byte_stream.h"
#include "wire/descriptor.h"

namespace outpace::wire {

class StreamRelay {
 public:
  // Throws an Error if the system gives no descriptor.
  StreamRelay();
  // Ends all streams. What their sockets were given before is sent as far as the streams take it at
  // once.
  ~StreamRelay();
  StreamRelay(const StreamRelay&) = delete;
  StreamRelay& operator=(const StreamRelay&) = delete;

  // A connected socket, which does not block: its bytes are those of the stream. Throws an Error if
  // the system gives none. REQUIRES: not after start().
  [[nodiscard]] Descriptor carry(std::unique_ptr<ByteStream> stream);
  void start();

 private:
  // One direction.
  struct Way {
    std::vector<char> bytes;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool over = false;  // Nothing more comes from where it begins.

    [[nodiscard]] bool empty() const { return begin == end; }
    // Where more fits; it moves what is there to the front.
    [[nodiscard]] iovec room();
  };
  struct Link {
    std::unique_ptr<ByteStream> stream;
    Descriptor local;
    Way out{};  // To the stream.
    Way in{};   // From it.
  };

  void run(const std::stop_token& stop);
  // As far as it goes without waiting. False once the link is over.
  [[nodiscard]] static bool move(Link& link);
  [[nodiscard]] static bool fill_out(Link& link);
  [[nodiscard]] static bool drain_out(Link& link);
  [[nodiscard]] static bool fill_in(Link& link);
  [[nodiscard]] static bool drain_in(Link& link);

  std::list<Link> links_;  // The thread's, once it runs.
  const Descriptor waker_;
  std::jthread thread_;  // Last: the rest is there when it starts.
};

}  // namespace outpace::wire
