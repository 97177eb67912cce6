#include "run/terminal.h"

#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

namespace outpace::run {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);
constexpr std::size_t kPlainWidth = 160;

std::size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1U : 79U;
}

}  // namespace

Terminal::Terminal() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

Terminal::~Terminal() {
  clear();
}

void Terminal::show(const record::Status& status) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) {
    return;
  }
  next_ = now +
          (is_terminal_ ? std::chrono::nanoseconds(kRedraw) : std::chrono::nanoseconds(kPlainLine));
  const std::string line =
      record::progress_line(status, is_terminal_ ? terminal_width() : kPlainWidth);
  if (is_terminal_) {
    std::fprintf(stderr, "\r\x1b[K%s", line.c_str());
    line_shown_ = true;
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stderr);
}

void Terminal::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  erase();
  std::fprintf(stderr, "outpace: %s\n", line.c_str());
}

void Terminal::pass_on(const std::string& line) {
  const std::lock_guard lock(mutex_);
  erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Terminal::clear() {
  const std::lock_guard lock(mutex_);
  erase();
}

void Terminal::erase() {
  if (line_shown_) {
    std::fputs("\r\x1b[K", stderr);
    line_shown_ = false;
  }
}

}  // namespace outpace::run
