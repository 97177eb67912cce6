#include "cli/comparison_folder.h"

#include <fstream>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/error.h"
#include "record/output_file.h"
#include "record/run_directory.h"

namespace outpace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "compare.toml";

// Closing it, or the end of the process, however it ends, gives the folder free.
int lock(const fs::path& path) {
  const int file = ::open((path / kConfig).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    throw Error(ExitCode::kFailure, "cannot write " + (path / kConfig).string());
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    throw usage_error("--out " + path.string() + ": another comparison is at work there");
  }
  return file;
}

fs::path made(fs::path path) {
  std::error_code unknown;
  if (!fs::exists(path / kConfig, unknown)) {
    (void)record::RunDirectory::create_at(path);
  }
  return path;
}

fs::path with(const fs::path& folder, const compare::Cell& cell, const char* ending) {
  return folder / (cell.place + ending);
}

// A whole file, which may be empty; nothing if there is none.
std::optional<std::string> content_of(const fs::path& path) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) {
    return std::nullopt;
  }
  std::ifstream file(path, std::ios::binary);
  return file ? std::optional(std::string(std::istreambuf_iterator<char>(file), {})) : std::nullopt;
}

}  // namespace

ComparisonFolder::ComparisonFolder(fs::path path, const std::string& config)
    : path_(made(std::move(path))), lock_(lock(path_)) {
  // Not by renaming: the file itself is the lock.
  if (::ftruncate(lock_, 0) != 0 ||
      ::pwrite(lock_, config.data(), config.size(), 0) != static_cast<ssize_t>(config.size())) {
    ::close(lock_);
    throw Error(ExitCode::kFailure, "cannot write " + (path_ / kConfig).string());
  }
}

ComparisonFolder::~ComparisonFolder() {
  ::close(lock_);
}

fs::path ComparisonFolder::record(const compare::Cell& cell) const {
  return with(path_, cell, ".json");
}

fs::path ComparisonFolder::log(const compare::Cell& cell) const {
  return with(path_, cell, ".log");
}

fs::path ComparisonFolder::resolved(const compare::Cell& cell) const {
  return with(path_, cell, ".toml");
}

fs::path ComparisonFolder::run(const compare::Cell& cell) const {
  return with(path_, cell, "");
}

std::uint64_t ComparisonFolder::digest(const std::string& path) {
  const auto [found, is_new] = digests_.try_emplace(path, 0);
  if (is_new) {
    if (const auto content = content_of(path)) {
      Digest sum;
      for (const char letter : *content) {
        sum.add(std::uint64_t{static_cast<unsigned char>(letter)});
      }
      found->second = sum.value();
    }
  }
  return found->second;
}

compare::Identity ComparisonFolder::identity(const compare::Cell& cell) {
  Digest files;
  std::vector<std::string> words = compare::identity_of(cell);
  for (const std::string& word : words) {
    files.add(digest(word.substr(word.find('=') + 1)));
  }
  return {.words = std::move(words), .files = files.value()};
}

std::optional<compare::KeptRun> ComparisonFolder::kept(const compare::Cell& cell) {
  const auto text = content_of(record(cell));
  return text ? compare::read_record(*text, identity(cell)) : std::nullopt;
}

void ComparisonFolder::make_room(const compare::Cell& cell, const std::string& resolved) const {
  std::error_code error;
  fs::remove(record(cell), error);
  fs::remove(log(cell), error);
  fs::remove_all(run(cell), error);
  fs::create_directories(run(cell).parent_path(), error);
  if (error) {
    throw Error(
        ExitCode::kFailure,
        "cannot make the directory " + run(cell).parent_path().string() + ": " + error.message());
  }
  record::write_atomically(this->resolved(cell), resolved);
}

compare::RunResult ComparisonFolder::keep(const compare::Cell& cell, const std::string& commit) {
  const fs::path summary = record::RunDirectory::open(run(cell)).summary();
  try {
    const auto json = nlohmann::ordered_json::parse(content_of(summary).value_or(""));
    compare::RunResult result = compare::result_of(json);
    record::write_atomically(record(cell), compare::record_text(identity(cell), commit, json));
    return result;
  } catch (const nlohmann::json::exception&) {
    throw Error(ExitCode::kFailure, summary.string() + " is not the result of a run");
  }
}

void ComparisonFolder::write(const std::string& name, const std::string& text) const {
  record::write_atomically(path_ / name, text);
}

}  // namespace outpace::cli
