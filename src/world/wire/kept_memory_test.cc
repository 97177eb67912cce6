#include "wire/kept_memory.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace outpace::wire {
namespace {

// The sanitizers bring an allocator of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// Pages that the system had to give while a thread used and freed a block of numbers.
long pages_for(std::size_t numbers) {
  rusage before{};
  rusage after{};
  std::thread([&] {
    ::getrusage(RUSAGE_SELF, &before);
    { const std::vector<float> block(numbers); }
    ::getrusage(RUSAGE_SELF, &after);
  }).join();
  return after.ru_minflt - before.ru_minflt;
}

// In a process that has had no threads yet, as the programs have.
[[noreturn]] void use_blocks() {
  constexpr std::size_t kNumbers = std::size_t{1} << 24U;  // 64 MiB: 16,384 pages.
  keep_freed_memory();
  const long first = pages_for(kNumbers);
  const long second = pages_for(kNumbers);
  const long smaller = pages_for(kNumbers / 2);
  std::fprintf(stderr, "pages: %ld, %ld, %ld\n", first, second, smaller);
  std::exit(first > 10'000 && second < 100 && smaller < 100 ? 0 : 1);
}

TEST(KeptMemory, ServesTheNextBlockWithoutFreshPages) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(use_blocks(), testing::ExitedWithCode(0), "pages: ");
}

#endif

}  // namespace
}  // namespace outpace::wire
