// The connections of one member of a group to all others, on which both ends have proved that they
// know the job's token. Each member writes its address into the rendezvous folder; of two members,
// the one of the greater rank connects.

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "collective/gloo_group.h"
#include "wire/descriptor.h"
#include "wire/peer_links.h"

namespace outpace::collective {

class PeerSockets {
 public:
  explicit PeerSockets(const GroupOptions& options);

  // By rank. Throws GroupBroken if one is not there by the deadline, or after abort(). REQUIRES:
  // called once.
  [[nodiscard]] std::map<std::uint32_t, wire::Descriptor> connect();
  // From any thread; does not wait.
  void abort();

 private:
  using Moment = std::chrono::steady_clock::time_point;

  [[nodiscard]] wire::Descriptor visit(std::uint32_t rank, Moment until);
  void wait_a_moment(const std::string& why, std::uint32_t rank, Moment until);

  const GroupOptions options_;
  const wire::Descriptor waker_;
  std::mutex mutex_;
  bool aborted_ = false;  // Guarded by mutex_.
  std::optional<wire::PeerListener>
      listener_;  // While connect() runs, which changes it under mutex_.
};

}  // namespace outpace::collective
