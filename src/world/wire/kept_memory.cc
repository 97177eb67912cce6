#include "wire/kept_memory.h"

#include <malloc.h>

namespace outpace::wire {

void keep_freed_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);  // Never.
}

}  // namespace outpace::wire
