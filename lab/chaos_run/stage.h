// The processes of a chaos run: one server, its workers, an evaluator, and the proxy between them
// if the plan has one. A process that has ended is started again, the server with --resume.
//
// One thread calls everything; tick() must be called often.

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "chaos/plan.h"
#include "chaos_run/journal.h"
#include "chaos_run/process.h"
#include "wire/fault_proxy.h"

namespace outpace::chaos_run {

using SteadyTime = std::chrono::steady_clock::time_point;

struct StageOptions {
  chaos::Plan plan;
  std::filesystem::path folder;  // Exists.
  std::string program;           // This one.
  std::string mark;              // In the environment of every process.
  std::string clock_library;     // libfaketime's path; empty: no clock jumps.
  std::function<void(const std::string&)> say;
};

// One of the job's processes, over all its lives.
struct Member {
  std::string who;  // "server", "worker 3", "evaluator".
  std::unique_ptr<Process> process{};
  std::uint32_t starts = 0;
  std::optional<SteadyTime> start_again{};
  bool restarts = true;       // If it ends untold.
  std::set<int> as_told{};    // Exit codes that are right now.
  double clock_offset = 0.0;  // Seconds, of its wall clock.
  std::string log{};

  [[nodiscard]] bool running() const { return process != nullptr && process->running(); }
};

class Stage {
 public:
  Stage(StageOptions options, Journal& journal);

  void start_server();
  // Workers and evaluator; those that run already are left alone. REQUIRES: the server listens.
  void start_others();
  // Reaps, writes down and starts again.
  void tick();

  // The server of now has said that it listens.
  [[nodiscard]] bool listening() const { return !address_.empty(); }
  [[nodiscard]] std::vector<Member>& members() { return members_; }
  [[nodiscard]] Member& server() { return members_.front(); }
  [[nodiscard]] Member* find(const std::string& who);
  // Null without one. The link of a worker is its rank; the evaluator's comes after them.
  [[nodiscard]] wire::FaultProxy* proxy() { return proxy_.get(); }
  [[nodiscard]] std::size_t link_of(const std::string& who) const;
  [[nodiscard]] std::filesystem::path run_folder() const { return options_.folder / "run"; }

  // SIGKILL; it is started again after `down`.
  void kill(Member& member, Duration down);
  void set_clock(Member& member, double offset);
  // From now on nothing is started again, and these codes are right.
  void let_end(Member& member, std::set<int> codes);
  // The next server ends after this many epochs.
  void finish_after(std::uint64_t epochs) { epochs_ = epochs; }
  [[nodiscard]] bool any_running() const;

 private:
  [[nodiscard]] std::vector<std::string> words_of_server() const;
  [[nodiscard]] std::vector<std::string> words_of_other(const Member& member) const;
  void start(Member& member, std::vector<std::string> words);
  void ended(Member& member, int code);
  void look_for_address();

  const StageOptions options_;
  Journal& journal_;
  std::vector<Member> members_;
  std::unique_ptr<wire::FaultProxy> proxy_;
  std::string address_;  // The server's; empty until it listens.
  std::uint64_t epochs_ = 0;
};

}  // namespace outpace::chaos_run
