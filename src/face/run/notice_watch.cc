#include "run/notice_watch.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "run/shell.h"
#include "wire/environment.h"

namespace outpace::run {
namespace {

constexpr auto kCommandLook = std::chrono::milliseconds(20);  // Whether a command has ended.
constexpr int kCannotBeRun = 126;                             // As a shell says it; 127: not found.
constexpr int kNotFound = 127;

}  // namespace

NoticeWatch::NoticeWatch(Options options,
                         std::function<void()> came,
                         std::function<void(const std::string&)> said)
    : options_(std::move(options)),
      came_(std::move(came)),
      said_(std::move(said)),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void NoticeWatch::watch(const std::stop_token& stop) {
  do {
    const std::optional<int> code = run(stop);
    if (code == 0) {
      came_();
      return;
    }
    if (code == kCannotBeRun || code == kNotFound) {
      say_once(
          fmt::format("--on-notice: sh cannot run '{}' (exit code {}); training goes on, and "
                      "it is tried again every {} s",
                      options_.command,
                      *code,
                      std::chrono::duration<double>(options_.every).count()));
    }
  } while (wait(options_.every, stop));
}

std::optional<int> NoticeWatch::run(const std::stop_token& stop) {
  const pid_t child = start_shell(options_.command, wire::environment_with({}), ShellOutput::kNone);
  if (child < 0) {
    say_once("--on-notice: /bin/sh cannot be started; training goes on");
    return std::nullopt;
  }
  const auto deadline = std::chrono::steady_clock::now() + options_.most;
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      return exit_code_of(status);
    }
    if (ended < 0 && errno != EINTR) {
      return std::nullopt;
    }
    const bool goes_on = wait(kCommandLook, stop);
    if (goes_on && std::chrono::steady_clock::now() < deadline) {
      continue;
    }
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
    if (goes_on) {
      say_once(
          fmt::format("--on-notice: '{}' took longer than {} s, and was killed; training "
                      "goes on, and it is tried again",
                      options_.command,
                      std::chrono::duration<double>(options_.most).count()));
    }
    return std::nullopt;
  }
}

bool NoticeWatch::wait(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

void NoticeWatch::say_once(const std::string& line) {
  if (lines_.insert(line).second) {
    said_(line);
  }
}

}  // namespace outpace::run
