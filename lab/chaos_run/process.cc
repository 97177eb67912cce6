// Tested by test/program/chaos_test.py (class Smoke).

#include "chaos_run/process.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "wire/environment.h"

namespace outpace::chaos_run {
namespace {

std::vector<std::string> environment_with(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> more;
  more.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    more.push_back(fmt::format("{}={}", name, value));
  }
  // Those of ours are options, and not of this run.
  return wire::environment_with(
      more, [](std::string_view name) { return !name.starts_with("OUTPACE_"); });
}

// In the child, between fork and exec: only what POSIX allows there.
[[noreturn]] void become(pid_t parent, int log, char* const* words, char* const* variables) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execve(words[0], words, variables);
  _exit(127);
}

std::string whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Process::Process(const Command& command) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> variables = environment_with(command.variables);
  const std::vector<char*> word_pointers = wire::pointers_to(words);
  const std::vector<char*> variable_pointers = wire::pointers_to(variables);
  const int log = open(
      command.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ == 0) {
    become(parent, log, word_pointers.data(), variable_pointers.data());
  }
  const int error = errno;
  if (log >= 0) {
    close(log);
  }
  if (id_ < 0) {
    throw Error(ExitCode::kFailure,
                words.front() + " cannot be started: " +
                    std::error_code(error, std::generic_category()).message());
  }
}

Process::~Process() {
  if (running()) {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
}

bool Process::send(int signal) {
  collect();
  return running() && kill(id_, signal) == 0;
}

std::optional<int> Process::collect() {
  int status = 0;
  if (!running() || waitpid(id_, &status, WNOHANG) != id_) {
    return std::nullopt;
  }
  code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return code_;
}

bool Process::limit_files(std::optional<std::uint64_t> bytes) {
  if (!running()) {
    return false;
  }
  rlimit limit{};
  if (prlimit(id_, RLIMIT_FSIZE, nullptr, &limit) != 0) {
    return false;
  }
  limit.rlim_cur = bytes ? static_cast<rlim_t>(*bytes) : limit.rlim_max;
  return prlimit(id_, RLIMIT_FSIZE, &limit, nullptr) == 0;
}

std::uint64_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<pid_t> processes_with(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const auto id = parse_count(folder.path().filename().string());
    // A zombie has no environment any more.
    if (id && whole_file(folder.path() / "environ").find(mark) != std::string::npos) {
      found.push_back(static_cast<pid_t>(*id));
    }
  }
  return found;
}

std::string last_line(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    last = line.empty() ? last : line;
  }
  return last;
}

}  // namespace outpace::chaos_run
