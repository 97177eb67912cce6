// A run as a Chrome trace: open it in ui.perfetto.dev or chrome://tracing. Live and simulated runs
// write the same.
//
// The array form of the Trace Event Format: each worker is a process whose slices are its tasks, as
// the server saw them (release to arrival, communication included); the server is one whose
// slices, a nanosecond each, are the updates. An arrow leads from a task to the update that used
// it. One more process has the links of a simulated run, each a curve of how much of it is in use.
// Times are microseconds on the run's clock. A file whose writer was killed has no closing
// bracket, which viewers accept.

#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "policy/policy.h"
#include "record/output_file.h"

namespace outpace::record {

class ChromeTrace {
 public:
  // Throws Error, as the calls below do, if the file system refuses. With `told`, the file may have
  // gaps (output_file.h) once it exists.
  ChromeTrace(const std::filesystem::path& path, const std::string& policy, GapTold told = nullptr);

  // What the policy was told, and what it decided; times never decrease.
  void append(Time now, const policy::Event& event, const policy::Decision& decision);
  // What of a link was in use, 1 being all of it, over windows of this length from `begin` on. It
  // may be told when all the rest has been.
  void append_link(const std::string& name,
                   Time begin,
                   Duration window,
                   std::span<const double> used);
  void flush() { file_.flush(); }
  // Ends the tasks that are still open.
  void close();

 private:
  struct Task {
    bool open = false;
    Time begun{};
    Version version{};
  };
  // How a task ended, beside its worker and time.
  struct Outcome {
    std::string_view how;  // "accepted", "dropped: stale", "cancelled".
    std::uint32_t examples = 0;
    Version now{};  // The server's version then: the staleness is the difference.
  };

  Task& task_of(WorkerId worker);
  void begin_process(Time now, WorkerId worker);
  void tell(Time now, const policy::GradientArrived& event, const policy::Decision& decision);
  void end_task(Time now, WorkerId worker, const Outcome& outcome);
  void commit(Time now, const policy::Decision& decision);
  void counter(Time now, std::string_view name, double value);
  // One event of the trace: everything between its braces.
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values);

  OutputFile file_;
  bool first_ = true;
  bool has_links_ = false;
  Time last_{};
  Version version_{};
  std::uint32_t live_ = 0;
  std::vector<Task> tasks_;         // By worker.
  std::vector<Sequence> accepted_;  // To the next update: the releases.
};

}  // namespace outpace::record
