#include "record/log_parts.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "record/log_fields.h"
#include "record/zstd_file.h"

namespace outpace::record {
namespace {

using nlohmann::json;

// The number of a part of this log by its file's name; nothing if it is no later part.
std::optional<std::uint32_t> number_of_part(std::filesystem::path file,
                                            const std::filesystem::path& first_part) {
  if (file.extension() == kCompressed) {
    file.replace_extension();
  }
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

std::uint64_t bytes_of_part(std::uint64_t bytes_max) {
  constexpr std::uint64_t kFew = 8;
  constexpr std::uint64_t kMany = 64;
  constexpr auto kWell = std::uint64_t{256} << 10U;
  constexpr std::uint64_t kQuickly = kCompressedMost / 4;
  return std::min(bytes_max / kFew, std::clamp(bytes_max / kMany, kWell, kQuickly));
}

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

std::filesystem::path part_of_log(const std::filesystem::path& path, std::uint32_t part) {
  if (part == 1) {
    return path;
  }
  std::filesystem::path name = path.stem();
  name += "-" + std::to_string(part);
  name += path.extension();
  return path.parent_path() / name;
}

LogParts::LogParts(std::filesystem::path path, std::string first_line, DecisionLogOptions options)
    : path_(std::move(path)),
      first_line_(std::move(first_line)),
      options_(std::move(options)),
      part_max_(bytes_of_part(options_.bytes_max)),
      file_(path_,
            {.told = options_.told, .mark = kDecisionGap, .queue = options_.queue},
            [this](OutputFile& file) {
              if (options_.bytes_max > 0 && file.size() >= part_max_) {
                begin_next_part(file);
              }
            }) {
  const std::string first = this->first_line(1);
  file_.buffer().append(first.data(), first.data() + first.size());
  file_.end_line();
  if (options_.told) {
    file_.flush();  // Without its first line, nobody could read what comes after a gap.
  }
}

std::string LogParts::first_line(std::uint32_t part) const {
  return first_line_ + (options_.every > 1 ? fmt::format(R"(,"every":{})", options_.every) : "") +
         (part > 1 ? fmt::format(R"(,"part":{})", part) : "") + "}";
}

bool LogParts::keeps_next() {
  if (++skipped_ < options_.every) {
    return false;
  }
  skipped_ = 0;
  return true;
}

void LogParts::begin_next_part(OutputFile& file) {
  const std::uint64_t bytes = file.size();
  try {
    file.go_on_in(part_of_log(path_, part_ + 1), first_line(part_ + 1));
  } catch (const Error& error) {
    if (!options_.told) {
      throw;
    }
    // The present part grows instead, and when it is twice as large this is tried again.
    part_max_ *= 2;
    options_.told(error.what() + std::string("; ") + file.path().string() + " grows instead");
    return;
  }
  part_max_ = bytes_of_part(options_.bytes_max);
  end_part(part_++, bytes);
  while (!middle_.empty() && bytes_ + part_max_ > options_.bytes_max) {
    const auto oldest = part_of_log(path_, part_ - static_cast<std::uint32_t>(middle_.size()));
    std::error_code ignored;
    std::filesystem::remove(oldest, ignored);
    std::filesystem::remove(compressed_name(oldest), ignored);
    bytes_ -= middle_.front();
    middle_.pop_front();
  }
}

void LogParts::end_part(std::uint32_t part, std::uint64_t bytes) {
  if (part > 1) {
    try {
      bytes = compress_file(part_of_log(path_, part));
    } catch (const Error&) {
      // It stays as it is, which readers know as well.
    }
    middle_.push_back(bytes);
  }
  bytes_ += bytes;
}

LogLines::LogLines(Kind kind, std::function<void(const Fields&)> begins)
    : kind_(std::move(kind)),
      begins_(std::move(begins)),
      path_(kind_.first_part),
      file_(open_content(path_)) {
  if (!file_) {
    throw usage_error("cannot read " + path_.string() + ": " +
                      std::error_code(errno, std::generic_category()).message());
  }
  if (!next_line(text_)) {
    ++line_;
    refuse("not a decision log: it has no first line");
  }
  read_first_line(text_);
}

void LogLines::read_first_line(const std::string& text) {
  try {
    const json parsed = json::parse(text);
    const Fields line(parsed, "the line");
    if (!line.has(kind_.key)) {
      throw BadLine(
          fmt::format("not a decision log: it does not begin with {{\"{}\":1", kind_.key));
    }
    if (const auto version = line.count<std::uint32_t>(kind_.key); version != kind_.version) {
      throw BadLine(fmt::format(
          "a decision log of version {}; this program reads version {}", version, kind_.version));
    }
    begins_(line);
    if (line.has("every")) {
      throw BadLine(
          fmt::format("the log keeps one in {} decisions, which cannot be followed; record "
                      "a run with --decisions all or capped",
                      line.count<std::uint64_t>("every")));
    }
  } catch (const json::exception&) {
    refuse(part_ > 1 ? "not a part of a decision log: its first line is not JSON"
                     : "not a decision log: its first line is not JSON");
  } catch (const BadLine& bad) {
    refuse(bad.what());
  }
}

bool LogLines::next(const std::function<Time(const json&)>& read) {
  if (!gap_.empty() || !next_line(text_)) {
    return false;
  }
  if (text_ == kDecisionGap) {
    note_gap();
    return false;
  }
  try {
    now_ = read(json::parse(text_));
  } catch (const json::exception&) {
    refuse("not JSON");
  } catch (const BadLine& bad) {
    refuse(bad.what());
  }
  return true;
}

bool LogLines::next_line(std::string& text) {
  if (!std::getline(file_, text)) {
    go_back();
    const auto next = line_ == 0 ? std::nullopt : next_part_there(kind_.first_part, part_);
    if (!next) {
      return false;
    }
    // A part is complete before the next one begins: now this one's last lines are there.
    if (!std::getline(file_, text)) {
      go_back();
      return open_part(*next) && next_line(text);
    }
  }
  if (file_.eof()) {  // No newline came: what the writer's last moment left.
    go_back();
    cut_short_ = true;
    return false;
  }
  read_ += static_cast<std::streamoff>(text.size()) + 1;
  cut_short_ = false;
  ++line_;
  return true;
}

void LogLines::go_back() {
  file_.clear();
  file_.seekg(read_);
}

bool LogLines::open_part(std::uint32_t part) {
  if (part != part_ + 1) {
    gap_ = fmt::format(
        "{}: a gap: decisions from {:.3f} s on are in parts that were removed to keep "
        "the record small; {} is not read",
        path_.string(),
        to_seconds(now_),
        part_of_log(kind_.first_part, part).string());
    return false;
  }
  std::ifstream file = open_content(part_of_log(kind_.first_part, part));
  std::string first;
  if (!std::getline(file, first) || file.eof()) {  // Its writer has made it a moment ago.
    cut_short_ = !first.empty();
    return false;
  }
  part_ = part;
  path_ = part_of_log(kind_.first_part, part_);
  file_ = std::move(file);
  read_ = static_cast<std::streamoff>(first.size()) + 1;
  line_ = 1;
  cut_short_ = false;
  read_first_line(first);
  return true;
}

void LogLines::note_gap() {
  const std::string place = fmt::format("{}:{}", path_.string(), line_);
  std::string until = "on";
  if (std::string after; next_line(after)) {
    const json line = json::parse(after, nullptr, /*allow_exceptions=*/false);
    if (line.is_object() && line.value("now", json()).is_number_integer()) {
      until = fmt::format("to {:.3f} s", to_seconds(Duration{line["now"].get<std::int64_t>()}));
    }
  }
  gap_ = fmt::format(
      "{}: a gap: decisions from {:.3f} s {} could not be recorded; none after them "
      "is read",
      place,
      to_seconds(now_),
      until);
}

void LogLines::refuse(const std::string& why) const {
  throw usage_error(fmt::format("{}:{}: {}", path_.string(), line_, why));
}

std::uint64_t LogLines::bytes() const {
  std::uint64_t all = 0;
  for (std::uint32_t part = 1;; ++part) {
    const auto size = content_bytes(part_of_log(kind_.first_part, part));
    if (!size) {
      return all;
    }
    all += *size;
  }
}

bool LogLines::go_to(std::uint64_t byte) {
  for (std::uint32_t part = 1;; ++part) {
    const auto size = content_bytes(part_of_log(kind_.first_part, part));
    if (!size) {
      return false;
    }
    if (byte < *size) {
      return enter_part(part, byte);
    }
    byte -= *size;
  }
}

void LogLines::go_near_end(std::uint64_t bytes) {
  std::uint32_t newest = 1;
  while (const auto next = next_part_there(kind_.first_part, newest)) {
    newest = *next;
  }
  for (std::uint32_t part = newest;; --part) {
    const auto size = content_bytes(part_of_log(kind_.first_part, part));
    if (!size) {
      return;
    }
    const bool first = part == 1 || !content_bytes(part_of_log(kind_.first_part, part - 1));
    if (first || *size >= bytes) {
      enter_part(part, *size > bytes ? *size - bytes : 0);
      return;
    }
    bytes -= *size;
  }
}

bool LogLines::enter_part(std::uint32_t part, std::uint64_t byte) {
  std::ifstream file = open_content(part_of_log(kind_.first_part, part));
  // The byte before may be the end of a line. The first line of a part is no decision.
  std::uint64_t at = byte == 0 ? 0 : byte - 1;
  file.seekg(static_cast<std::streamoff>(at));
  std::string rest;
  if (!std::getline(file, rest) || file.eof()) {
    return false;
  }
  at += rest.size() + 1;
  part_ = part;
  path_ = part_of_log(kind_.first_part, part);
  file_ = std::move(file);
  read_ = static_cast<std::streamoff>(at);
  line_ = 1;  // From where it began, as is not known.
  cut_short_ = false;
  return true;
}

}  // namespace outpace::record
