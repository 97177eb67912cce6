#include "run/open_files.h"

#include <algorithm>

#include <fmt/core.h>
#include <sys/resource.h>

#include "base/error.h"

namespace outpace::run {

OpenFiles open_files_of(std::uint32_t workers) {
  constexpr std::uint64_t kOfAWorker = 2;  // Its socket, and what wakes the thread that serves it.
  constexpr std::uint64_t kOwn = 64;       // The record, checkpoints, the listening socket.
  constexpr std::uint64_t kOthers = 1024;
  constexpr std::uint64_t kOfALongLink =
      18;  // --connections 16: the others, and what wakes for them.
  const std::uint64_t least = kOfAWorker * workers + kOwn;
  return {.least = least, .most = least + kOfALongLink * workers + kOthers};
}

std::optional<std::uint64_t> limit_for(std::uint32_t workers,
                                       std::uint64_t soft,
                                       std::uint64_t hard) {
  const OpenFiles wanted = open_files_of(workers);
  if (hard < wanted.least) {
    throw usage_error(
        fmt::format("--workers {} takes {} open files, and the system allows this process {} "
                    "(ulimit -Hn); raise that limit, or take fewer workers",
                    workers,
                    wanted.least,
                    hard));
  }
  const std::uint64_t limit = std::min(wanted.most, hard);
  return limit > soft ? std::optional(limit) : std::nullopt;
}

void allow_open_files(std::uint32_t workers) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return;  // What cannot be opened later says so.
  }
  if (const auto wanted = limit_for(workers, limit.rlim_cur, limit.rlim_max)) {
    limit.rlim_cur = *wanted;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace outpace::run
