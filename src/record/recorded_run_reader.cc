#include "record/recorded_run_reader.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "base/error.h"
#include "protocol/messages.h"
#include "record/decision_log.h"
#include "record/processor_use.h"
#include "record/run_directory.h"
#include "record/runtime_model_file.h"

namespace outpace::record {
namespace {

// Follows the log. A message about a line begins with the line's place.
class Follower {
 public:
  explicit Follower(std::uint32_t workers) { run_.workers.resize(workers); }

  // `path`, `line`: where it stands.
  void follow(const LoggedDecision& decision,
              const std::filesystem::path& path,
              std::uint64_t line) {
    path_ = &path;
    line_ = line;
    now_ = decision.now;
    std::visit([this](const auto& event) { take(event); }, decision.event);
    for (const policy::Action& action : decision.actions) {
      if (const auto* accept = std::get_if<policy::Accept>(&action)) {
        const auto found =
            arrived_.find({index(accept->worker), static_cast<std::uint64_t>(accept->release)});
        if (found == arrived_.end()) {
          refuse("a gradient is accepted that did not arrive");
        }
        taken_ += found->second;
        arrived_.erase(found);
      } else if (const auto* drop = std::get_if<policy::Drop>(&action)) {
        arrived_.erase({index(drop->worker), static_cast<std::uint64_t>(drop->release)});
      } else if (std::holds_alternative<policy::Commit>(action)) {
        run_.examples += std::exchange(taken_, 0);
        run_.last_commit = now_;
      }
    }
  }

  RecordedRun take_run() {
    for (RecordedWorker& worker : run_.workers) {
      std::stable_sort(worker.iterations.begin(),
                       worker.iterations.end(),
                       [](const auto& a, const auto& b) { return a.begin < b.begin; });
    }
    return std::move(run_);
  }
  [[nodiscard]] std::uint64_t cancelled() const { return cancelled_; }
  [[nodiscard]] bool changed_policy() const { return changed_policy_; }

 private:
  void take(const policy::GradientArrived& event) {
    worker(event.worker)
        .iterations.push_back(
            {.begin = now_ - event.runtime,
             .end = now_,
             .share = static_cast<double>(event.examples) / static_cast<double>(event.nominal),
             .partial = event.partial});
    run_.batch = event.nominal;
    arrived_[{index(event.worker), static_cast<std::uint64_t>(event.release)}] = event.examples;
  }
  void take(const policy::WorkerLeft& event) {
    if (event.how != policy::Departure::kDrained) {
      worker(event.worker).absences.push_back({.from = now_, .until = std::nullopt});
    }
  }
  void take(const policy::WorkerJoined& event) {
    auto& absences = worker(event.worker).absences;
    if (!absences.empty() && !absences.back().until) {
      absences.back().until = now_;
    }
  }
  void take(const policy::ReleaseEnded& event) {
    cancelled_ += event.how == policy::Ending::kAbandoned ? 1 : 0;
  }
  void take(const policy::PolicySet& /*event*/) { changed_policy_ = true; }
  void take(const policy::TimerFired& /*event*/) {}
  void take(const policy::Measured& /*event*/) {}

  RecordedWorker& worker(WorkerId id) {
    if (index(id) >= run_.workers.size()) {
      refuse(fmt::format("worker {} of a run with {}", index(id), run_.workers.size()));
    }
    return run_.workers[index(id)];
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw usage_error(fmt::format("{}:{}: {}", path_->string(), line_, why));
  }

  const std::filesystem::path* path_ = nullptr;  // While it follows a line.
  RecordedRun run_;
  Time now_{};
  std::uint64_t line_ = 0;
  // Examples of gradients that were neither accepted nor dropped yet, by worker and release.
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint32_t> arrived_;
  std::uint64_t taken_ = 0;  // Since the last commit.
  std::uint64_t cancelled_ = 0;
  bool changed_policy_ = false;
};

// Nothing if there is no such file: the run was killed.
std::optional<nlohmann::json> read_summary(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) {
    return std::nullopt;
  }
  nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  if (!json.is_object()) {
    throw usage_error(path.string() + ": not the summary of a run; it takes a JSON object");
  }
  return json;
}

// Whether mini-batches were slowed down: then the rest of an iteration is more than communication.
bool delayed(const std::filesystem::path& path) {
  try {
    const toml::table table = toml::parse_file(path.string());
    return table.contains("delays") || table.contains("slow");
  } catch (const toml::parse_error&) {
    return true;
  }
}

double mean_share(const RecordedWorker& worker) {
  double sum = 0.0;
  for (const RecordedIteration& one : worker.iterations) {
    sum += one.share;
  }
  return sum / static_cast<double>(worker.iterations.size());
}

void add_processors(const nlohmann::json& summary, RecordedRun& run) {
  const auto use =
      summary.contains("processors") ? read_processor_use(summary["processors"]) : std::nullopt;
  if (!use || use->worker_seconds_an_iteration.size() != run.workers.size()) {
    return;
  }
  run.cores = use->cores;
  run.server_seconds = use->server_seconds_a_gradient;
  for (std::size_t i = 0; i < run.workers.size(); ++i) {
    const auto seconds = use->worker_seconds_an_iteration[i];
    if (seconds && !run.workers[i].iterations.empty()) {
      run.workers[i].processor_seconds = *seconds / mean_share(run.workers[i]);
    }
  }
}

// An iteration less what is computed: what summary.json has of each worker.
void add_communication(const nlohmann::json& summary, RecordedRun& run) {
  const nlohmann::json details = summary.value("workers_detail", nlohmann::json::array());
  for (std::size_t i = 0; i < run.workers.size() && i < details.size(); ++i) {
    RecordedWorker& worker = run.workers[i];
    const auto& detail = details[i];
    if (worker.iterations.empty() || !detail.is_object() ||
        !detail.value("compute_seconds", nlohmann::json()).is_number()) {
      continue;
    }
    double all = 0.0;
    for (const RecordedIteration& one : worker.iterations) {
      all += to_seconds(one.end - one.begin);
    }
    const double rest = all - detail["compute_seconds"].get<double>();
    if (rest > 0.0) {
      worker.communication_seconds = rest / static_cast<double>(worker.iterations.size());
    }
  }
}

}  // namespace

double read_noise_scale(const std::string& directory) {
  const std::filesystem::path path = std::filesystem::path(directory) / "summary.json";
  const auto summary = read_summary(path);
  if (!summary) {
    throw usage_error(path.string() + ": cannot be read; a run's directory has one");
  }
  if (!summary->contains("gradient_noise_scale")) {
    throw usage_error(path.string() +
                      ": no gradient_noise_scale; a run of an older outpace does not keep it");
  }
  const nlohmann::json& scale = (*summary)["gradient_noise_scale"];
  if (!scale.is_number() || !(scale.get<double>() > 0.0)) {
    throw usage_error(path.string() +
                      ": gradient_noise_scale was not measured; a run with --policy "
                      "dynamic:objective=progress measures it");
  }
  return scale.get<double>();
}

FoundRun read_recorded_run(const std::string& directory) {
  const auto files = RunDirectory::open(directory);
  DecisionLogReader log(files.decisions());
  const DecisionLogHeader& header = log.header();
  Follower follower(header.workers);
  LoggedDecision decision;
  while (log.next(decision)) {
    follower.follow(decision, log.path(), log.line());
  }
  FoundRun found{.run = follower.take_run(), .notes = {}};
  if (found.run.examples == 0) {
    throw usage_error(files.decisions().string() +
                      ": nothing was committed in this run, so its speed is unknown; it takes a "
                      "run with updates");
  }
  found.run.policy = header.policy;
  found.run.given.balance = header.balance;
  if (std::filesystem::exists(files.runtime_model())) {
    found.run.given.fitted = std::make_shared<const runtime_model::DeepWeights>(
        read_runtime_model(files.runtime_model()));
  }
  if (log.cut_short()) {
    found.notes.emplace_back("the last line of the log is cut off, and is ignored");
  }
  if (!log.gap().empty()) {
    found.notes.push_back(log.gap());
  }
  if (follower.changed_policy()) {
    found.notes.push_back("its policy was changed; it is replayed as " + header.policy +
                          " from end to end");
  }
  if (follower.cancelled() > 0) {
    found.notes.push_back(
        fmt::format("{} mini-batches were cancelled; their full runtimes are unknown, so slow "
                    "workers look faster "
                    "than they were",
                    follower.cancelled()));
  }
  if (const auto summary = read_summary(files.summary())) {
    add_processors(*summary, found.run);
    const bool simulated = summary->contains("simulated_seconds");
    // The summary's times are of the whole run.
    if (log.gap().empty() && (simulated || !delayed(files.config()))) {
      add_communication(*summary, found.run);
    }
    if (!simulated && found.run.cores == 0) {
      found.notes.emplace_back(
          "the record has no processor times; if workers share processors, waiting for each other "
          "counts as computing");
    }
  }
  return found;
}

}  // namespace outpace::record
