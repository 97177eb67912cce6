// Tested by test/program/join_test.py.

#include "run/join_run.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number_text.h"
#include "base/text.h"
#include "job/value_text.h"
#include "live/joining.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "record/run_directory.h"
#include "run/child_watch.h"
#include "run/children.h"
#include "run/echo.h"
#include "run/failures.h"
#include "run/notice_watch.h"
#include "run/scratch_directory.h"
#include "run/terminal.h"
#include "run/user_command.h"
#include "wire/join_code.h"

namespace outpace::run {
namespace {

using Words = std::vector<std::string>;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data()
                                                          : "a machine without a name";
}

std::string read_code(const job::JoinJob& job, const job::JoinWords& words) {
  if (!job.code_file.empty()) {
    return live::read_token_file(job.code_file);
  }
  if (*words.code != "-") {
    return *words.code;
  }
  std::string line;
  std::getline(std::cin, line);
  if (trim(line).empty()) {
    throw usage_error("join: standard input has no code");
  }
  return line;
}

// In a folder of this user alone.
void write_pass(const std::string& path, const std::string& pass) {
  const std::string line = pass + "\n";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  const bool written =
      file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0) {
    ::close(file);
  }
  if (!written) {
    throw Error(ExitCode::kFailure, path + ": cannot write the pass: " + std::strerror(error));
  }
}

// How many GPUs this machine shows.
std::uint32_t count_gpus() {
  std::uint32_t gpus = 0;
  std::error_code unknown;
  while (std::filesystem::exists("/dev/nvidia" + std::to_string(gpus), unknown)) {
    ++gpus;
  }
  return gpus;
}

// Those that the `number`-th worker of this machine is to see; nothing: as this process.
std::optional<std::string> gpu_of(std::uint32_t number) {
  Words all;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (const std::string_view one : split(visible, ',')) {
      all.emplace_back(trim(one));
    }
  } else {
    for (std::uint32_t gpu = 0; gpu < count_gpus(); ++gpu) {
      all.push_back(std::to_string(gpu));
    }
  }
  std::erase(all, "");
  return all.size() < 2 ? std::nullopt : std::optional(all[number % all.size()]);
}

void tell(Words& variables, const std::string& name, const std::string& value) {
  variables.push_back(value.empty() ? name : name + "=" + value);
}

// What include/outpace and `outpace worker` read.
Words told_to(const job::JoinJob& job,
              const protocol::Seats& seats,
              const std::string& server,
              const std::string& pass_file,
              std::uint32_t number) {
  Words all;
  tell(all, "OUTPACE_ROLE", "worker");
  tell(all, "OUTPACE_SERVER", server);
  tell(all, "OUTPACE_TOKEN_FILE", pass_file);
  tell(all, "OUTPACE_WORKER", std::to_string(index(seats.workers[number])));
  tell(all, "OUTPACE_WORKERS", std::to_string(seats.planned));
  tell(all, "OUTPACE_GRADIENTS", std::to_string(seats.gradients));
  tell(all, "OUTPACE_BATCH", std::to_string(seats.batch));
  tell(all, "OUTPACE_LOCAL_STEPS", seats.local_steps == 0 ? "" : std::to_string(seats.local_steps));
  tell(all, "OUTPACE_STEPS_AHEAD", seats.steps_ahead ? "true" : "");
  for (const char* none : {"OUTPACE_TLS_CERT",
                           "OUTPACE_TLS_KEY",
                           "OUTPACE_TLS_CA",
                           "OUTPACE_INSECURE_NO_TLS",
                           "OUTPACE_LAUNCHER"}) {
    tell(all, none, "");  // Those of another job in this shell.
  }
  tell(all, "OUTPACE_REJOIN_FOR", job::Value<Duration>::text(job.reaching.rejoin_for));
  tell(all, "OUTPACE_KEEP_ALIVE", job::Value<Duration>::text(job.reaching.keep_alive));
  if (job.reaching.connections) {
    tell(all, "OUTPACE_CONNECTIONS", std::to_string(*job.reaching.connections));
  }
  if (const auto gpu = gpu_of(number)) {
    tell(all, "CUDA_VISIBLE_DEVICES", *gpu);
  }
  if (job.threads) {
    tell(all, "OMP_NUM_THREADS", std::to_string(*job.threads));
  } else if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    tell(all, "OMP_NUM_THREADS", "1");
  }
  if (std::getenv("PYTHONUNBUFFERED") == nullptr) {
    tell(all, "PYTHONUNBUFFERED", "1");  // A line is seen when it is printed.
  }
  return all;
}

std::string line_of(const protocol::Status& status) {
  std::uint64_t answered = 0;
  std::uint64_t counted = 0;
  for (const protocol::Status::Seat& seat : status.seats) {
    answered += seat.answered;
    counted += seat.counted;
  }
  return fmt::format(
      "{:.1f}s  update {}{}  here: {} of {} mini-batches counted  live {}/{}{}",
      to_seconds(status.now),
      shown::grouped(count(status.version)),
      status.training_loss ? fmt::format("  loss {:.3f}", *status.training_loss) : "",
      shown::grouped(counted),
      shown::grouped(answered),
      status.live,
      status.workers,
      status.stalled.empty() ? "" : "  stalled: " + status.stalled);
}

// What each worker of this machine has done, for people.
std::string result_of(const protocol::Status& status) {
  std::string all;
  for (const protocol::Status::Seat& seat : status.seats) {
    all += fmt::format("{}{}: {} of {} mini-batches counted",
                       all.empty() ? "" : "; ",
                       name(seat.worker),
                       shown::grouped(seat.counted),
                       shown::grouped(seat.answered));
  }
  return all;
}

// What the threads of one join share.
struct JoinCourse {
  std::atomic<bool> all_ended{false};
  std::atomic<int> signal{0};
  std::mutex mutex;
  std::optional<live::ChildEnd> failed;  // First. Guarded by mutex.
};

class Join {
 public:
  Join(const job::JoinJob& job, Words command)
      : job_(job),
        command_(std::move(command)),
        echo_([this](const std::string& line) { terminal_.pass_on(line); },
              [this] { return terminal_.has_room(); }) {}

  int run(const wire::JoinCode& code) {
    const ScratchDirectory scratch;
    const std::string pass_file = scratch.file("pass");
    const std::string pass = to_text(make_pass(code, wire::draw_secret()));
    write_pass(pass_file, pass);
    live::Joining joining(
        {.code = code,
         .server = job_.server,
         .pass = pass,
         .workers = job_.workers_here,
         .host = host_name(),
         .deadline = job_.reaching.deadline,
         .rejoin_for = job_.reaching.rejoin_for,
         .say = [this](const std::string& line) { terminal_.say(line); },
         .given_up = [this] { return course_.signal != 0 || course_.all_ended; }});
    const protocol::Seats seats = joining.ask();
    check_command(seats);
    const auto directory = job_.out.empty() ? record::RunDirectory::create(
                                                  "runs", std::chrono::system_clock::now(), "join")
                                            : record::RunDirectory::create_at(job_.out);
    std::error_code ignored;
    std::filesystem::create_directory(directory.logs(), ignored);
    terminal_.say(fmt::format("joined the run at {} as {}; logs in {}",
                              joining.server(),
                              names_of(seats),
                              directory.logs().string()));
    live::Supervisor supervisor(
        seats.settings.empty()
            ? children_of(seats, joining.server(), pass_file, directory.logs())
            : peers_of(seats,
                       joining.server(),
                       pass_file,
                       {.logs = directory.logs().string(), .resolved = scratch.path()}),
        events());
    std::optional<NoticeWatch> notice;
    if (!job_.on_notice.empty()) {
      notice.emplace(
          NoticeWatch::Options{.command = job_.on_notice},
          [this] {
            terminal_.say("the notice of --on-notice has come: leaving the run");
            course_.signal = SIGTERM;
          },
          [this](const std::string& line) { terminal_.say(line); });
    }
    hear(joining);
    supervisor.reap(std::chrono::milliseconds(0), std::chrono::seconds(10));
    echo_.finish([this] { return terminal_.wait_for_room(); });
    terminal_.clear();
    return tell_end();
  }

 private:
  // The run says what its workers do, or this command does.
  void check_command(const protocol::Seats& seats) const {
    if (seats.settings.empty() && command_.empty()) {
      throw usage_error("join: the command is missing: outpace join CODE -- python3 train.py");
    }
    if (!seats.settings.empty() && !command_.empty()) {
      throw usage_error(
          "join: this run is a ring or a gossip, which tells its workers what to do; remove the "
          "command: outpace join CODE");
    }
  }

  // The workers of a ring or a gossip, as its first machine says.
  std::vector<live::ChildSpec> peers_of(const protocol::Seats& seats,
                                        const std::string& server,
                                        const std::string& pass_file,
                                        const ChildFiles& files) const {
    job::PeerJob told = peer_job_of(seats.settings);
    told.server = server;
    told.token_file = pass_file;
    told.rejoin_for = job_.reaching.rejoin_for;
    if (job_.threads) {
      told.work.threads = *job_.threads;
    }
    std::vector<live::ChildSpec> children;
    for (std::uint32_t number = 0; number < seats.workers.size(); ++number) {
      const auto worker = static_cast<std::uint32_t>(index(seats.workers[number]));
      live::ChildSpec child = peer_child(told, worker, files);
      child.prefix = prefix_words(job_.worker_prefix, worker);
      child.restarts_max = job_.restart_workers ? kWorkerRestartsMax : 0;
      if (const auto gpu = gpu_of(number)) {
        tell(child.variables, "CUDA_VISIBLE_DEVICES", *gpu);
      }
      children.push_back(std::move(child));
    }
    return children;
  }

  static std::string names_of(const protocol::Seats& seats) {
    std::vector<std::string> names;
    for (const WorkerId worker : seats.workers) {
      names.push_back(name(worker));
    }
    return workers_in_words(names);
  }

  std::vector<live::ChildSpec> children_of(const protocol::Seats& seats,
                                           const std::string& server,
                                           const std::string& pass_file,
                                           const std::filesystem::path& logs) {
    std::vector<live::ChildSpec> children;
    for (std::uint32_t number = 0; number < seats.workers.size(); ++number) {
      const auto worker = static_cast<std::uint32_t>(index(seats.workers[number]));
      const std::string file = fmt::format("worker-{}", worker);
      children.push_back({.name = name(seats.workers[number]),
                          .command = [words = command_](std::uint32_t /*start*/) { return words; },
                          .prefix = prefix_words(job_.worker_prefix, worker),
                          .log = (logs / (file + ".log")).string(),
                          .output = (logs / (file + ".out")).string(),
                          .restarts_max = job_.restart_workers ? kWorkerRestartsMax : 0,
                          .is_users = true,
                          .variables = told_to(job_, seats, server, pass_file, number)});
      if (job_.show_output == job::ShowOutput::kAll ||
          (job_.show_output == job::ShowOutput::kFirst && number == 0)) {
        echo_.follow(children.back().output, children.back().name);
      }
    }
    return children;
  }

  live::SupervisorEvents events() {
    return {.ended =
                [this](const live::ChildEnd& end) {
                  if (end.code == 0) {
                    return;
                  }
                  {
                    const std::lock_guard lock(course_.mutex);
                    course_.failed = course_.failed ? course_.failed : end;
                  }
                  for (const std::string& line : end.last_lines) {
                    terminal_.pass_on(end.name + ": " + shown(line));
                  }
                  terminal_.say(in_words(end) + (end.restarted ? "; it is started again" : ""));
                },
            .workers_all_ended = [this] { course_.all_ended = true; },
            .interrupted =
                [this](int signal) {
                  terminal_.say(fmt::format(
                      "signal {}: leaving the run; a second signal ends this at once", signal));
                  course_.signal = signal;
                },
            .looked = [this] { echo_.look(); }};
  }

  // Until the workers have ended, or this process is told to end.
  void hear(live::Joining& joining) {
    constexpr auto kMoment = std::chrono::milliseconds(100);
    bool hears = true;
    while (!course_.all_ended && course_.signal == 0) {
      if (hears) {
        hears = hear_once(joining, kMoment);
      } else {
        std::this_thread::sleep_for(kMoment);
      }
    }
    // The run's last word may be on its way.
    for (int look = 0; hears && look < 20 && !stop_ && course_.signal == 0; ++look) {
      hears = hear_once(joining, kMoment);
    }
  }

  // False if nothing more comes.
  bool hear_once(live::Joining& joining, std::chrono::milliseconds moment) {
    try {
      live::Joining::News news = joining.hear(moment);
      if (news.status) {
        status_ = std::move(news.status);
        terminal_.show([this](std::size_t width) { return line_of(*status_).substr(0, width); });
      }
      if (news.stop) {
        stop_ = std::move(news.stop);
        return false;
      }
      return true;
    } catch (const Error& error) {  // The workers try to find the server, too, and say so.
      if (!course_.all_ended && course_.signal == 0) {
        terminal_.say(error.what());
      }
      return false;
    }
  }

  int tell_end() {
    const std::string done = status_ ? result_of(*status_) : "";
    const bool finished = stop_ && stop_->how == protocol::Farewell::kFinished;
    std::string said = stop_ ? (finished ? "the run is over: " : "") + stop_->why : "";
    if (!said.empty() && !done.empty()) {
      said += "; ";
    }
    if (said.empty() && done.empty()) {
      said = "the workers have ended";
    }
    terminal_.say(said + done);
    const std::lock_guard lock(course_.mutex);
    if (course_.signal != 0) {
      return 128 + course_.signal;
    }
    if (course_.failed && !course_.failed->restarted) {
      return course_.failed->code;
    }
    return stop_ && !finished ? static_cast<int>(ExitCode::kFailure) : 0;
  }

  const job::JoinJob& job_;
  const Words command_;
  Terminal terminal_;
  Echo echo_;
  JoinCourse course_;
  std::optional<protocol::Status> status_;
  std::optional<protocol::Stop> stop_;
};

}  // namespace

int join_run(const job::JoinJob& job) {
  job::JoinWords words = words_of(job);
  if (!words.command.empty()) {
    check_program("join", words.command.front());
  }
  const wire::JoinCode code = wire::parse_code(read_code(job, words));
  live::block_supervised_signals();
  return Join(job, std::move(words.command)).run(code);
}

}  // namespace outpace::run
