// Tested by src/world/record/recent_log_test.cc.

#include "record/log_parts.h"

#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "record/decision_log.h"

namespace outpace::record {
namespace {

// The number of a part of this log by its file's name; nothing if it is no later part.
std::optional<std::uint32_t> number_of_part(const std::filesystem::path& file,
                                            const std::filesystem::path& first_part) {
  const std::string stem = file.stem().string();
  const std::string start = first_part.stem().string() + "-";
  if (file.extension() != first_part.extension() || !stem.starts_with(start)) {
    return std::nullopt;
  }
  const auto number = parse_count(stem.substr(start.size()));
  return number && *number > 1 && std::in_range<std::uint32_t>(*number)
             ? std::optional(static_cast<std::uint32_t>(*number))
             : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> next_part_there(const std::filesystem::path& first_part,
                                             std::uint32_t after) {
  std::optional<std::uint32_t> next;
  std::error_code failed;
  const std::filesystem::path parent = first_part.parent_path();
  for (const auto& entry :
       std::filesystem::directory_iterator(parent.empty() ? "." : parent, failed)) {
    const auto number = number_of_part(entry.path(), first_part);
    if (number && *number > after && (!next || *number < *next)) {
      next = number;
    }
  }
  return next;
}

std::uint64_t DecisionLogReader::bytes() const {
  std::uint64_t all = 0;
  for (std::uint32_t part = 1;; ++part) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(part_of_log(first_part_, part), failed);
    if (failed) {
      return all;
    }
    all += size;
  }
}

bool DecisionLogReader::go_to(std::uint64_t byte) {
  for (std::uint32_t part = 1;; ++part) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(part_of_log(first_part_, part), failed);
    if (failed) {
      return false;
    }
    if (byte < size) {
      return enter_part(part, byte);
    }
    byte -= size;
  }
}

void DecisionLogReader::go_near_end(std::uint64_t bytes) {
  std::uint32_t newest = 1;
  while (const auto next = next_part_there(first_part_, newest)) {
    newest = *next;
  }
  for (std::uint32_t part = newest;; --part) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(part_of_log(first_part_, part), failed);
    const bool first =
        part == 1 || !std::filesystem::exists(part_of_log(first_part_, part - 1), failed);
    if (failed) {
      return;
    }
    if (first || size >= bytes) {
      enter_part(part, size > bytes ? size - bytes : 0);
      return;
    }
    bytes -= size;
  }
}

bool DecisionLogReader::enter_part(std::uint32_t part, std::uint64_t byte) {
  std::ifstream file(part_of_log(first_part_, part), std::ios::binary);
  // The byte before may be the end of a line. The first line of a part is no decision.
  std::uint64_t at = byte == 0 ? 0 : byte - 1;
  file.seekg(static_cast<std::streamoff>(at));
  std::string rest;
  if (!std::getline(file, rest) || file.eof()) {
    return false;
  }
  at += rest.size() + 1;
  part_ = part;
  path_ = part_of_log(first_part_, part);
  file_ = std::move(file);
  read_ = static_cast<std::streamoff>(at);
  line_ = 1;  // From where it began, as is not known.
  cut_short_ = false;
  return true;
}

}  // namespace outpace::record
