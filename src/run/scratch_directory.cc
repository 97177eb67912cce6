#include "run/scratch_directory.h"

#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

namespace outpace::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "outpace-run-";
constexpr std::string_view kRandom = "XXXXXX";

wire::Descriptor open_directory(const fs::path& path) {
  return wire::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_ours(int directory) {
  struct stat status {};
  return fstat(directory, &status) == 0 && status.st_uid == geteuid();
}

void remove_those_of_dead_runs(const fs::path& parent) {
  std::error_code ignored;
  for (fs::directory_iterator entry(parent, ignored), end; entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kRandom.size()) {
      continue;
    }
    const wire::Descriptor directory = open_directory(entry->path());
    if (directory.number() >= 0 && is_ours(directory.number()) &&
        flock(directory.number(), LOCK_EX | LOCK_NB) == 0) {
      fs::remove_all(entry->path(), ignored);
    }
  }
}

}  // namespace

ScratchDirectory::ScratchDirectory(const fs::path& parent) {
  remove_those_of_dead_runs(parent);
  // Another run may take a directory that is not locked yet for a dead run's, and remove it: then
  // the next one is tried.
  do {
    std::string pattern = (parent / kPrefix).string().append(kRandom);
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error(ExitCode::kFailure, pattern + ": cannot make a temporary directory");
    }
    path_ = pattern;
    lock_ = open_directory(path_);
  } while (lock_.number() < 0 || flock(lock_.number(), LOCK_EX) != 0 || !fs::exists(path_));
}

ScratchDirectory::~ScratchDirectory() {
  remove();
}

void ScratchDirectory::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace outpace::run
