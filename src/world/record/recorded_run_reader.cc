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
#include "base/median.h"
#include "policy/auto_candidates.h"
#include "protocol/messages.h"
#include "record/processor_use.h"
#include "record/recorded_policies.h"
#include "record/run_decisions.h"
#include "record/run_directory.h"
#include "record/runtime_model_file.h"
#include "record/summary_reader.h"
#include "record/toml_file.h"

namespace outpace::record {
namespace {

// Follows the log, or stretches of it that are put one after another. A message about a line begins
// with the line's place.
class Follower {
 public:
  explicit Follower(const DecisionLogHeader& header) : policies_(header.policy) {
    run_.workers.resize(header.workers);
    present_.resize(header.workers, Present::kUnknown);
    run_.given.scale_invariant = header.scale_invariant;
  }

  // Another stretch begins with the decision of this time. Nothing is known yet of its workers.
  void begin_stretch(Time first) {
    end_stretch();
    sampled_ = true;
    policies_.lose_track();
    begin_ = first;
    shift_ = end_ - first;
    arrived_.clear();
    taken_ = 0;
    std::ranges::fill(present_, Present::kUnknown);
  }
  // A worker that nothing was heard of was away.
  void end_stretch() {
    for (std::size_t i = 0; sampled_ && i < present_.size(); ++i) {
      if (present_[i] == Present::kUnknown) {
        be_away(run_.workers[i], begin_ + shift_);
      }
    }
  }
  // Another server went on: all workers had gone.
  void another_server() {
    for (std::size_t i = 0; i < present_.size(); ++i) {
      if (present_[i] == Present::kHere) {
        be_away(run_.workers[i], end_);
        present_[i] = Present::kAway;
      }
    }
    arrived_.clear();
    taken_ = 0;
  }

  // `log`: has read it.
  void follow(const LoggedDecision& decision, const RunDecisions& log) {
    log_ = &log;
    now_ = decision.now + shift_;
    end_ = std::max(end_, now_);
    policies_.follow(decision, now_);
    std::visit([this](const auto& event) { take(event); }, decision.event);
    for (const policy::Action& action : decision.actions) {
      if (const auto* accept = std::get_if<policy::Accept>(&action)) {
        take_up(*accept);
      } else if (const auto* drop = std::get_if<policy::Drop>(&action)) {
        arrived_.erase({index(drop->worker), static_cast<std::uint64_t>(drop->release)});
      } else if (std::holds_alternative<policy::Commit>(action)) {
        run_.examples += std::exchange(taken_, 0);
        run_.last_commit = now_;
      }
    }
  }

  policy::RecordedRun take_run() {
    end_stretch();
    for (policy::RecordedWorker& worker : run_.workers) {
      std::stable_sort(worker.iterations.begin(),
                       worker.iterations.end(),
                       [](const auto& a, const auto& b) { return a.begin < b.begin; });
    }
    return std::move(run_);
  }
  [[nodiscard]] std::uint64_t gradients() const { return gradients_; }
  [[nodiscard]] std::uint64_t cancelled() const { return cancelled_; }
  [[nodiscard]] const RecordedPolicies& policies() const { return policies_; }

 private:
  enum class Present : std::uint8_t { kUnknown, kHere, kAway };

  static void be_away(policy::RecordedWorker& worker, Time from) {
    if (worker.absences.empty() || worker.absences.back().until) {
      worker.absences.push_back({.from = from, .until = std::nullopt});
    }
  }
  static void be_back(policy::RecordedWorker& worker, Time at) {
    if (!worker.absences.empty() && !worker.absences.back().until) {
      worker.absences.back().until = at;
    }
  }
  // It was there when the stretch began, for it has something to say.
  void be_here(WorkerId id) {
    policy::RecordedWorker& one = worker(id);
    if (std::exchange(present_[index(id)], Present::kHere) == Present::kUnknown && sampled_) {
      be_back(one, begin_ + shift_);
    }
  }

  void take_up(const policy::Accept& accept) {
    const auto found =
        arrived_.find({index(accept.worker), static_cast<std::uint64_t>(accept.release)});
    if (found != arrived_.end()) {
      taken_ += found->second;
      arrived_.erase(found);
    } else if (!sampled_) {  // Else it came before the stretch.
      refuse("a gradient is accepted that did not arrive");
    }
  }
  void take(const policy::GradientArrived& event) {
    be_here(event.worker);
    ++gradients_;
    run_.batch = event.nominal;
    if (sampled_ && now_ - event.runtime < begin_ + shift_) {
      return;
    }
    worker(event.worker)
        .iterations.push_back(
            {.begin = now_ - event.runtime,
             .end = now_,
             .share = static_cast<double>(event.examples) / static_cast<double>(event.nominal),
             .partial = event.partial});
    arrived_[{index(event.worker), static_cast<std::uint64_t>(event.release)}] = event.examples;
  }
  void take(const policy::WorkerLeft& event) {
    if (event.how != policy::Departure::kDrained) {
      be_here(event.worker);
      present_[index(event.worker)] = Present::kAway;
      be_away(worker(event.worker), now_);
    }
  }
  void take(const policy::WorkerJoined& event) {
    policy::RecordedWorker& one = worker(event.worker);
    if (std::exchange(present_[index(event.worker)], Present::kHere) == Present::kUnknown &&
        sampled_) {
      be_away(one, begin_ + shift_);
    }
    be_back(one, now_);
  }
  void take(const policy::ReleaseEnded& event) {
    be_here(event.worker);
    cancelled_ += event.how == policy::Ending::kAbandoned ? 1 : 0;
  }
  void take(const policy::PolicySet& /*event*/) {}
  void take(const policy::TimerFired& /*event*/) {}
  void take(const policy::Measured& event) {
    if (event.what == policy::Measure::kScaleInvariant) {
      run_.given.scale_invariant = event.value > 0.0;
    }
  }

  policy::RecordedWorker& worker(WorkerId id) {
    if (index(id) >= run_.workers.size()) {
      refuse(fmt::format("worker {} of a run with {}", index(id), run_.workers.size()));
    }
    return run_.workers[index(id)];
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw usage_error(fmt::format("{}:{}: {}", log_->path().string(), log_->line(), why));
  }

  const RunDecisions* log_ = nullptr;  // While it follows a line.
  policy::RecordedRun run_;
  Time now_{};
  Time end_{};  // The last one that was followed.
  bool sampled_ = false;
  Time begin_{};      // When the stretch began, on the run's clock,
  Duration shift_{};  // and what it is moved by.
  std::vector<Present> present_;
  // Examples of gradients that were neither accepted nor dropped yet, by worker and release.
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint32_t> arrived_;
  std::uint64_t taken_ = 0;  // Since the last commit.
  std::uint64_t gradients_ = 0;
  std::uint64_t cancelled_ = 0;
  RecordedPolicies policies_;
};

// Follows the log until these gradients have come. False at its end.
bool follow_some(RunDecisions& log, std::uint64_t gradients, Follower& follower) {
  const std::uint64_t until = follower.gradients() + gradients;
  LoggedDecision decision;
  while (follower.gradients() < until) {
    if (!log.next(decision)) {
      return false;
    }
    if (log.goes_on()) {
      follower.another_server();
    }
    follower.follow(decision, log);
  }
  return true;
}

// Follows stretches of the log from the second on; the first one was followed.
void follow_stretches(RunDecisions& log,
                      std::uint32_t stretches,
                      std::uint64_t gradients,
                      Follower& follower) {
  const std::uint64_t bytes = log.bytes();
  LoggedDecision first;
  for (std::uint32_t stretch = 1; stretch < stretches; ++stretch) {
    if (!log.go_to(bytes / stretches * stretch) || !log.next(first)) {
      continue;
    }
    const std::uint64_t until = follower.gradients() + gradients;
    follower.begin_stretch(first.now);
    follower.follow(first, log);
    follow_some(log, until - follower.gradients(), follower);
  }
}

// Follows all of a log of at most `most` gradients, and stretches of a longer one. Returns whether
// it is a sample.
bool follow_log(RunDecisions& log, std::uint64_t most, Follower& follower) {
  constexpr std::uint64_t kStretches = 10;
  constexpr std::uint64_t kOfAWorkerLeast =
      50;  // Gradients in a stretch; at its ends some are lost.
  const auto stretches = static_cast<std::uint32_t>(
      std::clamp(most / (kOfAWorkerLeast * log.header().workers), std::uint64_t{1}, kStretches));
  const std::uint64_t each = std::max<std::uint64_t>(1, most / stretches);
  if (!follow_some(log, each, follower)) {
    return false;
  }
  // By what the first stretch took of it: whether the rest is short enough.
  const double in_all = static_cast<double>(each) * static_cast<double>(log.bytes()) /
                        static_cast<double>(std::max<std::uint64_t>(1, log.bytes_read()));
  constexpr double kRoughly = 1.1;
  if (in_all <= kRoughly * static_cast<double>(most)) {
    return follow_some(log, most, follower);
  }
  follow_stretches(log, stretches, each, follower);
  return true;
}

// What config.toml says of how the workers computed.
struct Configured {
  // Mini-batches were slowed down: then the rest of an iteration is more than communication.
  bool delayed = true;
  bool steps_ahead = false;
  std::string packing;  // How they packed what travels; empty: they did not.
};
std::string packing_of(const toml::table& table) {
  const auto given = [&table](const std::string& option) {
    const auto spec = table[option].value_or<std::string>("none");
    return spec == "none" ? "" : " --" + option + " " + spec;
  };
  return given("compress") + given("compress-weights");
}
Configured configured(const std::filesystem::path& path) {
  try {
    const toml::table table = read_toml_file(path);
    return {.delayed = table.contains("delays") || table.contains("slow"),
            .steps_ahead = table["steps-ahead"].value_or(false),
            .packing = packing_of(table)};
  } catch (const toml::parse_error&) {
    return {};
  }
}

double mean_share(const policy::RecordedWorker& worker) {
  double sum = 0.0;
  for (const policy::RecordedIteration& one : worker.iterations) {
    sum += one.share;
  }
  return sum / static_cast<double>(worker.iterations.size());
}

void add_processors(const nlohmann::json& summary, policy::RecordedRun& run) {
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

// The mean or the median, whichever is less: of a worker that was stopped now and then, the mean
// has its pauses. Parts of phases differ in length, so their median tells nothing. REQUIRES: not
// empty.
double typical_seconds(const std::vector<policy::RecordedIteration>& iterations, bool phases) {
  std::vector<double> seconds;
  seconds.reserve(iterations.size());
  double sum = 0.0;
  for (const policy::RecordedIteration& one : iterations) {
    seconds.push_back(to_seconds(one.end - one.begin));
    sum += seconds.back();
  }
  const double mean = sum / static_cast<double>(seconds.size());
  return phases ? mean : std::min(upper_median(seconds), mean);
}

// A typical iteration less what is computed: what summary.json has of each worker.
void add_communication(const nlohmann::json& summary, policy::RecordedRun& run) {
  const nlohmann::json details = summary.value("workers_detail", nlohmann::json::array());
  for (std::size_t i = 0; i < run.workers.size() && i < details.size(); ++i) {
    policy::RecordedWorker& worker = run.workers[i];
    const auto& detail = details[i];
    if (worker.iterations.empty() || !detail.is_object() ||
        !detail.value("compute_seconds", nlohmann::json()).is_number()) {
      continue;
    }
    // The summary is of all, and what was read may be a sample.
    const nlohmann::json counted = detail.value("iterations", nlohmann::json());
    const double iterations =
        counted.is_number() ? counted.get<double>() : static_cast<double>(worker.iterations.size());
    const double rest = typical_seconds(worker.iterations, run.given.local_steps > 0) -
                        detail["compute_seconds"].get<double>() / std::max(1.0, iterations);
    if (rest > 0.0) {
      worker.communication_seconds = rest;
    }
  }
}

void add_notes(const RunDecisions& log, const Follower& follower, policy::FoundRun& found) {
  if (log.missing() > 0) {
    found.notes.push_back(
        fmt::format("the record begins with server {} of the run: those before kept no decisions",
                    log.missing() + 1));
  }
  if (log.cut_short()) {
    found.notes.emplace_back("the last line of the log is cut off, and is ignored");
  }
  if (!log.gap().empty()) {
    found.notes.push_back(log.gap());
  }
  if (follower.cancelled() > 0) {
    found.notes.push_back(
        fmt::format("{} mini-batches were cancelled; their full runtimes are unknown, so slow "
                    "workers look faster "
                    "than they were",
                    follower.cancelled()));
  }
}

// Adds the whole run's rate, where a sample was read.
void add_measured(const nlohmann::json& summary, policy::FoundRun& found) {
  const nlohmann::json rate = summary.value("examples_per_second", nlohmann::json());
  if (rate.is_number() && rate.get<double>() > 0.0) {
    found.run.measured = rate.get<double>();
  }
  const std::string policy = summary.value("policy", "");
  if (policy.find(", then ") != std::string::npos &&
      found.run.policy == policy.substr(0, policy.find(", then "))) {
    found.notes.push_back("its policy was changed outside the sample (" + policy +
                          "); it is replayed as " + found.run.policy + " from end to end");
  }
}

}  // namespace

std::uint64_t sampled_gradients(std::uint32_t workers) {
  constexpr std::uint64_t kOfAWorker = 500;
  constexpr std::uint64_t kLeast = 20'000;
  constexpr std::uint64_t kMost = 100'000;
  return std::clamp(kOfAWorker * workers, kLeast, kMost);
}

policy::FoundRun read_recorded_run(const std::string& directory,
                                   std::optional<std::uint64_t> most) {
  const auto files = RunDirectory::open(directory);
  RunDecisions log(files);
  const DecisionLogHeader& header = log.header();
  Follower follower(header);
  if (header.goes_on) {  // What the servers before did is not there.
    follower.begin_stretch(header.goes_on->from);
  }
  const bool sampled = follow_log(log, most.value_or(sampled_gradients(header.workers)), follower);
  policy::FoundRun found{.run = follower.take_run(), .notes = {}};
  if (found.run.examples == 0) {
    throw usage_error(files.decisions().string() +
                      ": nothing was committed in this run, so its speed is unknown; it takes a "
                      "run with updates");
  }
  const auto summary = read_summary(files.summary());
  RecordedPolicies policies = follower.policies();
  if (summary) {
    policies.mostly(most_in_force(*summary));
  }
  found.run.policy = policies.policy(found.notes);
  found.run.given.balance =
      policies.mostly_balanced() ? std::optional(header.may_balance) : header.balance;
  found.run.given.local_steps = header.local_steps;
  if (std::filesystem::exists(files.runtime_model())) {
    found.run.given.fitted = std::make_shared<const runtime_model::DeepWeights>(
        read_runtime_model(files.runtime_model()));
  }
  add_notes(log, follower, found);
  const Configured config = configured(files.config());
  if (config.steps_ahead) {
    found.notes.emplace_back(
        "its workers stepped ahead: the record does not tell what they computed before a release, "
        "so they look faster than they were");
  }
  if (!config.packing.empty()) {
    found.notes.push_back("its numbers were packed," + config.packing +
                          ", and every answer keeps their bytes; `outpace predict` knows others");
  }
  if (summary) {
    const bool phases = found.run.given.local_steps > 0;
    if (!phases) {  // How workers share processors within a phase is not known.
      add_processors(*summary, found.run);
    }
    found.run.noise_scale = noise_scale(*summary);
    found.run.reached = reached(*summary);
    const bool simulated = summary->contains("simulated_seconds");
    // The summary's times are of the whole run.
    if (log.gap().empty() && (simulated || !config.delayed)) {
      add_communication(*summary, found.run);
    }
    if (!simulated && found.run.cores == 0) {
      found.notes.push_back(
          std::string(phases ? "processor times do not tell of phases of local steps"
                             : "the record has no processor times") +
          "; if workers share processors, waiting for each other counts as computing");
    }
    if (sampled) {
      add_measured(*summary, found);
    }
  }
  if (sampled) {
    found.notes.push_back(
        fmt::format("a sample of {} gradients of the record was read", follower.gradients()));
  }
  return found;
}

}  // namespace outpace::record
