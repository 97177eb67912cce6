#include "collective/sum_cost.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "collective/gloo_group.h"

namespace outpace::collective {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kWarmUps = 5;

// The median over this member's sums. The other member's is the same, because a sum ends when both
// have arrived.
double median_sum_seconds(GlooGroup& group, std::vector<float>& numbers, std::size_t repeats) {
  std::vector<double> seconds;
  seconds.reserve(repeats);
  for (std::size_t i = 0; i < kWarmUps + repeats; ++i) {
    const auto begun = steady_clock::now();
    group.begin_sum(numbers);
    group.wait_for_sums();
    if (i >= kWarmUps) {
      seconds.push_back(std::chrono::duration<double>(steady_clock::now() - begun).count());
    }
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace

SumCost measure_sum_cost(const std::string& rendezvous, std::size_t numbers, std::size_t repeats) {
  CHECK(numbers >= 1 && repeats >= 1);
  SumCost cost{};
  const auto member = [&](std::uint32_t rank, SumCost& found) {
    GlooGroup group({.rank = rank, .size = 2, .rendezvous = rendezvous});
    group.join();
    std::vector<float> one(1);
    std::vector<float> all(numbers);
    const double steps = median_sum_seconds(group, one, repeats);
    const double whole = median_sum_seconds(group, all, repeats);
    found = {.message_seconds = steps / 2.0,  // Two members take two steps.
             .byte_seconds =
                 std::max(0.0, whole - steps) / (static_cast<double>(numbers) * sizeof(float))};
  };
  std::exception_ptr failure;
  std::jthread other([&] {
    try {
      SumCost same{};
      member(1, same);
    } catch (...) {
      failure = std::current_exception();
    }
  });
  member(0, cost);
  other.join();
  if (failure) {
    std::rethrow_exception(failure);
  }
  return cost;
}

}  // namespace outpace::collective
