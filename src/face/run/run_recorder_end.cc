// The end of a run: its weights, its summary, its page.
// Tested by test/program/result_test.py (class Server).

#include <cmath>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "job/run_job.h"
#include "record/output_file.h"
#include "record/safetensors.h"
#include "run/run_recorder.h"
#include "server/script.h"

namespace outpace::run {
namespace {

// Where the weights may go, the best place first. A name elsewhere says whose they are.
std::vector<std::filesystem::path> places_for_weights(const record::RunDirectory& directory) {
  std::vector<std::filesystem::path> places{directory.weights()};
  const std::string run = directory.path().filename().string();
  const std::string name =
      "outpace-weights-" + run + "-" + std::to_string(::getpid()) + ".safetensors";
  std::error_code failed;
  for (const std::filesystem::path& folder :
       {std::filesystem::current_path(failed), std::filesystem::temp_directory_path(failed)}) {
    if (!folder.empty()) {
      places.push_back(folder / name);
    }
  }
  return places;
}

}  // namespace

void RunRecorder::keep_weights(const protocol::Manifest& manifest,
                               std::span<const float> weights,
                               std::uint64_t version) {
  weights_kept_ = true;
  for (const std::filesystem::path& place : places_for_weights(directory_)) {
    try {
      record::write_safetensors(
          place,
          manifest,
          weights,
          {{"format", "pt"}, {"network", job_.network}, {"version", std::to_string(version)}});
      if (place != directory_.weights()) {
        say("the weights are in " + place.string());
      }
      weights_lost_.clear();
      return;
    } catch (const std::exception& error) {
      say(error.what());
      weights_lost_ = std::string("the weights are lost: ") + error.what();
    }
  }
}

namespace {

// Whose optimizer makes the steps, and where.
void tell_steps(const job::Training& training,
                const protocol::Script& script,
                record::Summary& summary) {
  if (training.local_steps) {
    summary.local_steps = training.local_steps;
    summary.outer_optimizer = job::outer_optimizer_in_force(training);
    if (training.optimizer.text == job::kScriptOptimizer) {
      summary.optimizer = "the script's";
      summary.lr = NAN;
    }
  }
  if (server::brings_optimizer(script)) {
    summary.optimizer = server::optimizer_in_words(script);
    summary.lr = script.groups.front().rate;
  }
}

}  // namespace

RunEnd RunRecorder::finish(const live::RunResult& result, std::optional<double> worst_replica) {
  terminal_.clear();
  checkpoints_.reset();
  std::error_code ignored;
  std::filesystem::remove(directory_.control(), ignored);
  if (decisions_) {
    decisions_->close();
  }
  if (peers_) {
    peers_->close();
  }
  metrics_.close();
  if (trace_) {
    trace_->close();
  }
  record::Summary summary{.topology = job::Value<job::Topology>::text(job_.topology),
                          .policy = policies_,
                          .staleness = job_.topology == job::Topology::kServer
                                           ? job::staleness_in_force(job_.training)
                                           : "none",
                          .optimizer = job::without_script(job_.training).optimizer.text,
                          .lr = job::rate_in_force(job_.training),
                          .filter = job_.training.filter.text,
                          .network = job_.network,
                          .data = job_.data,
                          .workers = job_.training.workers,
                          .seconds = to_seconds(result.statistics.last_commit),
                          .statistics = result.statistics,
                          .evaluations = result.evaluations,
                          .target = job_.training.target_accuracy,
                          .worst_replica_accuracy = worst_replica,
                          .died = deaths_.all(),
                          .why_ended = result.why,
                          .processors = processors_.use()};
  if (const auto balance = job::balance_in_force(job_.training)) {
    summary.balance_most = balance->most;
  }
  tell_steps(job_.training, result.script, summary);
  if (result.reached_target) {
    summary.seconds_to_target = to_seconds(*result.reached_target);
  }
  if (!result.evaluations.empty() &&
      count(result.evaluations.back().version) == result.statistics.updates) {
    summary.final_accuracy = result.evaluations.back().accuracy;
    summary.final_loss = result.evaluations.back().loss;
  }
  if (!weights_kept_ && !result.weights.empty()) {
    keep_weights(result.manifest, result.weights, result.statistics.updates);
  }
  runtimes_.close(result.statistics.workers);
  const bool lost = !weights_lost_.empty();
  summary.why_ended += lost ? "; " + weights_lost_ : "";
  attempt([&] { record::write_summary(directory_.summary(), summary); });
  std::string why = summary.why_ended;
  log_->info("ended: {}", why);
  if (shown_) {
    shown_->ended(why);
    attempt([&] { record::write_atomically(directory_.page(), shown_->page_record()); });
  }
  return {.code = lost && result.code == ExitCode::kDone ? ExitCode::kFailure : result.code,
          .why = std::move(why),
          .summary = std::move(summary),
          .directory = directory_.path().string()};
}

}  // namespace outpace::run
