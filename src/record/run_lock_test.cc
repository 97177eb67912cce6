#include "record/run_lock.h"

#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/error.h"
#include "base/temporary_directory_test.h"

namespace outpace::record {
namespace {

TEST(RunLock, IsHeldByOneAtATime) {
  const TemporaryDirectory directory;
  std::optional<RunLock> first(directory / "lock");
  try {
    const RunLock second(directory / "lock");
    FAIL() << "two hold it";
  } catch (const Error& error) {
    const std::string why = error.what();
    EXPECT_NE(why.find("in process " + std::to_string(::getpid())), std::string::npos) << why;
  }
  first.reset();
  const RunLock third(directory / "lock");
}

}  // namespace
}  // namespace outpace::record
