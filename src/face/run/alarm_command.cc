// Tested by test/program/dashboard_test.py (class Alarm).

#include "run/alarm_command.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/wait.h>

#include "run/shell.h"
#include "wire/environment.h"

namespace outpace::run {
namespace {

constexpr auto kAlarmCommandMost = std::chrono::seconds(30);
constexpr auto kAtEndMost = std::chrono::seconds(2);
constexpr std::size_t kAlarmsWaiting = 64;

}  // namespace

AlarmCommand::AlarmCommand(std::string command,
                           std::string run,
                           std::function<void(const std::string&)> said)
    : command_(std::move(command)),
      run_(std::move(run)),
      said_(std::move(said)),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

AlarmCommand::~AlarmCommand() = default;

void AlarmCommand::tell(const watch::Alarm& alarm) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() < kAlarmsWaiting) {
    waiting_.push_back(alarm);
  }
  changed_.notify_one();
}

void AlarmCommand::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    if (is_late(std::chrono::steady_clock::now(), stop)) {
      const std::size_t left = waiting_.size();
      lock.unlock();
      said_(fmt::format("--on-alarm: the run is over; alarms not told: {}", left));
      return;
    }
    const watch::Alarm alarm = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    run_for(alarm, stop);
  }
}

bool AlarmCommand::is_late(std::chrono::steady_clock::time_point begun,
                           const std::stop_token& stop) {
  const auto now = std::chrono::steady_clock::now();
  if (stop.stop_requested() && !last_) {
    last_ = now + kAtEndMost;
  }
  return now >= begun + kAlarmCommandMost || (last_ && now >= *last_);
}

void AlarmCommand::run_for(const watch::Alarm& alarm, const std::stop_token& stop) {
  const pid_t child = start_shell(
      command_,
      wire::environment_with(
          {"OUTPACE_ALARM=" + alarm.words,
           std::string("OUTPACE_ALARM_KIND=") + to_text(alarm.kind),
           "OUTPACE_ALARM_WORKER=" + (alarm.worker ? std::to_string(index(*alarm.worker)) : ""),
           std::string("OUTPACE_ALARM_OVER=") + (alarm.over ? "1" : "0"),
           "OUTPACE_RUN=" + run_},
          [](std::string_view name) { return !name.starts_with("OUTPACE_ALARM"); }),
      ShellOutput::kAsErrors);
  if (child < 0) {
    said_("--on-alarm: /bin/sh cannot be started");
    return;
  }
  const auto begun = std::chrono::steady_clock::now();
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (status != 0) {
        said_(fmt::format("--on-alarm: the command failed ({})", exit_code_of(status)));
      }
      return;
    }
    if (ended < 0 && errno != EINTR) {
      return;
    }
    if (is_late(begun, stop)) {
      kill(-child, SIGKILL);
      waitpid(child, &status, 0);
      said_("--on-alarm: the command took too long, and was killed");
      return;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(20), [] { return false; });
  }
}

}  // namespace outpace::run
