// Where a run's first weights come from: worker 0 brings them, as in systems that broadcast from
// rank 0. If worker 0 does not come in time, any worker is asked.
//
// The weights count only while the worker that brought them is connected, until the run begins.

#pragma once

#include <optional>

#include "base/connection_id.h"
#include "base/ids.h"

namespace outpace::admission {

class FirstWeights {
 public:
  // `there`: the driver has them from the beginning, and they stay.
  explicit FirstWeights(bool there) : there_(there) {}

  [[nodiscard]] bool there() const { return there_; }
  // The worker that brought them; nothing if none did.
  [[nodiscard]] std::optional<ConnectionId> from() const { return from_; }
  [[nodiscard]] bool awaits_rank_0() const { return !there_ && awaits_rank_0_; }
  // Whether this worker is to bring them.
  [[nodiscard]] bool asks(WorkerId worker) const {
    return !there_ && (index(worker) == 0 || !awaits_rank_0_);
  }

  void came(ConnectionId from) {
    there_ = true;
    from_ = from;
  }
  void lapsed() { *this = FirstWeights(false); }
  void ask_all() { awaits_rank_0_ = false; }

 private:
  bool there_;
  std::optional<ConnectionId> from_;
  bool awaits_rank_0_ = true;
};

}  // namespace outpace::admission
