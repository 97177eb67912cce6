#include "checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "record/output_file.h"

namespace outpace::checkpoint {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kFormat = 6;
constexpr const char* kHeadFile = "checkpoint.json";
constexpr const char* kStateFile = "state.json";
constexpr const char* kTensorsFile = "tensors.safetensors";
constexpr const char* kChecksum = "crc32c";
constexpr std::size_t kAtOnce = std::size_t{1} << 20U;
constexpr const char* kUnfinished = ".unfinished";

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::kUnreadable, "checkpoint " + path.string() + ": " + why);
}

// A state may be many times as large as the memory that there is to spare.
void read_in_parts(const fs::path& path, const std::function<void(std::string_view)>& take) {
  std::error_code unknown;
  const fs::file_status status = fs::status(path, unknown);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    refuse(path, "is no regular file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse(path, std::error_code(errno, std::generic_category()).message());
  }
  std::vector<char> part(kAtOnce);
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    take({part.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) {
    refuse(path, "cannot be read to its end");
  }
}

std::string whole(const fs::path& path) {
  std::string text;
  read_in_parts(path, [&](std::string_view part) { text += part; });
  return text;
}

json parsed(const fs::path& path, const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::exception&) {
    refuse(path, "is not JSON");
  }
}

// The size and checksum of the file that a reader will see.
json described(const fs::path& path) {
  std::uint64_t bytes = 0;
  std::uint32_t checksum = 0;
  read_in_parts(path, [&](std::string_view part) {
    bytes += part.size();
    checksum = crc32c(part, checksum);
  });
  return {{"bytes", bytes}, {"crc32c", checksum}};
}

void check_file(const fs::path& checkpoint, const json& head, const char* name) {
  const fs::path path = checkpoint / name;
  const json& files = head["files"];
  if (!files.is_object() || !files.contains(name) || !files[name].is_object()) {
    refuse(checkpoint / kHeadFile, std::string("does not name ") + name);
  }
  const json now = described(path);
  if (now["bytes"] != files[name].value("bytes", json())) {
    refuse(path,
           fmt::format("is cut short or too long: {} bytes, should be {}",
                       now["bytes"].dump(),
                       files[name].value("bytes", json()).dump()));
  }
  if (now["crc32c"] != files[name].value("crc32c", json())) {
    refuse(path, "was changed or damaged: its checksum is another");
  }
}

// Over all that the head file says but the checksum itself.
std::uint32_t checksum_of(const json& head) {
  json rest = head;
  rest.erase(kChecksum);
  return crc32c(rest.dump());
}

json read_head_json(const fs::path& checkpoint) {
  const fs::path path = checkpoint / kHeadFile;
  json head = parsed(path, whole(path));
  if (!head.is_object() || !head.contains("format") || !head["format"].is_number_unsigned()) {
    refuse(path, "does not say its format");
  }
  if (head["format"] != kFormat) {
    refuse(path,
           fmt::format("has format {}, this program reads format {}: resume it with the version "
                       "that wrote it, {}",
                       head["format"].dump(),
                       kFormat,
                       head.contains("program") ? head["program"].dump() : "another"));
  }
  if (!head.contains(kChecksum) || head[kChecksum] != checksum_of(head)) {
    refuse(path, "was changed or damaged: its checksum is another");
  }
  return head;
}

Head to_head(const fs::path& checkpoint, json json) {
  Head head;
  try {
    StateReader reader({.json = std::move(json), .tensors = {}});
    head.keep(reader);
  } catch (const Error& error) {
    refuse(checkpoint / kHeadFile, error.what());
  }
  return head;
}

void sync_folder(const fs::path& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

// Each takes the other's name, at once.
void exchange(const fs::path& one, const fs::path& other) {
  if (::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) != 0) {
    throw Error(ExitCode::kFailure,
                "cannot exchange " + one.string() + " and " + other.string() + ": " +
                    std::error_code(errno, std::generic_category()).message());
  }
}

// Generation and update, as its name has them.
std::pair<std::uint64_t, std::uint64_t> age_of(const fs::path& path) {
  const std::string name = path.filename().string();
  const std::size_t middle = name.find("-u");
  return {std::strtoull(name.c_str() + 1, nullptr, 10),
          std::strtoull(name.c_str() + middle + 2, nullptr, 10)};
}

// A host's name may be no UTF-8.
std::string in_text(const json& value) {
  return value.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

void write_files(const fs::path& folder, const Checkpoint& checkpoint) {
  record::write_atomically(folder / kStateFile, in_text(checkpoint.state.json));
  protocol::Manifest manifest;
  std::vector<std::span<const float>> parts;
  for (const auto& [name, numbers] : checkpoint.state.tensors) {
    manifest.tensors.push_back({.name = name, .shape = {numbers.size()}});
    parts.emplace_back(numbers);
  }
  record::write_safetensors(folder / kTensorsFile, manifest, parts, {});
  StateWriter writer;
  Head head = checkpoint.head;
  head.keep(writer);
  json text = writer.take().json;
  text["format"] = kFormat;
  text["files"] = {{kStateFile, described(folder / kStateFile)},
                   {kTensorsFile, described(folder / kTensorsFile)}};
  text[kChecksum] = checksum_of(text);
  record::write_atomically(folder / kHeadFile, in_text(text));
}

// If the training had diverged, there is nothing to go on from.
void check_weights(const fs::path& checkpoint, const State& state) {
  const auto weights = state.tensors.find("shard/weights");
  if (weights != state.tensors.end() &&
      !std::ranges::all_of(weights->second, [](float number) { return std::isfinite(number); })) {
    refuse(checkpoint / kTensorsFile, "has weights that are not finite: the training had diverged");
  }
}

}  // namespace

void Head::keep(Archive& archive) {
  archive("job", job)("generation", generation)("update", version);
  archive("policy", policy)("program", program);
}

std::string name_of(const Head& head) {
  return fmt::format("g{:04}-u{:012}", head.generation, count(head.version));
}

void write(const fs::path& folder, const Checkpoint& checkpoint) {
  const fs::path path = folder / name_of(checkpoint.head);
  const fs::path unfinished = path.string() + kUnfinished;
  std::error_code error;
  fs::remove_all(unfinished, error);
  // Not the run's directory itself: if that is gone, it stays so.
  fs::create_directory(folder, error);
  fs::create_directory(unfinished, error);
  try {
    if (error) {
      throw Error(ExitCode::kFailure,
                  "cannot make the directory " + unfinished.string() + ": " + error.message());
    }
    write_files(unfinished, checkpoint);
    sync_folder(unfinished);
    if (fs::exists(path, error)) {  // This very update was written before. One of the two is whole.
      exchange(unfinished, path);
      fs::remove_all(unfinished, error);
    } else {
      fs::rename(unfinished, path, error);
    }
    if (error) {
      throw Error(ExitCode::kFailure,
                  "cannot rename " + unfinished.string() + ": " + error.message());
    }
    sync_folder(folder);
  } catch (const std::exception&) {
    fs::remove_all(unfinished, error);
    throw;
  }
}

std::vector<fs::path> list(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('g') && name.find("-u") != std::string::npos &&
        !name.ends_with(kUnfinished) && entry.is_directory(error)) {
      found.push_back(entry.path());
    }
  }
  std::ranges::sort(found, std::ranges::greater{}, &age_of);
  return found;
}

Head read_head(const fs::path& checkpoint) {
  return to_head(checkpoint, read_head_json(checkpoint));
}

Checkpoint read(const fs::path& checkpoint) {
  json head = read_head_json(checkpoint);
  check_file(checkpoint, head, kStateFile);
  check_file(checkpoint, head, kTensorsFile);
  State state;
  state.json = parsed(checkpoint / kStateFile, whole(checkpoint / kStateFile));
  record::Weights tensors = record::read_safetensors(checkpoint / kTensorsFile);
  auto next = tensors.numbers.cbegin();
  for (const protocol::TensorInfo& tensor : tensors.manifest.tensors) {
    const auto end = next + static_cast<std::ptrdiff_t>(tensor.numbers());
    state.tensors.emplace(tensor.name, std::vector<float>(next, end));
    next = end;
  }
  check_weights(checkpoint, state);
  return {.head = to_head(checkpoint, std::move(head)), .state = std::move(state)};
}

Checkpoint read_newest(const fs::path& folder,
                       const std::function<void(const std::string&)>& skipped) {
  const std::vector<fs::path> all = list(folder);
  for (const fs::path& one : all) {
    try {
      return read(one);
    } catch (const Error& error) {
      if (one == all.back()) {
        throw;
      }
      skipped(std::string(error.what()) + "; the one before it is taken");
    }
  }
  throw Error(ExitCode::kUnreadable, folder.string() + " has no checkpoint");
}

record::Weights weights_of(State state) {
  StateReader reader(std::move(state));
  record::Weights weights;
  reader("network", weights.manifest.tensors);
  reader.group("shard", [&] { reader("weights", weights.numbers); });
  if (weights.manifest.numbers() != weights.numbers.size()) {
    throw Error(ExitCode::kUnreadable, "state 'network' does not fit the weights");
  }
  return weights;
}

void remove_old(const fs::path& folder, std::size_t kept) {
  std::error_code ignored;
  std::vector<fs::path> old = list(folder);
  old.erase(old.begin(), old.begin() + static_cast<std::ptrdiff_t>(std::min(kept, old.size())));
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().ends_with(kUnfinished)) {
      old.push_back(entry.path());
    }
  }
  for (const fs::path& one : old) {
    fs::remove_all(one, ignored);
  }
}

}  // namespace outpace::checkpoint
