// When a worker that is cut off is let finish, so that the model sees a whole runtime of it.
//
// A worker that is cut off in every iteration is only ever seen to take longer than its time, also
// once it is fast again. After twenty times in a row it is therefore not told to stop for two more
// iterations. Its gradient comes late and counts for nothing, but its runtime corrects the model.
// No update waits for it, and the mini-batches that it would have begun instead would most likely
// have been cut off too.

#pragma once

#include <cstdint>

namespace outpace::runtime_model {

// Counts how often one worker was cut off in a row.
class Probing {
 public:
  static constexpr std::uint32_t kInVain = 20;  // Times in a row that it is cut off before.
  static constexpr std::uint32_t kLongest =
      1;  // Iterations after the next; then it is told to stop.

  // Its gradient came in time.
  void came() { in_vain_ = 0; }
  // It is cut off: whether it is let finish.
  [[nodiscard]] bool lets_finish() {
    if (in_vain_ < kInVain) {
      ++in_vain_;
      return false;
    }
    in_vain_ = 0;
    return true;
  }

 private:
  std::uint32_t in_vain_ = 0;
};

}  // namespace outpace::runtime_model
