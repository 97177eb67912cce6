// The three ways in which our programs have the C library's allocator treat memory. A library does
// not change its user's memory: only main() and what it runs call these.
//
//   a command             keep_large_blocks()
//   server and workers    keep_freed_memory()
//   simulate              ask_for_large_pages()
//
// The C library gives a large block back to the system when it is freed, and the system clears the
// pages of the next one while they are touched: for 100 MB that takes five to fifty times as long
// as a copy. A process that receives gradients or weights keeps what it has freed instead.

#pragma once

namespace outpace::wire {

// Blocks of up to 256 MiB come from the heap, which keeps up to 512 MiB that are free.
void keep_large_blocks();

// From now on freed memory stays with the process, and serves the next blocks of any size. All
// threads share one heap: of several, only the first can hold a large block. Call it before there
// are threads.
void keep_freed_memory();

// Asks the system for pages of 2 MiB under the next gigabyte of the heap, and keeps what is
// allocated there: a program that reads hundreds of megabytes at random waits as long for the
// processor to find small pages as for the memory itself. Changes no result; where the system gives
// no such pages, nothing. Call it before much is allocated, with one thread.
void ask_for_large_pages();

}  // namespace outpace::wire
