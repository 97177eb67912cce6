// Large pages for a program that reads hundreds of megabytes at random. Such a program waits as
// long for the processor to find the pages as for the memory itself. Pages of 2 MiB are found at
// once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace outpace::run {

// Asks the system for large pages under the next gigabyte of the heap, and keeps what is allocated
// there. Changes no result; where the system gives no such pages, nothing. Call before much is
// allocated, with one thread.
inline void ask_for_large_pages() {
  constexpr int kReserve = 1 << 30;  // Bytes of addresses; memory is given where it is touched.
  constexpr std::size_t kPage = 2U << 20U;
  mallopt(M_MMAP_THRESHOLD, kReserve);
  mallopt(M_TOP_PAD, kReserve);
  auto* const before = static_cast<char*>(sbrk(0));
  void* const grows = std::malloc(kPage);  // The heap grows with it, by the reserve.
  auto* const after = static_cast<char*>(sbrk(0));
  char* const begin = before + (kPage - reinterpret_cast<std::uintptr_t>(before) % kPage) % kPage;
  if (grows != nullptr && after > begin) {
    // An advice: what it returns is of no interest.
    static_cast<void>(madvise(begin, static_cast<std::size_t>(after - begin), MADV_HUGEPAGE));
  }
  std::free(grows);
}

}  // namespace outpace::run
