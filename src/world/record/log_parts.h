// A log of lines in JSON, perhaps in parts: decisions.jsonl, and what peers decided (peer_log.h).
//
// A log that is kept below a size is in parts, decisions.jsonl, decisions-2.jsonl.zst and so on, of
// which the first and the newest are kept. All but these two are compressed (zstd_file.h), in a
// tenth of the bytes. The first line of each says what the log is. A reader ends at the first gap.

#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/time.h"
#include "record/output_file.h"

namespace outpace::record {

inline constexpr const char* kDecisionGap = R"({"gap":true})";  // A line in place of others.

struct DecisionLogOptions {
  std::uint64_t every = 1;      // Keep each `every`-th decision.
  std::uint64_t bytes_max = 0;  // All parts on the disk, about; 0: one part without end.
  GapTold told{};               // The log may have gaps (output_file.h); null: failures are thrown.
  WriteQueue* queue = nullptr;  // Writes the log (output_file.h); null: the caller does.
};

// Bytes at which a part ends: few enough that most of a log is compressed, and that each is
// compressed in memory and at once; enough to compress well.
[[nodiscard]] std::uint64_t bytes_of_part(std::uint64_t bytes_max);
// decisions.jsonl, decisions-2.jsonl, ...; the first part is 1. It may be there compressed.
[[nodiscard]] std::filesystem::path part_of_log(const std::filesystem::path& path,
                                                std::uint32_t part);
// The first part after this one that is there; nothing if none is.
[[nodiscard]] std::optional<std::uint32_t> next_part_there(const std::filesystem::path& first_part,
                                                           std::uint32_t after);

class LogParts {
 public:
  // `first_line`: an object without its last brace.
  LogParts(std::filesystem::path path, std::string first_line, DecisionLogOptions options);

  // Whether the next decision is one to keep.
  [[nodiscard]] bool keeps_next();
  // Its lines.
  [[nodiscard]] OutputFile& file() { return file_; }

 private:
  [[nodiscard]] std::string first_line(std::uint32_t part) const;
  // By the thread that writes: before a part that is large enough grows.
  void begin_next_part(OutputFile& file);
  // Compresses it, unless it is the first. `bytes`: of it.
  void end_part(std::uint32_t part, std::uint64_t bytes);

  const std::filesystem::path path_;
  const std::string first_line_;
  const DecisionLogOptions options_;
  std::uint64_t skipped_ = 0;  // Decisions since the last one that was kept.
  // The writing thread's:
  std::uint32_t part_ = 1;
  std::uint64_t part_max_;            // Bytes of the present part, at which the next one begins.
  std::uint64_t bytes_ = 0;           // On the disk, of all parts before it.
  std::deque<std::uint64_t> middle_;  // By part between the first and the present one.
  OutputFile file_;
};

class Fields;  // A line's (log_fields.h).

class LogLines {
 public:
  struct Kind {
    std::filesystem::path first_part;
    const char* key;  // The first line has it, with the version.
    std::uint32_t version;
  };
  // Reads the first line. `begins` is told of each part's; it may throw BadLine (log_fields.h).
  // Throws a usage error that names file and line if anything is wrong; so does next(). A log that
  // keeps some decisions only is refused: they follow from all.
  LogLines(Kind kind, std::function<void(const Fields&)> begins);

  // Has `read` look at the next line; it returns the line's time, and may throw BadLine or Error.
  // False if there is none, or a gap. If its writer goes on, a later call finds what has come
  // since.
  [[nodiscard]] bool next(const std::function<Time(const nlohmann::json&)>& read);
  // When the line last read was written.
  [[nodiscard]] Time now() const { return now_; }
  // What DecisionLogReader (decision_log.h) says of these.
  [[nodiscard]] std::uint64_t bytes() const;
  bool go_to(std::uint64_t byte);
  void go_near_end(std::uint64_t bytes);
  [[nodiscard]] bool cut_short() const { return cut_short_; }
  [[nodiscard]] const std::string& gap() const { return gap_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t line() const { return line_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return static_cast<std::uint64_t>(read_); }

 private:
  [[nodiscard]] bool next_line(std::string& text);
  // To the end of the last whole line.
  void go_back();
  // Goes on with this part; false if its first line is not there yet, or if parts before it are
  // missing.
  [[nodiscard]] bool open_part(std::uint32_t part);
  void read_first_line(const std::string& text);
  // Goes on after the first end of a line at this byte of this part or later.
  bool enter_part(std::uint32_t part, std::uint64_t byte);
  void note_gap();
  [[noreturn]] void refuse(const std::string& why) const;

  const Kind kind_;
  const std::function<void(const Fields&)> begins_;
  std::filesystem::path path_;
  std::ifstream file_;
  std::string text_;
  std::uint32_t part_ = 1;
  std::uint64_t line_ = 0;
  std::streamoff read_ = 0;  // Bytes of the part, up to the end of that line.
  Time now_{};               // When that line was written.
  bool cut_short_ = false;
  std::string gap_;
};

}  // namespace outpace::record
