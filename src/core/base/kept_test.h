// For tests of keep().

#pragma once

#include <gtest/gtest.h>

#include "base/memory_archive.h"

namespace outpace {

// `to` becomes as `from` is, by what its keep() keeps.
template <typename T>
void copy_kept(T& from, T& to) {
  MemoryArchive archive;
  from.keep(archive);
  archive.rewind();
  to.keep(archive);
  EXPECT_TRUE(archive.at_end()) << "written, and not read";
}

}  // namespace outpace
