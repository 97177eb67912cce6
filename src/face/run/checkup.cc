#include "run/checkup.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number_text.h"
#include "base/text.h"
#include "wire/address.h"

namespace outpace::run {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::uint64_t kMebi = 1U << 20U;

std::string whole_text(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::string error_text(int error) {
  return std::strerror(error);
}

// Bytes of "MemTotal:  24105 kB".
std::uint64_t kibibytes_of(const std::string& meminfo, const std::string& name) {
  std::istringstream lines(meminfo);
  std::string word;
  std::uint64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> word >> number && word == name + ":") {
      return number * 1024;
    }
  }
  return 0;
}

// The nearest folder that is there: others are made in it.
fs::path existing(const fs::path& folder) {
  std::error_code ignored;
  fs::path at = fs::absolute(folder, ignored);
  while (!fs::exists(at, ignored) && at.has_relative_path()) {
    at = at.parent_path();
  }
  return at;
}

// Why a file cannot be written into the folder; 0 if it can.
int write_into(const fs::path& folder) {
  std::string name = (folder / "outpace-doctor-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) {
    return errno;
  }
  const std::array<char, std::size_t{64} << 10U> bytes{};
  int error = 0;
  if (::write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::fsync(file) != 0) {
    error = errno == 0 ? ENOSPC : errno;
  }
  ::close(file);
  ::unlink(name.c_str());
  return error;
}

}  // namespace

std::string to_line(const Finding& finding) {
  const std::map<Grade, const char*> words{
      {Grade::kGood, "ok"}, {Grade::kMind, "mind"}, {Grade::kBad, "BAD"}};
  return fmt::format("{:<5} {:<14} {}", words.at(finding.grade), finding.what, finding.words);
}

Finding look_at_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const int own = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0;
  const unsigned all = std::thread::hardware_concurrency();
  double load = 0.0;
  const bool known = ::getloadavg(&load, 1) == 1;
  std::string words = fmt::format("{} of {} may be used", own, all);
  if (!known || load < own) {
    return {Grade::kGood, "cores", words};
  }
  return {Grade::kMind,
          "cores",
          fmt::format("{}; others keep {:.1f} busy: measure nothing here now", words, load)};
}

Finding look_at_memory(const std::string& meminfo, const std::string& group_limit) {
  constexpr std::uint64_t kLittle = 512 * kMebi;
  const std::uint64_t all = kibibytes_of(meminfo, "MemTotal");
  const std::uint64_t free = kibibytes_of(meminfo, "MemAvailable");
  std::string words = shown::bytes(all) + ", " + shown::bytes(free) + " free";
  const auto limit = parse_count(group_limit.substr(0, group_limit.find('\n')));
  if (limit && *limit < all) {
    words += "; this container may have " + shown::bytes(*limit);
  }
  if (std::min(free, limit.value_or(free)) >= kLittle) {
    return {Grade::kGood, "memory", words};
  }
  return {Grade::kMind, "memory", words + ": a worker with PyTorch takes some 300 MiB"};
}

Finding look_at_open_files() {
  constexpr rlim_t kEnough = 1024;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {Grade::kMind, "open files", "not known: " + error_text(errno)};
  }
  const std::string words = shown::grouped(std::uint64_t{limit.rlim_max}) + " at most";
  return limit.rlim_max >= kEnough
             ? Finding{Grade::kGood, "open files", words}
             : Finding{Grade::kMind,
                       "open files",
                       words + ": enough for some 100 workers; raise it (ulimit -Hn)"};
}

Finding look_at_shared_memory(const fs::path& folder) {
  const int memory = ::memfd_create("outpace", MFD_CLOEXEC);
  const bool shares = memory >= 0 && ::ftruncate(memory, kMebi) == 0;
  const int error = errno;
  if (memory >= 0) {
    ::close(memory);
  }
  if (!shares) {
    return {Grade::kMind,
            "shared memory",
            "none (" + error_text(error) + "): workers of this machine push over their sockets"};
  }
  std::error_code failed;
  const fs::space_info space = fs::space(folder, failed);
  const std::string there = folder.string();
  if (failed || ::access(folder.c_str(), W_OK) != 0) {
    return {Grade::kMind,
            "shared memory",
            "as Outpace needs it; no " + there +
                ", which PyTorch's DataLoader with num_workers needs (docker: --shm-size)"};
  }
  constexpr std::uint64_t kDocker = 64 * kMebi;  // What docker gives.
  if (space.available <= kDocker) {
    return {Grade::kMind,
            "shared memory",
            shown::bytes(space.available) + " free in " + there +
                ": little for PyTorch's DataLoader with num_workers (docker: --shm-size)"};
  }
  return {Grade::kGood, "shared memory", shown::bytes(space.available) + " free in " + there};
}

Finding look_at_disk(const fs::path& folder) {
  const fs::path at = existing(folder);
  if (const int error = write_into(at); error != 0) {
    return {Grade::kBad,
            "disk",
            "no file can be written into " + at.string() + ": " + error_text(error) +
                "; take another folder with --out"};
  }
  std::error_code failed;
  const fs::space_info space = fs::space(at, failed);
  const std::string words = shown::bytes(space.available) + " free for " + folder.string();
  constexpr std::uint64_t kLittle = 256 * kMebi;
  return !failed && space.available < kLittle
             ? Finding{Grade::kMind,
                       "disk",
                       words + ": checkpoints are three times the weights and more"}
             : Finding{Grade::kGood, "disk", words};
}

Finding look_at_loopback() {
  const auto until = steady_clock::now() + std::chrono::seconds(2);
  try {
    const wire::Listener listener = wire::listen_on("127.0.0.1:0");
    for (const wire::Endpoint& endpoint : wire::resolve(listener.address, until)) {
      (void)wire::connect_to(endpoint, until, wire::Descriptor());
    }
  } catch (const Error& error) {
    return {Grade::kBad, "loopback", std::string("127.0.0.1 does not work: ") + error.what()};
  }
  return {Grade::kGood, "loopback", "a port of 127.0.0.1 was opened and reached"};
}

Finding look_at_clock() {
  constexpr std::time_t kWritten = 1'780'000'000;  // This program is of 2026.
  const std::time_t now = std::time(nullptr);
  const std::string words = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(now));
  return now > kWritten
             ? Finding{Grade::kGood, "clock", words}
             : Finding{Grade::kBad, "clock", words + " is before this program was made: set it"};
}

std::vector<Finding> look_at_machine(const fs::path& runs) {
  return {look_at_cores(),
          look_at_memory(whole_text("/proc/meminfo"), whole_text("/sys/fs/cgroup/memory.max")),
          look_at_open_files(),
          look_at_shared_memory("/dev/shm"),
          look_at_disk(runs),
          look_at_loopback(),
          look_at_clock()};
}

}  // namespace outpace::run
