// The number of threads that libtorch uses.

#pragma once

namespace outpace::learn {

// Sets it for the whole process, from the next tensor on. REQUIRES: threads >= 1.
void use_threads(int threads);

}  // namespace outpace::learn
