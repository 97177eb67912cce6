#include "record/summary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "record/output_file.h"
#include "record/quantiles.h"

namespace outpace::record {
namespace {

using nlohmann::ordered_json;

ordered_json number(std::optional<double> value) {
  return value && std::isfinite(*value) ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json ratio(std::uint64_t a, double b) {
  return number(b > 0.0 ? std::optional(static_cast<double>(a) / b) : std::nullopt);
}

// The histogram of staleness, with the values that occurred: {"0": 12, "1": 40}.
ordered_json histogram(std::span<const std::uint64_t> counts) {
  ordered_json object = ordered_json::object();
  for (std::size_t tau = 0; tau < counts.size(); ++tau) {
    if (counts[tau] > 0) {
      object[std::to_string(tau)] = counts[tau];
    }
  }
  return object;
}

ordered_json staleness(std::span<const std::uint64_t> counts) {
  const auto max = quantile_of_counts(counts, 1.0);
  const auto p99 = quantile_of_counts(counts, 0.99);
  return {{"mean", number(mean_of_counts(counts))},
          {"max", max ? ordered_json(*max) : ordered_json(nullptr)},
          {"p99", p99 ? ordered_json(*p99) : ordered_json(nullptr)},
          {"histogram", histogram(counts)}};
}

ordered_json worker_detail(std::size_t worker,
                           const server::WorkerStatistics& counts,
                           std::uint64_t examples_applied) {
  return {
      {"worker", worker},
      {"host", counts.host},
      {"iterations", counts.iterations()},
      {"accepted", counts.accepted},
      {"dropped", counts.dropped},
      {"cancelled", counts.cancelled},
      {"refused", counts.refused},
      {"filtered", counts.filtered},
      {"filtered_too_often", counts.too_often},
      {"partial", counts.partial},
      {"lost", counts.lost},
      {"stalled", counts.stalls},
      {"median_runtime", number(quantile(counts.runtimes, 0.5))},
      {"p99_runtime", number(quantile(counts.runtimes, 0.99))},
      {"compute_seconds", number(counts.compute_seconds)},
      {"examples", counts.examples_applied},
      {"share_of_examples", ratio(counts.examples_applied, static_cast<double>(examples_applied))},
      {"longest_in_vain", counts.starved},
      {"incarnations", counts.incarnations}};
}

ordered_json carried(const protocol::Carried& carried) {
  return {
      {"payloads", carried.payloads}, {"bytes", carried.bytes}, {"ratio", number(carried.ratio())}};
}

ordered_json evaluation_detail(const server::Evaluation& evaluation) {
  ordered_json json{{"version", count(evaluation.version)},
                    {"seconds", to_seconds(evaluation.committed)},
                    {"examples", evaluation.examples}};
  if (evaluation.accuracy) {
    json["accuracy"] = number(*evaluation.accuracy);
  }
  if (evaluation.loss) {
    json["loss"] = number(*evaluation.loss);
  }
  for (const protocol::NamedValue& value : evaluation.values) {
    json[value.name] = value.value;
  }
  return json;
}

ordered_json to_json(const policy::Expectations& found) {
  ordered_json json{{"looks", found.looks}, {"regret", number(found.regret)}};
  json["candidates"] = ordered_json::array();
  for (const policy::Expectations::Candidate& candidate : found.of) {
    json["candidates"].push_back(
        {{"policy", candidate.policy},
         {"expected_progress", number(candidate.expected)},
         {"measured_progress",
          candidate.looks == 0 ? ordered_json(nullptr) : number(candidate.measured)},
         {"looks", candidate.looks}});
  }
  return json;
}

}  // namespace

ordered_json to_json(const Summary& summary) {
  const server::Statistics& counts = summary.statistics;
  ordered_json json{
      {"topology", summary.topology},
      {"policy", summary.policy},
      {"balance_most", number(summary.balance_most)},
      {"staleness_rule", summary.staleness},
      {"optimizer", summary.optimizer},
      {"lr", number(summary.lr)},
      {"local_steps",
       summary.local_steps ? ordered_json(*summary.local_steps) : ordered_json(nullptr)},
      {"outer_optimizer",
       summary.local_steps ? ordered_json(summary.outer_optimizer) : ordered_json(nullptr)},
      {"filter", summary.filter},
      {"network", summary.network},
      {"data", summary.data},
      {"workers", summary.workers},
      {"why_ended", summary.why_ended},
      {"seconds", number(summary.seconds)},
      {"updates", counts.updates},
      {"examples", counts.examples_applied},
      {"gradients_applied", counts.gradients_applied},
      {"gradients_dropped", counts.gradients_dropped},
      {"gradients_cancelled", counts.gradients_cancelled},
      {"gradients_refused", counts.gradients_refused},
      {"examples_left_out", counts.examples_left_out},
      {"gradients_filtered", counts.gradients_filtered},
      {"gradients_clipped", counts.clipped},
      {"examples_per_second", ratio(counts.examples_applied, summary.seconds)},
      {"gradients_per_second", ratio(counts.gradients_applied, summary.seconds)},
      {"target_accuracy", number(summary.target)},
      {"seconds_to_target", number(summary.seconds_to_target)},
      {"final_accuracy", number(summary.final_accuracy)},
      {"final_loss", number(summary.final_loss)},
      {"last_accuracy",
       summary.evaluations.empty() ? ordered_json(nullptr)
                                   : number(summary.evaluations.back().accuracy)},
      {"last_accuracy_version",
       summary.evaluations.empty() ? ordered_json(nullptr)
                                   : ordered_json(count(summary.evaluations.back().version))},
      {"worst_replica_accuracy", number(summary.worst_replica_accuracy)},
      {"training_loss", number(counts.training_loss)},
      {"gradient_noise_scale", number(counts.gradient_noise_scale)},
      {"choice", counts.choice ? to_json(*counts.choice) : ordered_json(nullptr)},
      {"staleness", staleness(counts.staleness)},
      {"epochs_complete", counts.epochs_complete},
      {"examples_used_per_epoch_min", counts.examples_used_per_epoch_min},
      {"examples_used_per_epoch_max", counts.examples_used_per_epoch_max}};
  json["traffic"] = {{"gradients", carried(counts.traffic.gradients)},
                     {"weights", carried(counts.traffic.weights)}};
  json["processors"] = summary.processors ? to_json(*summary.processors) : ordered_json(nullptr);
  json["workers_detail"] = ordered_json::array();
  for (std::size_t worker = 0; worker < counts.workers.size(); ++worker) {
    json["workers_detail"].push_back(
        worker_detail(worker, counts.workers[worker], counts.examples_applied));
    const auto died = summary.died.find(worker);
    json["workers_detail"].back()["died_at_update"] =
        died == summary.died.end() ? ordered_json(nullptr) : ordered_json(died->second);
  }
  json["evaluations"] = ordered_json::array();
  for (const server::Evaluation& evaluation : summary.evaluations) {
    json["evaluations"].push_back(evaluation_detail(evaluation));
  }
  return json;
}

void write_summary(const std::filesystem::path& path, const Summary& summary) {
  // A host's name may have any bytes.
  write_atomically(
      path, to_json(summary).dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace outpace::record
