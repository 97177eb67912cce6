#include "wire/kept_memory.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace outpace::wire {

void keep_large_blocks() {
  mallopt(M_MMAP_THRESHOLD, 1 << 28);
  mallopt(M_TRIM_THRESHOLD, 1 << 29);
}

void keep_freed_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // Never.
}

void ask_for_large_pages() {
  constexpr int kReserve = 1 << 30;  // Addresses; memory is given where it is touched.
  constexpr std::size_t kPage = 2U << 20U;
  mallopt(M_MMAP_THRESHOLD, kReserve);
  mallopt(M_TOP_PAD, kReserve);
  auto* const before = static_cast<char*>(sbrk(0));
  void* const grows = std::malloc(kPage);  // And the heap with it, by the reserve.
  auto* const after = static_cast<char*>(sbrk(0));
  char* const begin = before + (kPage - reinterpret_cast<std::uintptr_t>(before) % kPage) % kPage;
  if (grows != nullptr && after > begin) {
    // An advice: what it returns is of no interest.
    static_cast<void>(madvise(begin, static_cast<std::size_t>(after - begin), MADV_HUGEPAGE));
  }
  std::free(grows);
}

}  // namespace outpace::wire
