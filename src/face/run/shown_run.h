// What people may see of a run while it goes on: its page, its metrics, its alarms, and the gain in
// words. The bridge from the server's strand, or from the host of a run without a server, to a
// watch::Board.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective/tally.h"
#include "dashboard/live_board.h"
#include "dashboard/page_server.h"
#include "job/live_job.h"
#include "policy/policy.h"
#include "record/decision_log.h"
#include "record/processor_use.h"
#include "record/write_queue.h"
#include "run/alarm_command.h"
#include "server/coordinator.h"
#include "server/evaluations.h"
#include "watch/group_feed.h"

namespace outpace::run {

// Where the page is served, if one is asked for. Throws a usage error if the address reaches beyond
// this machine and there are no certificates, or neither a file for the page's token nor one for
// the job's, beside which it is made.
[[nodiscard]] std::optional<dashboard::PageOptions> page_of(const job::Output& output,
                                                            const job::Serving& serving,
                                                            const std::string& token_file);

struct ShownRunOptions {
  watch::About about;
  dashboard::LiveBoard::Options board;
  std::string on_alarm;      // A command that is told of each alarm; empty: none.
  record::WriteQueue* disk;  // Looks at the disk, which may hang. It is empty before this ends.
  // What a worker does beside computing is sending: no delays are replayed.
  bool tells_sending = true;
  // For a run without a server.
  std::optional<watch::GroupFeed> group{};
};

class ShownRun {
 public:
  explicit ShownRun(ShownRunOptions options);

  void decided(Time now, const policy::Event& event, const policy::Decision& decision);
  void evaluated(const server::Evaluation& found);
  // Some ten times a second. `use`: of processors, if it is known.
  void status(Time now,
              const server::Coordinator& coordinator,
              const record::ProcessorMeter& processors);
  // For a run without a server. REQUIRES: there is a group.
  void joined(Time now, WorkerId worker);
  void left(Time now, WorkerId worker, bool dead);
  void links(Time now, bool broken, const std::string& words);
  void reported(Time now,
                const protocol::Push& report,
                float runtime,
                const collective::Tally& tally);
  void status(Time now, const collective::Tally& tally, const record::ProcessorMeter& processors);
  void begins(std::uint64_t gradient_bytes);
  void checkpoint(std::uint64_t version);
  // From any thread.
  void says(const std::string& line);
  void ended(const std::string& why);
  // A server goes on with a run, from what the board of the one before showed: its frame(). Before
  // anything else is told.
  void goes_on(const std::string& frame, const record::GoesOn& from);
  // All that the page shows, as JSON.
  [[nodiscard]] std::string frame() const;
  // What the run's record keeps of the page (dashboard/recorded_page.h).
  [[nodiscard]] std::string page_record() const;

  // "4 of 8 cut off now; 2.1x waiting for all"; empty: not known.
  [[nodiscard]] const std::string& gain() const { return gain_; }
  [[nodiscard]] std::string url() const { return board_.url(); }

 private:
  // How far a worker's runtimes and computing were looked at.
  struct Looked {
    std::size_t runtimes = 0;
    double computed = 0.0;
  };
  void look(Time now,
            const server::Statistics& statistics,
            std::optional<policy::Outlook> expected,
            const record::ProcessorMeter& processors);
  [[nodiscard]] bool is_due(Time now);
  void tell_workers(const server::Statistics& statistics, watch::Board& board);
  void tell_use(Time now, const record::ProcessorMeter& processors);

  const std::string run_;
  const bool tells_sending_;
  record::WriteQueue* const disk_;
  // What its thread saw; the capacity is 0 until it saw something.
  std::atomic<std::uint64_t> disk_capacity_{0};
  std::atomic<std::uint64_t> disk_free_{0};
  std::optional<watch::GroupFeed> group_;
  watch::ServerUse use_;
  std::vector<Looked> looked_;  // By worker.
  std::string gain_;
  Time next_look_{};
  Time next_use_{};
  std::unique_ptr<AlarmCommand> on_alarm_;  // Null: there is none.
  mutable dashboard::LiveBoard board_;      // It is locked to be read.
};

}  // namespace outpace::run
