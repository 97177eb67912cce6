#include "run/terminal.h"

#include <array>
#include <cstdio>
#include <functional>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include "base/check.h"
#include "base/temporary_directory_test.h"

namespace outpace::run {
namespace {

constexpr unsigned short kTerminalWidth = 41;  // Columns of the tests' terminal.

// Calls with standard error at `end`, which is closed before it returns.
void with_standard_error(int end, const std::function<void()>& call) {
  std::fflush(stderr);
  const int kept = dup(STDERR_FILENO);
  CHECK(kept >= 0 && dup2(end, STDERR_FILENO) >= 0);
  close(end);
  call();
  std::fflush(stderr);
  CHECK(dup2(kept, STDERR_FILENO) >= 0);
  close(kept);
}

std::string shown_in_a_file(const std::function<void()>& call) {
  const TemporaryDirectory folder;
  with_standard_error(open((folder / "err").c_str(), O_WRONLY | O_CREAT, S_IRUSR | S_IWUSR), call);
  return contents(folder / "err");
}

std::string shown_on_a_terminal(const std::function<void()>& call) {
  termios as_written{};
  cfmakeraw(&as_written);
  const winsize size{.ws_row = 24, .ws_col = kTerminalWidth, .ws_xpixel = 0, .ws_ypixel = 0};
  int ours = -1;
  int its = -1;
  CHECK(openpty(&ours, &its, nullptr, &as_written, &size) == 0);
  with_standard_error(its, call);
  std::string shown;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = read(ours, part.data(), part.size())) > 0;) {
    shown.append(part.data(), static_cast<std::size_t>(got));
  }
  close(ours);
  return shown;
}

record::Status some_status() {
  return {.seconds = 12.3,
          .updates = 1234,
          .examples = 126'000,
          .epochs = 2.1,
          .training_loss = 0.412,
          .accuracy = 0.841,
          .examples_per_second = 7220.2,
          .live = 8,
          .workers = 8,
          .staleness_mean = 6.9};
}

TEST(Terminal, RedrawsOneLineThatFitsAndThatAMessageDoesNotTear) {
  const std::string line = record::progress_line(some_status(), kTerminalWidth - 1);
  ASSERT_NE(line, record::progress_line(some_status(), 160));
  EXPECT_EQ(shown_on_a_terminal([] {
              Terminal terminal;
              terminal.show(some_status());
              terminal.say("worker 3 is gone");
            }),
            "\r\x1b[K" + line + "\r\x1b[Koutpace: worker 3 is gone\n");
}

TEST(Terminal, RemovesItsLineAtTheEnd) {
  const std::string line = record::progress_line(some_status(), kTerminalWidth - 1);
  EXPECT_EQ(shown_on_a_terminal([] {
              Terminal terminal;
              terminal.show(some_status());
            }),
            "\r\x1b[K" + line + "\r\x1b[K");
}

TEST(Terminal, WritesPlainLinesElsewhereAndFew) {
  EXPECT_EQ(shown_in_a_file([] {
              Terminal terminal;
              terminal.show(some_status());
              terminal.show(some_status());  // Sooner than the next line is due.
              terminal.say("worker 3 is gone");
            }),
            record::progress_line(some_status(), 160) + "\noutpace: worker 3 is gone\n");
}

}  // namespace
}  // namespace outpace::run
