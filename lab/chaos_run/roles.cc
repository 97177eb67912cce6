// Tested by test/program/chaos_test.py (class Smoke).

#include "chaos_run/roles.h"

#include <array>
#include <chrono>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "chaos/history.h"
#include "live/leaving.h"
#include "live/supervisor.h"
#include "live/token_file.h"
#include "live/worker_loop.h"
#include "wire/tls_files.h"
#include "worker/ledger.h"

namespace outpace::chaos_run {
namespace {

using nlohmann::json;

// Each record is one write, so that a process that is killed leaves whole lines but for the last.
class HistoryFile {
 public:
  HistoryFile(const std::string& path, std::string who)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR)),
        who_(std::move(who)) {
    if (file_ < 0) {
      throw usage_error(path + ": cannot be written");
    }
  }
  ~HistoryFile() { close(file_); }
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  void write(const std::string& what, json more) {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const std::string line =
        chaos::to_line({.at = std::chrono::duration_cast<std::chrono::microseconds>(now).count(),
                        .who = who_,
                        .process = getpid(),
                        .what = what,
                        .more = std::move(more)}) +
        "\n";
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw Error(ExitCode::kFailure, "the history cannot be written");
    }
  }

 private:
  const int file_;
  const std::string who_;
};

// What there is to say of weights: the uses of all examples, whether each is a whole number, and
// their bits.
json described(std::span<const float> weights) {
  double applied = 0.0;
  bool whole = true;
  for (const float weight : weights) {
    applied -= weight;
    whole = whole && weight <= 0.0F && weight == std::floor(weight);
  }
  const std::string_view bytes(reinterpret_cast<const char*>(weights.data()), weights.size_bytes());
  return {{"applied", applied}, {"whole", whole}, {"crc32c", crc32c(bytes)}};
}

class Witness final : public live::WorkerObserver {
 public:
  explicit Witness(HistoryFile& file) : file_(file) {}

  void released(const protocol::Welcome& welcome, const live::WorkerSession::Task& task) override {
    json more = described(task.weights);
    more["generation"] = welcome.generation;
    more["incarnation"] = welcome.incarnation;
    more["sequence"] = number(task.release.sequence);
    more["version"] = count(task.release.version);
    for (const protocol::Range& range : task.release.ranges) {
      more["ranges"].push_back({range.epoch, range.begin, range.end});
    }
    file_.write("released", std::move(more));
  }
  void pushes(const live::WorkerSession::Result& result) override {
    file_.write("pushed", {{"examples", result.examples}});
  }
  void judged(const std::optional<protocol::Verdict>& verdict) override {
    if (!verdict) {
      file_.write("judged", {{"outcome", "unknown"}});
      return;
    }
    constexpr std::array kWords{"accepted", "dropped", "refused"};
    json more{{"outcome", kWords[static_cast<std::size_t>(verdict->outcome)]}};
    if (verdict->why) {
      more["why"] = *verdict->why;
    }
    file_.write("judged", std::move(more));
  }

 private:
  HistoryFile& file_;
};

class LedgerEvaluator final : public worker::Evaluator {
 public:
  LedgerEvaluator(std::uint64_t examples, HistoryFile& file) : ledger_(examples), file_(file) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return ledger_.manifest(); }
  [[nodiscard]] worker::Evaluation evaluate(std::span<const float> weights) override {
    json more = described(weights);
    const double applied = more["applied"];
    file_.write("evaluated", std::move(more));
    // Not how good a network is: how often an example was used.
    return {.accuracy = 0.0, .loss = applied / static_cast<double>(weights.size())};
  }

 private:
  worker::Ledger ledger_;
  HistoryFile& file_;
};

live::SessionOptions session_of(const RoleOptions& options) {
  return {.server = options.server,
          .token = live::read_token_file(options.token_file),
          .tls = wire::find_tls({}, options.token_file, options.server, wire::TlsSide::kWorker),
          .worker = WorkerId{options.worker}};
}

// Takes memory that cannot be shared or left out, and keeps it.
[[noreturn]] void be_ballast(std::uint64_t mib) {
  std::vector<char> ballast(mib << 20U);
  for (std::size_t i = 0; i < ballast.size(); i += 512) {
    ballast[i] = static_cast<char>(i);
  }
  while (true) {
    pause();
  }
}

}  // namespace

int play(const RoleOptions& options) {
  if (options.role == "ballast") {
    be_ballast(options.ballast_mib);
  }
  if (options.role == "evaluator") {
    HistoryFile file(options.history, options.role);
    LedgerEvaluator evaluator(options.examples, file);
    live::run_evaluator(session_of(options), evaluator, options.rejoin_for);
    return 0;
  }
  live::block_supervised_signals();
  live::Leaving leaving;
  const live::Supervisor signals({},
                                 {.interrupted = [&leaving](int signal) { leaving.ask(signal); }});
  live::SessionOptions session = session_of(options);
  session.leaving = &leaving;
  HistoryFile file(options.history, fmt::format("worker {}", options.worker));
  Witness witness(file);
  worker::Ledger ledger(options.examples);
  const auto trace = worker::DelayTrace::parse(
      fmt::format("{}", to_seconds(options.mini_batch)), "--mini-batch", 1);
  const worker::Pace pace(trace, WorkerId{0}, {});
  live::run_worker(
      {.session = session, .rejoin_for = options.rejoin_for}, ledger, pace, std::nullopt, &witness);
  return leaving.asked() ? leaving.exit_code() : 0;
}

}  // namespace outpace::chaos_run
