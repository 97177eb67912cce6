// Which positions of which epochs are taken: out with a worker, or used. A twin of the server's
// leases that knows nothing of how they work.

#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "protocol/messages.h"

namespace outpace::invariants {

class Positions {
 public:
  // False, and nothing changes, if one of the range is taken already. REQUIRES: it is not empty.
  [[nodiscard]] bool take(const protocol::Range& range);
  // False, and nothing changes, unless all of the range is taken.
  [[nodiscard]] bool give_back(const protocol::Range& range);
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  // (epoch, begin) -> end; disjoint, and no two touch.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> taken_;
  std::uint64_t size_ = 0;
};

}  // namespace outpace::invariants
