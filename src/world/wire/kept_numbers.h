// Memory of payloads that have been used, for the next ones.
//
// A large block that a program frees goes back to the system, which clears the pages of the next
// one while they are touched: for 100 MB that takes five to fifty times as long as a copy. Our
// programs keep what they free (kept_memory.h). A library must not change how its user's program
// frees memory, so a worker's session keeps its own blocks here.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace outpace::wire {

// Blocks that are free. A connection uses three at most: the weights, a gradient that is being
// computed, and one that is being sent. So two are kept. Threads: any.
class KeptNumbers : public std::enable_shared_from_this<KeptNumbers> {
 public:
  using Block = std::vector<float>;

  // Memory for this many numbers, for the caller to keep: as large as that and with anything in it,
  // or else empty, with room reserved.
  [[nodiscard]] Block take(std::uint64_t count);
  // The same, but it comes back with the last copy of the pointer.
  [[nodiscard]] std::shared_ptr<Block> borrow(std::uint64_t count);
  // Memory of the caller's that comes here with the last copy of the pointer.
  [[nodiscard]] std::shared_ptr<Block> lend(Block block);

  // While a copy of the result lives, the memory of a borrowed block is not freed, although other
  // numbers may be written there.
  [[nodiscard]] static std::shared_ptr<const void> memory_of(const std::shared_ptr<Block>& lent);
  // The numbers, without a copy if nobody else uses their memory.
  [[nodiscard]] static Block move_away(std::shared_ptr<Block> lent);

 private:
  // Gives a block back when its last user lets go of it.
  struct Return {
    std::weak_ptr<KeptNumbers> to;
    std::shared_ptr<Block> block;

    void operator()(Block* /*block*/);
  };

  // A free block of this size, null if there is none; frees those of other sizes. `unheld`: one
  // whose memory nobody holds.
  [[nodiscard]] std::shared_ptr<Block> find(std::uint64_t count, bool unheld);
  [[nodiscard]] std::shared_ptr<Block> lend(std::shared_ptr<Block> own);
  void give_back(std::shared_ptr<Block> block);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Block>> free_;  // The last one used last. Guarded by mutex_.
};

}  // namespace outpace::wire
