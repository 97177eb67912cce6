// Tested by test/program/chaos_test.py (class Smoke).

#include "chaos_run/journal.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace outpace::chaos_run {
namespace {

namespace fs = std::filesystem;

std::string from(const fs::path& path, std::uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::int64_t now_of_records() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Journal::Journal(const fs::path& folder) : folder_(folder) {
  fs::create_directories(folder / "history");
  file_ = open((folder / "history" / "chaos.jsonl").c_str(),
               O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
               S_IRUSR | S_IWUSR);
  if (file_ < 0) {
    throw usage_error((folder / "history").string() + ": cannot be written");
  }
}

Journal::~Journal() {
  close(file_);
}

void Journal::write(const std::string& who,
                    std::int64_t process,
                    const std::string& what,
                    nlohmann::json more) {
  const std::string line = chaos::to_line({.at = now_of_records(),
                                           .who = who,
                                           .process = process,
                                           .what = what,
                                           .more = std::move(more)}) +
                           "\n";
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    throw Error(ExitCode::kFailure, folder_.string() + ": the history cannot be written");
  }
}

std::string Journal::file_for(const std::string& who, std::uint32_t start) {
  std::string name = fmt::format("{}-{}.jsonl", who, start);
  std::ranges::replace(name, ' ', '-');
  sources_.push_back({.path = folder_ / "history" / name});
  return sources_.back().path.string();
}

void Journal::read() {
  for (Source& source : sources_) {
    const std::string more = from(source.path, source.read);
    const std::size_t whole = more.rfind('\n') + 1;  // Lines; 0 if there is none.
    for (const std::string_view line : split(std::string_view(more).substr(0, whole), '\n')) {
      if (const auto record = chaos::parse_record(line)) {
        take(*record);
      }
    }
    source.read += whole;
  }
}

void Journal::take(const chaos::Record& record) {
  if (record.what == "judged" && record.get<std::string>("outcome") == "accepted") {
    ++accepted_[record.who];
  } else if (record.what == "evaluated") {
    ++evaluations_;
  } else if (record.what == "released") {
    const auto generation = record.get<std::uint64_t>("generation");
    const auto version = record.get<std::uint64_t>("version");
    version_ = generation > generation_ ? version : std::max(version_, version);
    generation_ = std::max(generation_, generation);
    for (const auto& range : record.get<std::vector<std::vector<std::uint64_t>>>("ranges")) {
      epochs_ = std::max(epochs_, range.empty() ? 0 : range.front() + 1);
    }
  }
}

std::uint64_t Journal::accepted(const std::string& who) const {
  const auto found = accepted_.find(who);
  return found == accepted_.end() ? 0 : found->second;
}

std::uint64_t Journal::accepted() const {
  std::uint64_t all = 0;
  for (const auto& [who, accepted] : accepted_) {
    all += accepted;
  }
  return all;
}

void Journal::merge_all() const {
  std::vector<std::string> texts{from(folder_ / "history" / "chaos.jsonl", 0)};
  for (const Source& source : sources_) {
    texts.push_back(from(source.path, 0));
  }
  const std::vector<chaos::Record> records = chaos::merge(texts);
  std::ofstream file(folder_ / "history.jsonl", std::ios::binary);
  for (const chaos::Record& record : records) {
    file << chaos::to_line(record) << '\n';
  }
  file.close();
  if (!file) {
    throw Error(ExitCode::kFailure, (folder_ / "history.jsonl").string() + ": cannot be written");
  }
}

std::vector<chaos::Record> read_history(const fs::path& path) {
  if (!fs::is_regular_file(path)) {
    throw usage_error(path.string() + ": is no history; give the folder of a chaos run");
  }
  return chaos::merge({from(path, 0)});
}

}  // namespace outpace::chaos_run
