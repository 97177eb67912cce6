#include "run/side_writer.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/check.h"

namespace outpace::run {
namespace {

using std::chrono::milliseconds;

class Pipe {
 public:
  Pipe() {
    CHECK(pipe2(ends_.data(), O_CLOEXEC) == 0);
    size_ = static_cast<std::size_t>(fcntl(ends_[1], F_SETPIPE_SZ, 4096));
  }
  ~Pipe() {
    end_reader();
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int writer() const { return ends_[1]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  std::string read(std::size_t most) {
    std::string text(most, '\0');
    text.resize(static_cast<std::size_t>(::read(ends_[0], text.data(), most)));
    return text;
  }
  void end_reader() {
    if (ends_[0] >= 0) {
      close(std::exchange(ends_[0], -1));
    }
  }

 private:
  std::array<int, 2> ends_{};
  std::size_t size_ = 0;
};

TEST(SideWriter, WritesAllInOrder) {
  Pipe pipe;
  SideWriter writer(pipe.writer());
  EXPECT_TRUE(writer.write("one "));
  EXPECT_TRUE(writer.write("two"));
  EXPECT_TRUE(writer.drain(std::chrono::seconds(60)));
  EXPECT_EQ(pipe.read(100), "one two");
}

TEST(SideWriter, RefusesTextWhileNobodyReadsAndTheReaderGetsTheRest) {
  Pipe pipe;
  SideWriter writer(pipe.writer(), /*most=*/1000);
  EXPECT_TRUE(writer.write(std::string(pipe.size() + 900, 'x')));
  EXPECT_TRUE(writer.drain(std::chrono::seconds(60), nullptr, /*left=*/900));
  EXPECT_EQ(writer.waiting(), 900U);
  EXPECT_FALSE(writer.write(std::string(101, 'y')));
  EXPECT_TRUE(writer.write(std::string(100, 'z')));
  EXPECT_FALSE(writer.drain(milliseconds(0)));
  std::string came;
  while (came.size() < pipe.size() + 1000) {
    came += pipe.read(100'000);
  }
  EXPECT_EQ(came, std::string(pipe.size() + 900, 'x') + std::string(100, 'z'));
  EXPECT_TRUE(writer.drain(std::chrono::seconds(60)));
}

TEST(SideWriter, AReaderThatHasGoneAwayTakesAll) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  pipe.end_reader();
  SideWriter writer(pipe.writer(), /*most=*/10);
  for (int line = 0; line < 100; ++line) {
    EXPECT_TRUE(writer.write("a line\n"));
    EXPECT_TRUE(writer.drain(std::chrono::seconds(60)));
  }
  static_cast<void>(std::signal(SIGPIPE, before));
}

}  // namespace
}  // namespace outpace::run
