// For tests: ranks as threads that swap in memory.

#pragma once

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collective/swap.h"

namespace outpace::collective {

class SwapInMemory {
 public:
  explicit SwapInMemory(std::uint32_t size) : out_(size), all_(size) {}

  // Each rank does this on a thread of its own.
  void each_rank(const std::function<void(std::uint32_t rank, const Swap&)>& task) {
    std::vector<std::jthread> ranks;
    for (std::uint32_t rank = 0; rank < out_.size(); ++rank) {
      ranks.emplace_back([this, rank, &task] {
        task(rank, [this, rank](const auto& out, const auto& in) { swap(rank, out, in); });
      });
    }
  }
  // Bytes that rank 0 has sent.
  [[nodiscard]] std::size_t sent() const { return sent_; }

 private:
  void swap(std::uint32_t rank,
            const std::vector<std::span<const std::byte>>& out,
            const std::vector<std::span<std::byte>>& in) {
    out_[rank] = out;
    all_.arrive_and_wait();
    for (std::uint32_t from = 0; from < out_.size(); ++from) {
      if (from == rank) {
        continue;
      }
      const std::span<const std::byte> bytes = out_[from].at(rank);
      ASSERT_EQ(bytes.size(), in.at(from).size());
      std::memcpy(in[from].data(), bytes.data(), bytes.size());
      sent_ += rank == 0 ? out.at(from).size() : 0;
    }
    all_.arrive_and_wait();
  }

  std::vector<std::vector<std::span<const std::byte>>> out_;
  std::barrier<> all_;
  std::size_t sent_ = 0;  // Rank 0's.
};

}  // namespace outpace::collective
