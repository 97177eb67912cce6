// How many threads libtorch computes with.

#pragma once

namespace outpace::learn {

// For the whole process, from the next tensor on. REQUIRES: threads >= 1.
void use_threads(int threads);

}  // namespace outpace::learn
