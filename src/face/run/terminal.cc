#include "run/terminal.h"

#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "live/supervisor.h"

namespace outpace::run {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr auto kPlainLine = std::chrono::seconds(10);
constexpr std::size_t kPlainWidth = 160;
constexpr std::string_view kErase = "\r\x1b[K";
constexpr std::size_t kEnoughWaits = std::size_t{1} << 16U;  // Bytes.
constexpr auto kReaderPatience = std::chrono::seconds(2);

std::size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col - 1U : 79U;
}

bool wait_until_taken(SideWriter& out,
                      std::size_t left,
                      std::chrono::milliseconds patience = kReaderPatience) {
  return out.drain(patience, live::supervised_signal_waits, left);
}

}  // namespace

Terminal::Terminal() : is_terminal_(isatty(STDERR_FILENO) == 1), out_(STDERR_FILENO) {}

Terminal::~Terminal() {
  finish(kReaderPatience);
}

void Terminal::finish(std::chrono::milliseconds patience) {
  clear();
  (void)wait_until_taken(out_, 0, patience);
}

void Terminal::show(const record::Status& status) {
  show([&status](std::size_t width) { return record::progress_line(status, width); });
}

void Terminal::show(const std::function<std::string(std::size_t width)>& line_of) {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) {
    return;
  }
  next_ = now +
          (is_terminal_ ? std::chrono::nanoseconds(kRedraw) : std::chrono::nanoseconds(kPlainLine));
  if (is_terminal_ && out_.waiting() > 0) {
    return;  // An old line is of no use to a reader who comes late.
  }
  std::string line = line_of(is_terminal_ ? terminal_width() : kPlainWidth);
  if (!is_terminal_) {
    put(std::move(line));
  } else if (out_.write(std::string(kErase) + line)) {
    line_shown_ = true;
  }
}

void Terminal::say(const std::string& line) {
  const std::lock_guard lock(mutex_);
  put("outpace: " + line);
}

void Terminal::pass_on(const std::string& line) {
  const std::lock_guard lock(mutex_);
  put(line);
}

void Terminal::clear() {
  const std::lock_guard lock(mutex_);
  if (line_shown_) {
    line_shown_ = !out_.write(std::string(kErase));
  }
}

bool Terminal::has_room() const {
  return out_.waiting() < kEnoughWaits;
}

bool Terminal::wait_for_room() {
  return wait_until_taken(out_, kEnoughWaits / 2);
}

void Terminal::put(std::string line) {
  std::string text = line_shown_ ? std::string(kErase) : std::string();
  if (left_out_ > 0) {
    text += "outpace: " + std::to_string(left_out_) + (left_out_ == 1 ? " line is" : " lines are") +
            " missing here, as nobody read them\n";
  }
  text += line + "\n";
  if (out_.write(std::move(text))) {
    line_shown_ = false;
    left_out_ = 0;
  } else {
    ++left_out_;
  }
}

}  // namespace outpace::run
