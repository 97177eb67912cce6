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
constexpr const char* kMark = ".outpace-scratch";

wire::Descriptor open_directory(const fs::path& path) {
  return wire::Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// This program made it, for this user: a folder of somebody else may have such a name.
bool is_ours(int directory) {
  struct stat status {};
  struct stat mark {};
  return fstat(directory, &status) == 0 && status.st_uid == geteuid() &&
         fstatat(directory, kMark, &mark, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(mark.st_mode);
}

// In a directory that this process has just made.
void mark(int directory) {
  const wire::Descriptor file(
      ::openat(directory, kMark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file.number() < 0) {
    return;  // A disk that takes nothing: nobody will remove the directory for a dead run.
  }
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
  mark(lock_.number());
}

ScratchDirectory::~ScratchDirectory() {
  remove();
}

void ScratchDirectory::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace outpace::run
