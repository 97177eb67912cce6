// Loops that the compiler vectorises, once for any processor and once for those with AVX2, so that
// no build needs -march. All compute the same bits: -ffp-contract=off holds for both.
//
//   run_with(vectors, [&]() OUTPACE_VECTORISED { for (...) ... });
//
// What such a loop calls is inlined into it (OUTPACE_INLINED), or is compiled for any processor.

#pragma once

#include <cstdint>

#define OUTPACE_VECTORISED __attribute__((always_inline))
#define OUTPACE_INLINED [[gnu::always_inline]] inline

namespace outpace::compress {

enum class Vectors : std::uint8_t { kAnywhere, kAvx2 };

#if defined(__x86_64__)

[[nodiscard]] inline Vectors best_vectors() {
  return __builtin_cpu_supports("avx2") != 0 ? Vectors::kAvx2 : Vectors::kAnywhere;
}

template <typename Loop>
[[gnu::target("avx2")]] void run_with_avx2(const Loop& loop) {
  loop();
}

#else

[[nodiscard]] inline Vectors best_vectors() {
  return Vectors::kAnywhere;
}

template <typename Loop>
void run_with_avx2(const Loop& loop) {
  loop();
}

#endif

// REQUIRES: `vectors` is no more than best_vectors().
template <typename Loop>
void run_with(Vectors vectors, const Loop& loop) {
  if (vectors == Vectors::kAvx2) {
    run_with_avx2(loop);
  } else {
    loop();
  }
}

}  // namespace outpace::compress
