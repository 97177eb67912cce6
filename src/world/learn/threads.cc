#include "learn/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "base/check.h"

namespace outpace::learn {

void use_threads(int threads) {
  CHECK(threads >= 1);
  at::set_num_threads(threads);
  if (at::get_num_interop_threads() != 1) {
    at::set_num_interop_threads(1);
  }
  // OpenBLAS has threads of its own that libtorch does not know about. With one process per worker
  // they would compete for the cores. Other BLAS libraries do not have this function.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(symbol)(threads);
  }
}

}  // namespace outpace::learn
