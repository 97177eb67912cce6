// Tested by test/program/signals_test.py (class Train).

#include "live/supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "live/capped_log.h"
#include "wire/environment.h"

namespace outpace::live {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook = milliseconds(100);
constexpr milliseconds kLogsLook = milliseconds(1000);   // At how large logs are.
constexpr milliseconds kLongRun = milliseconds(60'000);  // A child that ran for this time did well.
constexpr milliseconds kGraceOfInterrupted = milliseconds(3000);
// Launchers repeat a signal that the terminal has sent too: those of one moment count as one.
constexpr milliseconds kMoment = milliseconds(1000);

// As waitpid() gives the exit code 1: restarts and reports are the same as for a child that failed.
constexpr int kFailed = 1 << 8;

constexpr std::size_t kLastLines = 30;

constexpr const char* kSelf = "/proc/self/exe";

constexpr std::array kEnds{SIGINT, SIGTERM, SIGHUP};

sigset_t signals_that_end() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kEnds) {
    sigaddset(&signals, signal);
  }
  return signals;
}

sigset_t child_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

// The signal, or 0 or less after a moment without one.
int wait_for(const sigset_t& signals) {
  const timespec look{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kLook).count()};
  return sigtimedwait(&signals, nullptr, &look);
}

// A library may have started threads before main(), which block nothing (OpenBLAS does): such a one
// blocks the signal from now on and leaves it to the thread that waits for it.
void pass_on(int signal, siginfo_t* /*info*/, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
}

std::uintmax_t size_of(const std::string& path) {
  std::error_code ignored;
  const std::uintmax_t size = std::filesystem::file_size(path, ignored);
  return ignored ? 0 : size;
}

// From this byte on, or of all of a file that was emptied since; at most `most`. Empty lines at the
// end do not count.
std::vector<std::string> last_lines(const std::string& path,
                                    std::uintmax_t from,
                                    std::size_t most) {
  constexpr std::uintmax_t kReadMost = 1U << 18U;
  const std::uintmax_t size = size_of(path);
  from = size < from ? 0 : from;
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(std::max(from, size - std::min(size, kReadMost))));
  std::deque<std::string> lines;
  std::size_t empty = 0;  // At the end.
  for (std::string line; std::getline(file, line);) {
    empty = line.empty() ? empty + 1 : 0;
    lines.push_back(std::move(line));
    if (lines.size() - empty > most) {
      lines.pop_front();
    }
  }
  lines.resize(lines.size() - std::min(empty, lines.size()));
  return {lines.begin(), lines.end()};
}

int open_log(const std::string& path) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

// What exec is told.
struct Command {
  const char* program;
  char* const* arguments;
  char* const* variables;
  int output;
  int log;
  bool outlasts_signals;
};

// In the child, between fork and exec: only what POSIX allows there.
[[noreturn]] void become(pid_t parent, const Command& command) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // The parent died before the line above.
  }
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) {
    signal(ignored, SIG_DFL);  // What main() ignores for this process alone.
  }
  for (const int end : kEnds) {
    if (command.outlasts_signals) {
      signal(end, SIG_IGN);  // A handler would not stay after exec.
    }
  }
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(command.output, STDOUT_FILENO);
  dup2(command.log, STDERR_FILENO);
  execvpe(command.program, command.arguments, command.variables);  // glibc's allocates nothing.
  constexpr std::string_view kWhy = "outpace: this program cannot be run: ";
  constexpr int kNotFound = 127;  // As a shell says it.
  for (const std::string_view part :
       {kWhy, std::string_view(command.program), std::string_view("\n")}) {
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) {
      break;
    }
  }
  _exit(kNotFound);
}

}  // namespace

void block_supervised_signals() {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : kEnds) {
    sigaction(signal, &action, nullptr);
  }
  sigset_t signals = signals_that_end();
  sigaddset(&signals, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool supervised_signal_waits() {
  sigset_t pending;
  return sigpending(&pending) == 0 &&
         std::ranges::any_of(kEnds, [&](int signal) { return sigismember(&pending, signal) == 1; });
}

Supervisor::Supervisor(std::vector<ChildSpec> children, SupervisorEvents events)
    : events_(std::move(events)) {
  children_.reserve(children.size());
  for (ChildSpec& spec : children) {
    Restarts restarts(spec.restarts_max);
    const bool waits = spec.waits_for_start;
    children_.push_back(
        {.spec = std::move(spec), .waits = waits, .restarts = restarts, .start_again = {}});
  }
  signals_ = std::jthread([this] { hear_signals(); });
  thread_ = std::jthread([this] { run(); });
}

Supervisor::~Supervisor() {
  reap(milliseconds(0));
  over_ = true;
}

void Supervisor::reap(milliseconds grace, milliseconds patience) {
  if (reap_grace_ms_ < 0) {
    reap_patience_ms_ = patience.count();
    reap_grace_ms_ = grace.count();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Supervisor::run() {
  for (Child& child : children_) {
    if (!child.waits) {
      start(child);
    }
  }
  while (reap_grace_ms_ < 0) {
    wait_for_child();
    collect();
    start_due();
  }
  end_all(milliseconds(reap_grace_ms_), milliseconds(reap_patience_ms_));
  next_look_at_logs_ = {};
  cap_logs();
}

void Supervisor::wait_for_child() {
  (void)wait_for(child_signal());
  if (events_.looked) {
    events_.looked();
  }
  cap_logs();
}

void Supervisor::cap_logs() {
  const auto now = steady_clock::now();
  if (now < next_look_at_logs_) {
    return;
  }
  next_look_at_logs_ = now + kLogsLook;
  for (const Child& child : children_) {
    for (const std::string& path : {child.spec.log, child.spec.output}) {
      if (!path.empty()) {
        cap_log(path);
      }
    }
  }
}

void Supervisor::hear_signals() {
  std::optional<steady_clock::time_point> first;
  while (!over_) {
    const int signal = wait_for(signals_that_end());
    if (signal <= 0) {
      continue;
    }
    const auto now = steady_clock::now();
    if (!first) {
      first = now;
      interrupted_ = true;
      if (events_.interrupted) {
        events_.interrupted(signal);
      }
    } else if (now - *first >= kMoment) {
      end_at_once(signal);
    }
  }
}

void Supervisor::end_at_once(int signal) {
  const auto begun = steady_clock::now();
  {
    const std::lock_guard lock(running_mutex_);
    for (const Running& child : running_) {
      child.send(SIGKILL);
    }
    // One that hangs in the kernel is left to it: it has been killed.
    for (const Running& child : running_) {
      while (waitpid(child.id, nullptr, WNOHANG) == 0 && steady_clock::now() - begun < kMoment) {
        std::this_thread::yield();
      }
    }
  }
  if (events_.ends_at_once) {
    events_.ends_at_once();
  }
  _exit(128 + signal);
}

std::vector<std::string> Supervisor::words_of(const Child& child) {
  std::vector<std::string> own = child.spec.command(child.starts);
  std::vector<std::string> words = child.spec.prefix;
  if (child.spec.is_users) {
    words.insert(words.end(), own.begin(), own.end());
    return words;
  }
  if (words.empty()) {
    return own;
  }
  words.push_back(std::filesystem::read_symlink(kSelf));
  words.insert(words.end(), own.begin() + 1, own.end());
  return words;
}

void Supervisor::start(Child& child) {
  child.start_again.reset();
  child.started = steady_clock::now();
  std::vector<std::string> words;
  try {
    words = words_of(child);
  } catch (const std::exception& error) {
    ended(child, kFailed, std::string("it could not be started: ") + error.what());
    return;
  }
  const bool is_self = child.spec.prefix.empty() && !child.spec.is_users;
  const std::string program = is_self ? kSelf : words.front();
  std::vector<std::string> variables = wire::environment_with(child.spec.variables);
  const std::vector<char*> arguments = wire::pointers_to(words);
  const std::vector<char*> environment = wire::pointers_to(variables);
  child.log_size = size_of(child.spec.log);
  const int log = open_log(child.spec.log);
  const int output = child.spec.output.empty() ? log : open_log(child.spec.output);
  const pid_t parent = getpid();
  std::unique_lock lock(running_mutex_);  // Nobody kills all children between these lines.
  const pid_t id = fork();
  if (id == 0) {
    become(parent,
           {.program = program.c_str(),
            .arguments = arguments.data(),
            .variables = environment.data(),
            .output = output,
            .log = log,
            .outlasts_signals = child.spec.outlasts_signals});
  }
  const int error = errno;
  for (const int file : {log, output == log ? -1 : output}) {
    if (file >= 0) {
      close(file);
    }
  }
  ++child.starts;
  child.id = std::max(id, 0);
  if (id > 0) {
    setpgid(id, id);  // As the child does, which may come later.
    running_.push_back({.id = id, .is_group = child.spec.is_users});
  }
  lock.unlock();
  if (id < 0) {
    ended(child,
          kFailed,
          "it could not be started: " + std::error_code(error, std::generic_category()).message());
  }
}

void Supervisor::collect() {
  for (Child& child : children_) {
    int status = 0;
    if (child.id != 0 && reaped(child, status)) {
      child.id = 0;
      ended(child, status);
    }
  }
  const bool workers_left = std::any_of(children_.begin(), children_.end(), [](const Child& c) {
    return c.spec.is_worker && (c.id != 0 || c.start_again);
  });
  if (!workers_left && !std::exchange(told_all_ended_, true) && events_.workers_all_ended) {
    events_.workers_all_ended();
  }
}

bool Supervisor::reaped(const Child& child, int& status) {
  const std::lock_guard lock(running_mutex_);  // Nobody kills a process that has taken its number.
  if (child.spec.is_users) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(child.id), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid == 0) {
      return false;
    }
    kill(-child.id, SIGKILL);  // Before its number can be another's.
  }
  if (waitpid(child.id, &status, WNOHANG) != child.id) {
    return false;
  }
  std::erase_if(running_, [&](const Running& one) { return one.id == child.id; });
  return true;
}

void Supervisor::Running::send(int signal) const {
  kill(is_group ? -id : id, signal);
}

void Supervisor::send_all(int signal) {
  const std::lock_guard lock(running_mutex_);
  for (const Running& child : running_) {
    child.send(signal);
  }
}

void Supervisor::ended(Child& child, int status, const std::string& why) {
  const bool run_is_over = reap_grace_ms_ >= 0;
  if (run_is_over && (!child.spec.is_users || told_to_end_)) {
    return;
  }
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const auto now = steady_clock::now();
  const bool did_well =
      child.spec.did_well ? child.spec.did_well() : now - child.started >= kLongRun;
  auto delay = child.restarts.ended(code, did_well);
  if (run_is_over) {
    delay.reset();  // It still counts as a crash: those that hear of it may count them.
  }
  if (delay) {
    child.start_again = now + *delay;
  }
  if (events_.ended) {
    std::vector<std::string> said = last_lines(child.spec.log, child.log_size, /*most=*/kLastLines);
    std::string last = !why.empty() ? why : said.empty() ? "" : said.back();
    events_.ended({.name = child.spec.name,
                   .is_worker = child.spec.is_worker,
                   .code = code,
                   .restarted = delay.has_value(),
                   .last_line = std::move(last),
                   .last_lines = std::move(said),
                   .crashes = child.restarts.crashes(),
                   .restart_in = delay.value_or(milliseconds(0))});
  }
}

void Supervisor::start_due() {
  for (Child& child : children_) {
    if (child.waits && start_waiting_) {
      child.waits = false;
      start(child);
    }
    if (child.start_again && steady_clock::now() >= *child.start_again) {
      start(child);
    }
  }
}

bool Supervisor::any_running() const {
  return std::any_of(
      children_.begin(), children_.end(), [](const Child& child) { return child.id != 0; });
}

void Supervisor::end_all(milliseconds grace, milliseconds patience) {
  auto begun = steady_clock::now();
  const bool was_interrupted = interrupted_;
  if (was_interrupted) {  // While the server waited for the last evaluation, if the grace is long.
    grace = std::min(grace, kGraceOfInterrupted);
  }
  while (true) {
    collect();
    if (!any_running()) {
      return;
    }
    if (interrupted_ && !was_interrupted && grace > milliseconds(0)) {
      begun = steady_clock::now();
      grace = milliseconds(0);
    }
    const auto waited = steady_clock::now() - begun;
    const bool kill_now = waited >= grace + patience;
    if (kill_now || (waited >= grace && !told_to_end_)) {
      send_all(kill_now ? SIGKILL : SIGTERM);
      told_to_end_ = true;
    }
    wait_for_child();
  }
}

}  // namespace outpace::live
