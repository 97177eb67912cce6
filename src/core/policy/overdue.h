// Which workers are so far behind that their gradients will be dropped, the one furthest behind
// first.
//
// A worker computes from the version of its release, and releases come in the order of versions. So
// the workers are a list in the order of their releases, and a commit looks at its front.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace outpace::policy {

class Overdue {
 public:
  // The only call that allocates.
  void join(WorkerId worker);
  // The worker computes from `version` on. REQUIRES: it joined, and no other has been released on a
  // later version.
  void released(WorkerId worker, std::uint64_t version);
  // Its release is over, or it left.
  void ended(WorkerId worker);
  // A worker whose release is more than `bound` versions behind this one; each release is returned
  // once. Call until there is none.
  [[nodiscard]] std::optional<WorkerId> next(std::uint64_t version, std::uint64_t bound);

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  struct Worker {
    std::uint64_t version = 0;
    bool listed = false;
    std::uint32_t before = kNobody;
    std::uint32_t after = kNobody;
  };

  std::vector<Worker> workers_;
  std::uint32_t first_ = kNobody;
  std::uint32_t last_ = kNobody;
};

}  // namespace outpace::policy
