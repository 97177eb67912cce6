// Memory for one gradient after another.
//
// The C library gives a large block back to the system when it is freed, and the system clears the
// pages of the next one while they are touched: for 100 MB that takes five to fifty times as long
// as a copy. A process that receives gradients or weights keeps what it has freed instead.

#pragma once

namespace outpace::wire {

// From now on freed memory stays with the process, and serves the next blocks of any size. All
// threads share one heap: of several, only the first can hold a large block. Call it before there
// are threads, in a program of ours; a library does not change its user's memory.
void keep_freed_memory();

}  // namespace outpace::wire
