#include "run/side_writer.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "live/supervisor.h"

namespace outpace::run {
namespace {

using std::chrono::steady_clock;

// What a pipe takes at once; small, so that it shows that a slow reader reads.
constexpr std::size_t kPiece = 4096;
constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kPatienceOfWords = std::chrono::seconds(2);
constexpr auto kPatienceOfResult = std::chrono::seconds(5);

// False: nobody will ever read.
bool write_all(int file, const std::string& text, const std::function<void(std::size_t)>& took) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(file, text.data() + at, std::min(kPiece, text.size() - at));
    if (written < 0 && errno == EAGAIN) {  // Another process has made the terminal so.
      pollfd ready{.fd = file, .events = POLLOUT, .revents = 0};
      (void)::poll(&ready, 1, -1);
    } else if (written < 0 && errno != EINTR) {
      return false;
    } else if (written > 0) {
      at += static_cast<std::size_t>(written);
      took(static_cast<std::size_t>(written));
    }
  }
  return true;
}

}  // namespace

struct SideWriter::State {
  State(int descriptor, std::size_t bytes) : file(descriptor), most(bytes) {}

  const int file;
  const std::size_t most;
  // The rest is guarded by this.
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> texts;
  std::size_t waiting = 0;  // Bytes, with those of the text that is being written.
  std::size_t taken = 0;    // Bytes, ever.
  bool over = false;
  bool gone = false;  // The reader.

  void took(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    waiting -= bytes;
    taken += bytes;
    changed.notify_all();
  }
  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return over || !texts.empty(); });
      if (texts.empty()) {
        return;
      }
      const std::string text = std::move(texts.front());
      texts.pop_front();
      lock.unlock();
      const bool taken_all = write_all(file, text, [this](std::size_t bytes) { took(bytes); });
      lock.lock();
      if (!taken_all) {
        gone = true;
        texts.clear();
        waiting = 0;
        changed.notify_all();
      }
    }
  }
};

SideWriter::SideWriter(int file, std::size_t most) : state_(std::make_shared<State>(file, most)) {
  std::thread([state = state_] { state->run(); }).detach();
}

SideWriter::~SideWriter() {
  const std::lock_guard lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
}

bool SideWriter::write(std::string text) {
  const std::lock_guard lock(state_->mutex);
  if (state_->gone || text.empty()) {
    return true;
  }
  if (state_->waiting > 0 && state_->waiting + text.size() > state_->most) {
    return false;
  }
  state_->waiting += text.size();
  state_->texts.push_back(std::move(text));
  state_->changed.notify_all();
  return true;
}

std::size_t SideWriter::waiting() const {
  const std::lock_guard lock(state_->mutex);
  return state_->waiting;
}

bool SideWriter::drain(std::chrono::milliseconds patience,
                       const std::function<bool()>& given_up,
                       std::size_t left) {
  std::unique_lock lock(state_->mutex);
  std::size_t taken = state_->taken;
  auto since = steady_clock::now();
  while (state_->waiting > left) {
    state_->changed.wait_for(lock, kLook);
    if (std::exchange(taken, state_->taken) != state_->taken) {
      since = steady_clock::now();
    } else if (steady_clock::now() - since >= patience || (given_up && given_up())) {
      return state_->waiting <= left;
    }
  }
  return true;
}

bool print(int file, std::string text) {
  SideWriter writer(file);
  return writer.write(std::move(text)) &&
         writer.drain(file == STDOUT_FILENO ? kPatienceOfResult : kPatienceOfWords,
                      live::supervised_signal_waits);
}

}  // namespace outpace::run
