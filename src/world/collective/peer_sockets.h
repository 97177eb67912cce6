// The connections of one member of a group to all others, on which both ends have proved that they
// know the group's key (wire/peer_links.h). The member of the greater rank connects.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/time.h"
#include "collective/gloo_group.h"
#include "wire/byte_stream.h"
#include "wire/descriptor.h"
#include "wire/peer_links.h"

namespace outpace::collective {

class PeerSockets {
 public:
  explicit PeerSockets(const GroupOptions& options);

  // By rank. Throws GroupBroken if one is not there by the deadline, or after abort(). REQUIRES:
  // called once.
  [[nodiscard]] std::map<std::uint32_t, std::unique_ptr<wire::ByteStream>> connect();
  // From any thread; does not wait.
  void abort();

 private:
  using Moment = std::chrono::steady_clock::time_point;

  [[nodiscard]] std::unique_ptr<wire::ByteStream> visit(std::uint32_t rank, Moment until);
  // Throws GroupBroken if there is no time left, or after abort().
  void wait_a_moment(std::chrono::milliseconds pause,
                     const std::string& why,
                     std::uint32_t rank,
                     Moment until);

  const GroupOptions options_;
  const wire::Descriptor waker_;
  std::atomic<bool> aborted_{false};
};

}  // namespace outpace::collective
