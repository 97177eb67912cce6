// decisions.jsonl: every event that the policy was told, and what it decided, one JSON line each.
//
// What is read back is what was written, to the bit, so that a run can be replayed into its policy
// and must give the same actions. The first line names the policy; the reason is in words, for
// people. A line costs under 5 us: a run of thousands of gradients a second can afford it.
//
// A log may be kept below a size: it is then in parts, decisions.jsonl, decisions-2.jsonl and so
// on, of which the first and the newest are kept. A reader ends where the record has its first gap,
// because nobody knows what the policy's state was after it.

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "policy/auto_candidates.h"
#include "policy/balance.h"
#include "policy/policy.h"
#include "record/log_parts.h"

namespace outpace::record {

inline constexpr std::uint32_t kDecisionLogVersion = 1;
inline constexpr const char* kDecisionLogKey = "outpace_decisions";  // Begins the first line.

// Where a server goes on with a run of another, which died.
struct GoesOn {
  std::uint32_t generation = 1;  // The run's servers count from 1.
  Time from{};                   // On the run's clock: when the checkpoint was taken,
  Version version{};             // and of which version.

  bool operator==(const GoesOn&) const = default;
};

// What it takes to make the policy again.
struct DecisionLogHeader {
  std::string policy;  // The spec: "backup:cutoff=6". The one in force, if the server goes on.
  std::uint32_t workers = 1;
  std::optional<policy::BalanceOptions> balance = std::nullopt;
  // As policy::PolicyInputs has them.
  std::uint32_t local_steps = 0;
  policy::BalanceOptions may_balance = policy::kAutoBalance;
  bool scale_invariant = false;
  std::optional<GoesOn> goes_on = std::nullopt;  // Nothing: the run begins.

  bool operator==(const DecisionLogHeader&) const = default;
};

class DecisionLogWriter {
 public:
  DecisionLogWriter(const std::filesystem::path& path,
                    const DecisionLogHeader& header,
                    const DecisionLogOptions& options = {});

  void append(Time now, const policy::Event& event, const policy::Decision& decision);
  // Makes what was appended visible to others; call it now and then, and close() at the end.
  void flush() { log_.file().flush(); }
  void close() { log_.file().close(); }

 private:
  LogParts log_;
};

// As they stand in the log.
[[nodiscard]] std::string to_text(const policy::Event& event);
[[nodiscard]] std::string to_text(std::span<const policy::Action> actions);

struct LoggedDecision {
  Time now{};
  std::string policy;  // The policy that was set; `event` looks at it.
  policy::Event event;
  std::vector<policy::Action> actions;
  std::string reason;
};

class DecisionLogReader {
 public:
  // Reads the first line. Throws a usage error that names file and line if anything is wrong; so
  // does next(). A log that keeps some decisions only is refused: they follow from all.
  explicit DecisionLogReader(const std::filesystem::path& path);
  DecisionLogReader(const DecisionLogReader&) = delete;
  DecisionLogReader& operator=(const DecisionLogReader&) = delete;

  [[nodiscard]] const DecisionLogHeader& header() const { return header_; }
  // The next decision into `out`; false if there is none, or a gap. If its writer goes on, a later
  // call finds what has come since.
  [[nodiscard]] bool next(LoggedDecision& out);
  // Bytes of the parts from the first one on, up to the first that is missing.
  [[nodiscard]] std::uint64_t bytes() const { return lines_.bytes(); }
  // Goes on at the first line that begins at this byte of them or later; false if there is no such
  // part. REQUIRES: next() found no gap.
  bool go_to(std::uint64_t byte) { return lines_.go_to(byte); }
  // Goes on where this many bytes are left, at most, of the newest parts.
  void go_near_end(std::uint64_t bytes) { lines_.go_near_end(bytes); }
  // Once next() was false: the last line has no end, because its writer was killed. It was left
  // out.
  [[nodiscard]] bool cut_short() const { return lines_.cut_short(); }
  // Once next() was false: where and why decisions are missing, after which none is read. Empty if
  // none are.
  [[nodiscard]] const std::string& gap() const { return lines_.gap(); }
  // The place of the line last read: its part, and its number there, from 1.
  [[nodiscard]] const std::filesystem::path& path() const { return lines_.path(); }
  [[nodiscard]] std::uint64_t line() const { return lines_.line(); }
  // Bytes of its part, up to the end of that line.
  [[nodiscard]] std::uint64_t bytes_read() const { return lines_.bytes_read(); }

 private:
  DecisionLogHeader header_;
  LogLines lines_;  // Looks at the header.
};

}  // namespace outpace::record
