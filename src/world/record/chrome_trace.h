// A run as a Chrome trace: open it in ui.perfetto.dev or chrome://tracing. Live and simulated runs
// write the same.
//
// The array form of the Trace Event Format: each worker is a process whose slices are its tasks, as
// the server saw them (release to arrival, communication included); the server is one whose
// slices, a nanosecond each, are the updates. An arrow leads from a task to the update that used
// it. One more process has the links of a simulated run, each a curve of how much of it is in use.
// Times are microseconds on the run's clock. A file whose writer was killed has no closing
// bracket, which viewers accept.
//
// A trace is written to a file, or kept in memory; it may begin in the midst of a run.

#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "policy/policy.h"
#include "policy/recent_decisions.h"
#include "record/output_file.h"

namespace outpace::record {

class ChromeTrace {
 public:
  // Throws Error, as the calls below do, if the file system refuses. With `told`, the file may have
  // gaps once it exists; with `queue`, that writes it (output_file.h).
  ChromeTrace(const std::filesystem::path& path,
              const std::string& policy,
              GapTold told = nullptr,
              WriteQueue* queue = nullptr);
  // In memory.
  ChromeTrace(const policy::Underway& begin, const std::string& policy);

  // What the policy was told, and what it decided; times never decrease.
  void append(Time now, const policy::Event& event, const policy::Decision& decision) {
    tell(now, event, {.actions = decision.actions, .reason = decision.reason});
  }
  void tell(Time now, const policy::Event& event, const policy::Decided& decided);
  // The used share of a link, 1 being all of it, over windows of this length from `begin` on. It
  // may be told when all the rest has been.
  void append_link(const std::string& name,
                   Time begin,
                   Duration window,
                   std::span<const double> used);
  // REQUIRES: it is written to a file.
  void flush() { file_->flush(); }
  // Ends the tasks that are still open.
  void close();
  // All of it. REQUIRES: it is kept in memory, and closed.
  [[nodiscard]] std::string text() const { return fmt::to_string(text_); }

 private:
  // How a task ended, beside its worker and time.
  struct Outcome {
    std::string_view how;  // "accepted", "dropped: stale", "cancelled".
    std::uint32_t examples = 0;
    Version now{};  // The server's version then: the staleness is the difference.
  };

  policy::Underway::Task& task_of(WorkerId worker);
  void begin_process(Time now, WorkerId worker);
  void name_server(const std::string& policy);
  void end_with_gradient(Time now,
                         const policy::GradientArrived& event,
                         const policy::Decided& decided);
  void end_task(Time now, WorkerId worker, const Outcome& outcome);
  void commit(Time now, const policy::Decided& decided);
  void counter(Time now, std::string_view name, double value);
  // One event of the trace: everything between its braces.
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values);

  // To which a line is appended, and what is done then.
  [[nodiscard]] fmt::memory_buffer& buffer() { return file_ ? file_->buffer() : text_; }
  void end_line();

  std::optional<OutputFile> file_;  // Nothing: the text is kept.
  fmt::memory_buffer text_;
  bool first_ = true;
  bool has_links_ = false;
  Time last_{};
  Version version_{};
  std::uint32_t live_ = 0;
  std::vector<policy::Underway::Task> tasks_;  // By worker.
  std::vector<Sequence> accepted_;             // To the next update: the releases.
};

// A trace of these decisions, the policy's name being that of its server.
[[nodiscard]] std::string trace_of(const policy::RecentDecisions::Parts& parts,
                                   const std::string& policy);

}  // namespace outpace::record
