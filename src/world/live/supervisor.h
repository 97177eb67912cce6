// Starts the processes of a job on this machine, and reaps every one of them.
//
// One thread starts, watches and ends the children. The kernel ends a child when the thread that
// started it ends (PR_SET_PDEATHSIG), so no orphan stays, however this process dies. Children are
// in process groups of their own, so Ctrl-C reaches only this process, and the run ends in order. A
// second signal kills the children and ends this process at once. A command that is not this
// program's may have children of its own: its process group is killed when it ends.
//
// Another thread hears the signals that end a run, until the supervisor is destroyed: it waits for
// no file, so that a disk or a terminal that hangs cannot keep a process from ending.

#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "live/restarts.h"

namespace outpace::live {

struct ChildSpec {
  std::string name;  // For people: "worker 3".
  // The command line for the n-th start, n = 0, 1, ...
  std::function<std::vector<std::string>(std::uint32_t start)> command;
  // Words before it, the first a program in PATH, which runs it: "taskset", "-c", "3".
  std::vector<std::string> prefix{};
  std::string log;                 // Standard output and error are appended (capped_log.h).
  std::string output{};            // Standard output is appended to this one, if it is given.
  std::uint32_t restarts_max = 0;  // In a row (restarts.h).
  bool is_worker = true;
  // Whether it did what it is for since this was asked last. Null: a child that ran for a minute
  // did.
  std::function<bool()> did_well{};
  // The command is a user's: a program in PATH or at a path, and its words. Otherwise it is this
  // program, whatever its first word.
  bool is_users = false;
  // Variables beside those of this process, as "NAME=value"; "NAME" alone takes one away.
  std::vector<std::string> variables{};
  bool waits_for_start = false;  // start_waiting() starts it.
  // It goes on after a signal that ends a run, and ends when its work for the run is done. Slurm
  // and systemd send such a signal to all processes of a job.
  bool outlasts_signals = false;
};

// How a child ended.
struct ChildEnd {
  std::string name;
  bool is_worker;
  int code;                               // Exit code, or 128 + the signal that killed it.
  bool restarted;                         // It will be started again.
  std::string last_line;                  // What its log said last.
  std::vector<std::string> last_lines{};  // In its log since it was started, at most 30.
  std::uint32_t crashes = 1;              // In a row.
  std::chrono::milliseconds restart_in{0};
};

struct SupervisorEvents {
  // While the run goes on; later only of a user's process that nobody told to end.
  std::function<void(const ChildEnd&)> ended;
  std::function<void()> workers_all_ended;      // None will be started again.
  std::function<void(int signal)> interrupted;  // On the thread of signals.
  // On it, too. A second signal came: this process ends when it returns, so it must not wait for
  // anything.
  std::function<void()> ends_at_once{};
  // Some ten times a second while children run.
  std::function<void()> looked{};
};

// Blocks the signals that the supervisor waits for; call in main() before any thread is started.
void block_supervised_signals();
// Whether one of those that end a run has come, and no supervisor is there to hear it.
[[nodiscard]] bool supervised_signal_waits();

class Supervisor {
 public:
  // Starts the children. REQUIRES: block_supervised_signals() was called.
  Supervisor(std::vector<ChildSpec> children, SupervisorEvents events);
  // Ends and reaps what is left.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // From any thread: starts the children that wait for it.
  void start_waiting() { start_waiting_ = true; }

  // Children end by themselves now, for the run is over; those that do not within `grace` are told
  // to, and those that still run after `patience` more are killed. A first signal ends the grace.
  void reap(std::chrono::milliseconds grace,
            std::chrono::milliseconds patience = std::chrono::seconds(2));

 private:
  struct Child {
    ChildSpec spec;
    pid_t id = 0;        // 0: not running.
    bool waits = false;  // For start_waiting().
    std::uint32_t starts = 0;
    std::uintmax_t log_size = 0;  // When it was started.
    std::chrono::steady_clock::time_point started{};
    Restarts restarts;
    std::optional<std::chrono::steady_clock::time_point> start_again;
  };

  // Runs, and may be killed.
  struct Running {
    pid_t id;
    bool is_group;  // A user's command, with its own children.
    void send(int signal) const;
  };

  void run();
  void hear_signals();
  void start(Child& child);
  // The command line as execvp() takes it. Throws if it cannot be made, say on a full disk.
  [[nodiscard]] static std::vector<std::string> words_of(const Child& child);
  void collect();
  // Whether the child has ended, with its status; its process group is then gone, too.
  [[nodiscard]] bool reaped(const Child& child, int& status);
  // `why`: what there is to say of it; empty: the last line of its log.
  void ended(Child& child, int status, const std::string& why = "");
  void send_all(int signal);
  // Waits a moment for the end of a child.
  void wait_for_child();
  void cap_logs();
  [[noreturn]] void end_at_once(int signal);
  void start_due();
  void end_all(std::chrono::milliseconds grace, std::chrono::milliseconds patience);
  [[nodiscard]] bool any_running() const;

  std::vector<Child> children_;  // The thread's.
  const SupervisorEvents events_;
  std::atomic<bool> start_waiting_{false};
  std::chrono::steady_clock::time_point next_look_at_logs_{};
  bool told_all_ended_ = false;
  bool told_to_end_ = false;              // The children that were left were told.
  std::atomic<bool> interrupted_{false};  // By the first signal.
  std::mutex running_mutex_;
  std::vector<Running> running_;
  std::atomic<bool> over_{false};
  std::atomic<std::int64_t> reap_grace_ms_{-1};  // Set, last, to end the thread.
  std::atomic<std::int64_t> reap_patience_ms_{0};
  std::jthread signals_;
  std::jthread thread_;
};

}  // namespace outpace::live
