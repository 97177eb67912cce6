// decisions.jsonl: every event that the policy was told, and what it decided, one JSON line each.
//
// What is read back is what was written, to the bit, so that a run can be replayed into its policy
// and must give the same actions. The first line names the policy; the reason is in words, for
// people. A line costs under 5 us: a run of thousands of gradients a second can afford it.

#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "policy/balance.h"
#include "policy/policy.h"
#include "record/output_file.h"

namespace outpace::record {

inline constexpr std::uint32_t kDecisionLogVersion = 1;

// What it takes to make the policy again.
struct DecisionLogHeader {
  std::string policy;  // The spec: "backup:cutoff=6".
  std::uint32_t workers = 1;
  std::optional<policy::BalanceOptions> balance = std::nullopt;

  bool operator==(const DecisionLogHeader&) const = default;
};

class DecisionLogWriter {
 public:
  DecisionLogWriter(const std::filesystem::path& path, const DecisionLogHeader& header);

  void append(Time now, const policy::Event& event, const policy::Decision& decision);
  // Makes what was appended visible to others; call it now and then, and close() at the end.
  void flush() { file_.flush(); }
  void close() { file_.close(); }

 private:
  OutputFile file_;
};

// As they stand in the log.
[[nodiscard]] std::string to_text(const policy::Event& event);
[[nodiscard]] std::string to_text(std::span<const policy::Action> actions);

struct LoggedDecision {
  Time now{};
  std::string policy;  // That was set; `event` looks at it.
  policy::Event event;
  std::vector<policy::Action> actions;
  std::string reason;
};

class DecisionLogReader {
 public:
  // Reads the first line. Throws a usage error that names file and line if anything is wrong; so
  // does next().
  explicit DecisionLogReader(const std::filesystem::path& path);

  [[nodiscard]] const DecisionLogHeader& header() const { return header_; }
  // The next decision into `out`; false if there is none.
  [[nodiscard]] bool next(LoggedDecision& out);
  // Once next() was false: the last line has no end, because its writer was killed. It was left
  // out.
  [[nodiscard]] bool cut_short() const { return cut_short_; }
  // Of the line last read, from 1.
  [[nodiscard]] std::uint64_t line() const { return line_; }

 private:
  [[nodiscard]] bool next_line(std::string& text);
  [[noreturn]] void refuse(const std::string& why) const;

  std::filesystem::path path_;
  std::ifstream file_;
  std::string text_;
  std::uint64_t line_ = 0;
  Time now_{};  // Of that line.
  bool cut_short_ = false;
  DecisionLogHeader header_;
};

}  // namespace outpace::record
