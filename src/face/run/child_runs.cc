// Tested by test/program/compare_test.py (class Resumed).

#include "run/child_runs.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "live/supervisor.h"

namespace outpace::run {
namespace {

using std::chrono::steady_clock;

// A live run ends its own children and closes its record when it is told to end.
constexpr auto kPatience = std::chrono::seconds(10);

class ChildRuns {
 public:
  ChildRuns(const std::vector<ChildRun>& runs, std::uint32_t jobs, const ChildRunEvents& events)
      : runs_(runs), jobs_(jobs), events_(events) {}
  ~ChildRuns() {
    for (auto& [run, supervisor] : running_) {
      supervisor->reap(std::chrono::milliseconds(0), kPatience);
    }
  }
  ChildRuns(const ChildRuns&) = delete;
  ChildRuns& operator=(const ChildRuns&) = delete;

  int run() {
    std::size_t next = 0;
    while (next < runs_.size() || !running_.empty()) {
      while (next < runs_.size() && running_.size() < jobs_) {
        start(next++);
      }
      std::vector<ChildRunEnd> ended;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return signal_ != 0 || !ended_.empty(); });
        if (signal_ != 0) {
          return signal_;
        }
        ended.swap(ended_);
      }
      for (const ChildRunEnd& end : ended) {
        running_.erase(end.run);
        events_.ended(end);
      }
    }
    return 0;
  }

 private:
  void start(std::size_t run) {
    events_.begun(run);
    std::vector<std::string> words = runs_[run].words;
    words.insert(words.begin(), "outpace");
    std::vector<live::ChildSpec> child;
    child.push_back({.name = "run " + std::to_string(run),
                     .command = [words](std::uint32_t /*start*/) { return words; },
                     .log = runs_[run].log});
    const auto begun = steady_clock::now();
    running_[run] = std::make_unique<live::Supervisor>(
        std::move(child),
        live::SupervisorEvents{.ended =
                                   [this, run, begun](const live::ChildEnd& end) {
                                     const std::chrono::duration<double> took =
                                         steady_clock::now() - begun;
                                     const std::lock_guard lock(mutex_);
                                     ended_.push_back({.run = run,
                                                       .code = end.code,
                                                       .last_line = end.last_line,
                                                       .seconds = took.count()});
                                     changed_.notify_one();
                                   },
                               .workers_all_ended = nullptr,
                               .interrupted =
                                   [this](int signal) {
                                     const std::lock_guard lock(mutex_);
                                     signal_ = signal;
                                     changed_.notify_one();
                                   }});
  }

  // Constant after construction.
  const std::vector<ChildRun>& runs_;
  const std::uint32_t jobs_;
  const ChildRunEvents& events_;
  // Shared with the supervisors' threads.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChildRunEnd> ended_;
  int signal_ = 0;
  // The calling thread's; last, so that its threads end before what they share.
  std::map<std::size_t, std::unique_ptr<live::Supervisor>> running_;
};

}  // namespace

int run_children(const std::vector<ChildRun>& runs,
                 std::uint32_t jobs,
                 const ChildRunEvents& events) {
  return ChildRuns(runs, jobs, events).run();
}

}  // namespace outpace::run
