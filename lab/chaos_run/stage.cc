// Tested by test/program/chaos_test.py (class Smoke).

#include "chaos_run/stage.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "live/token_file.h"
#include "wire/certificates.h"

namespace outpace::chaos_run {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr std::uint32_t kBatch = 4;  // Small, so that 1 / n times n is 1 in float32 for every n.
constexpr std::uint64_t kEpochsWithoutEnd = 1'000'000;
constexpr const char* kHeartbeatTimeout = "2s";
constexpr const char* kProgressTimeout = "20s";
constexpr const char* kRejoinFor = "120";
constexpr std::chrono::milliseconds kBeforeNextTry{500};
constexpr const char* kListens = "listening on ";

// The learning rate that undoes the mean over an update's examples (worker/ledger.h).
std::uint64_t learning_rate(const chaos::Job& job) {
  const std::string name = job.policy.substr(0, job.policy.find(':'));
  const std::size_t n = job.policy.find("n=");
  const std::uint64_t splits =
      n == std::string::npos ? 1 : parse_count(job.policy.substr(n + 2)).value_or(1);
  const std::uint64_t cutoff = name == "sync" || name == "dynamic" ? job.workers
                               : name == "softsync" && splits > 0  ? job.workers / splits
                                                                   : 1;
  return kBatch * cutoff;
}

std::string whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string file_name(std::string who) {
  std::ranges::replace(who, ' ', '-');
  return who;
}

// libfaketime leaves these of a process that was killed.
void remove_traces_of_clock(pid_t process) {
  std::error_code ignored;
  fs::remove(fmt::format("/dev/shm/faketime_shm_{}", process), ignored);
  fs::remove(fmt::format("/dev/shm/sem.faketime_sem_{}", process), ignored);
}

}  // namespace

Stage::Stage(StageOptions options, Journal& journal)
    : options_(std::move(options)), journal_(journal) {
  const chaos::Job& job = options_.plan.job;
  fs::create_directories(options_.folder / "logs");
  static_cast<void>(live::token_of_server((options_.folder / "token").string()));
  if (job.carrier == chaos::Carrier::kTls) {
    // Valid for days before and after, because a certificate is the one thing that a wall clock
    // decides on: none of the plan's jumps may make it invalid.
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    constexpr std::chrono::days kEitherWay{10};
    wire::write_certificates(options_.folder,
                             wire::make_certificates(now - kEitherWay, 2 * kEitherWay));
  }
  members_.push_back({.who = "server"});
  for (std::uint32_t worker = 0; worker < job.workers; ++worker) {
    members_.push_back({.who = fmt::format("worker {}", worker)});
  }
  members_.push_back({.who = "evaluator"});
  if (job.carrier != chaos::Carrier::kSharedMemory) {
    std::vector<std::string> listen;
    for (std::size_t link = 0; link + 1 < members_.size(); ++link) {
      listen.push_back(job.carrier == chaos::Carrier::kUnix
                           ? fmt::format("unix:{}/p{}", options_.folder.string(), link)
                           : "127.0.0.1:0");
    }
    proxy_ = std::make_unique<FaultProxy>(listen, options_.plan.seed);
  }
  if (!options_.clock_library.empty()) {
    for (Member& member : members_) {
      set_clock(member, 0.0);
    }
  }
}

Member* Stage::find(const std::string& who) {
  const auto found = std::ranges::find(members_, who, &Member::who);
  return found == members_.end() ? nullptr : &*found;
}

std::size_t Stage::link_of(const std::string& who) const {
  const auto found = std::ranges::find(members_, who, &Member::who);
  return static_cast<std::size_t>(found - members_.begin()) - 1;
}

std::vector<std::string> Stage::words_of_server() const {
  const chaos::Job& job = options_.plan.job;
  if (fs::exists(run_folder() / "config.toml")) {
    std::vector<std::string> words{
        options_.server, "server", "--resume", run_folder().string(), "--json"};
    if (epochs_ != 0) {
      words.insert(words.end(), {"--epochs", std::to_string(epochs_)});
    }
    return words;
  }
  const bool is_unix =
      job.carrier == chaos::Carrier::kSharedMemory || job.carrier == chaos::Carrier::kUnix;
  return {options_.server,
          "server",
          "--policy",
          job.policy,
          "--workers",
          std::to_string(job.workers),
          "--batch",
          std::to_string(kBatch),
          "--epochs",
          std::to_string(kEpochsWithoutEnd),
          "--lr",
          std::to_string(learning_rate(job)),
          "--lr-scale",
          "linear",
          "--staleness",
          "none",
          "--heartbeat-timeout",
          kHeartbeatTimeout,
          "--progress-timeout",
          kProgressTimeout,
          "--checkpoint-every",
          std::to_string(job.checkpoint_every),
          "--listen",
          is_unix ? fmt::format("unix:{}/s", options_.folder.string()) : "127.0.0.1:0",
          "--token-file",
          (options_.folder / "token").string(),
          "--json",
          "--out",
          run_folder().string()};
}

std::vector<std::string> Stage::words_of_other(const Member& member) const {
  const chaos::Job& job = options_.plan.job;
  const std::size_t link = link_of(member.who);
  const bool is_worker = member.who != "evaluator";
  std::vector<std::string> words{options_.program,
                                 "chaos-process",
                                 "--role",
                                 is_worker ? "worker" : "evaluator",
                                 "--server",
                                 proxy_ ? proxy_->address(link) : address_,
                                 "--token-file",
                                 (options_.folder / "token").string(),
                                 "--examples",
                                 std::to_string(job.examples),
                                 "--mini-batch",
                                 fmt::format("{}", to_seconds(job.mini_batch)),
                                 "--rejoin-for",
                                 kRejoinFor,
                                 "--history",
                                 journal_.file_for(member.who, member.starts)};
  if (is_worker) {
    words.insert(words.end(), {"--worker", std::to_string(link)});
  }
  return words;
}

void Stage::start(Member& member, std::vector<std::string> words) {
  const bool again = std::exchange(member.start_again, std::nullopt).has_value();
  member.restarts = true;
  member.as_told.clear();
  member.log =
      (options_.folder / "logs" / fmt::format("{}-{}.log", file_name(member.who), member.starts))
          .string();
  std::vector<std::pair<std::string, std::string>> variables{{"CHAOS_MARK", options_.mark}};
  if (!options_.clock_library.empty()) {
    variables.insert(variables.end(),
                     {{"LD_PRELOAD", options_.clock_library},
                      {"FAKETIME_TIMESTAMP_FILE",
                       (options_.folder / ("clock-" + file_name(member.who))).string()},
                      {"FAKETIME_CACHE_DURATION", "1"},
                      {"FAKETIME_DONT_FAKE_MONOTONIC", "1"},
                      {"NO_FAKE_STAT", "1"}});
  }
  member.process = std::make_unique<Process>(
      Command{.words = std::move(words), .variables = std::move(variables), .log = member.log});
  ++member.starts;
  journal_.write(
      member.who, member.process->id(), "started", {{"start", member.starts}, {"again", again}});
}

void Stage::start_server() {
  address_.clear();
  start(server(), words_of_server());
}

void Stage::start_others() {
  for (Member& member : members_) {
    if (&member != &server() && !member.running()) {
      start(member, words_of_other(member));
    }
  }
}

void Stage::tick() {
  for (Member& member : members_) {
    if (member.process) {
      if (const auto code = member.process->collect()) {
        ended(member, *code);
      }
    }
  }
  const auto now = steady_clock::now();
  for (Member& member : members_) {
    if (!member.start_again || now < *member.start_again || member.running()) {
      continue;
    }
    if (&member == &server()) {
      start_server();
    } else if (!address_.empty() || proxy_) {
      start(member, words_of_other(member));
    }
  }
  if (address_.empty() && server().running()) {
    look_for_address();
  }
}

void Stage::look_for_address() {
  const std::string log = whole(server().log);
  const std::size_t at = log.find(kListens);
  const std::size_t end = at == std::string::npos ? at : log.find(';', at);
  if (end != std::string::npos) {
    address_ = log.substr(at + std::char_traits<char>::length(kListens),
                          end - at - std::char_traits<char>::length(kListens));
    if (proxy_) {
      proxy_->set_server(address_);
    }
  }
}

void Stage::ended(Member& member, int code) {
  const bool right = member.as_told.contains(code);
  nlohmann::json more{{"code", code}, {"as_told", right}, {"why", last_line(member.log)}};
  if (&member == &server()) {
    const auto all = checkpoint::list(run_folder() / "checkpoints");
    if (!all.empty()) {
      const checkpoint::Head head = checkpoint::read_head(all.front());
      more["checkpoint_generation"] = head.generation;
      more["checkpoint_update"] = count(head.version);
    }
    address_.clear();
  }
  remove_traces_of_clock(member.process->id());
  journal_.write(member.who, member.process->id(), "ended", std::move(more));
  if (!right) {
    options_.say(
        fmt::format("{} ended with exit code {}: {}", member.who, code, last_line(member.log)));
  }
  if (&member == &server() && member.starts == 1 && !fs::exists(run_folder())) {
    options_.say("the server cannot run at all: " + last_line(member.log));
    return;
  }
  // One that was killed knows already when it is started again.
  if (!member.start_again && !right && member.restarts) {
    member.start_again = steady_clock::now() + kBeforeNextTry;
  }
}

void Stage::kill(Member& member, Duration down) {
  member.as_told = {128 + SIGKILL};
  member.start_again = steady_clock::now() + down;
  member.process->send(SIGKILL);
}

void Stage::set_clock(Member& member, double offset) {
  member.clock_offset = offset;
  const fs::path path = options_.folder / ("clock-" + file_name(member.who));
  const fs::path beside = path.string() + ".new";
  std::ofstream(beside) << fmt::format("{:+.3f}\n", offset);
  fs::rename(beside, path);
}

void Stage::let_end(Member& member, std::set<int> codes) {
  member.as_told = std::move(codes);
  member.start_again.reset();
  member.restarts = false;
}

bool Stage::any_running() const {
  return std::ranges::any_of(members_, [](const Member& one) { return one.running(); });
}

}  // namespace outpace::chaos_run
