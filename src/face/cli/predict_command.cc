#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/sweep_plot.h"
#include "job/predict_job.h"
#include "run/whole_file.h"
#include "throughput/measured_table.h"
#include "throughput/placing.h"
#include "throughput/prediction_table.h"
#include "throughput/profile_json.h"
#include "throughput/sweep.h"
#include "throughput/sweep_text.h"

namespace outpace::cli {
namespace {

std::string front_or_none(const std::vector<std::string>& values) {
  return values.empty() ? "" : values.front();
}

struct Answer {
  std::string text;
  std::size_t rows = 0;
  std::size_t refused = 0;
};

Answer answer_of(const std::vector<throughput::Row>& rows,
                 const std::vector<throughput::IterationPrediction>& predictions,
                 std::string text) {
  const auto refused = std::ranges::count_if(
      predictions, [](const auto& prediction) { return !prediction.seconds.has_value(); });
  return {std::move(text), rows.size(), static_cast<std::size_t>(refused)};
}

Answer predict_configurations(const job::PredictJob& job,
                              const throughput::CalibratedProfile& profile) {
  if (!job.configurations.empty()) {
    const auto rows = throughput::read_table(run::whole_file("configurations", job.configurations),
                                             job.configurations);
    const auto predictions = throughput::predict_rows(profile, rows);
    return answer_of(rows,
                     predictions,
                     job.json ? throughput::table_json(rows, predictions)
                              : throughput::table_text(rows, predictions));
  }
  const auto rows = throughput::place_workers(profile,
                                              {.counts = job.workers->counts,
                                               .placing = job.placing,
                                               .policy = front_or_none(job.policies),
                                               .topology = front_or_none(job.topologies)});
  const auto predictions = throughput::predict_rows(profile, rows);
  return answer_of(rows,
                   predictions,
                   job.json ? throughput::throughput_json(rows, predictions)
                            : throughput::table_text(rows, predictions));
}

std::string predict_sweep(const job::PredictJob& job, const throughput::MeasuredProfile& profile) {
  if (const std::string caveat = profile.caveat(); !caveat.empty()) {
    fmt::print(stderr, "outpace: {}\n", caveat);
  }
  const throughput::Sweep sweep = throughput::predict_clusters(profile, job, run::whole_file);
  if (profile.not_measured.empty() && !profile.sums &&
      std::ranges::any_of(job.topologies,
                          [](const std::string& topology) { return topology != "ps"; })) {
    fmt::print(stderr,
               "outpace: the profile has no costs of sums and meetings between workers: those of a "
               "server's messages stand in; `outpace profile` of a build with libtorch measures "
               "them\n");
  }
  for (const auto& [policy, why] : sweep.left_out) {
    fmt::print(stderr, "outpace: left out, for it is not possible: {}\n", why);
  }
  if (!sweep.caveat.empty()) {
    fmt::print(stderr, "outpace: {}\n", sweep.caveat);
  }
  if (!job.plot.empty()) {
    run::write_whole_file("plot", job.plot, sweep_plot(sweep, profile));
  }
  if (!job.trace.empty()) {
    run::write_whole_file(
        "trace", job.trace, throughput::trace_of_operations(profile, job, run::whole_file));
  }
  return job.json ? throughput::sweep_json(sweep) : throughput::sweep_table(sweep);
}

int predict(job::PredictJob job, const job::OptionList& chosen) {
  const std::string text = run::whole_file("profile", job.profile);
  const nlohmann::json parsed = throughput::parse_profile(text, job.profile);
  const job::ProfileKind kind =
      job::profile_kind(throughput::kind_of(parsed, job.profile), job.profile);
  check(chosen, job, kind);
  if (kind == job::ProfileKind::kMeasured) {
    fit_gossip(chosen, job.topologies, job.cluster);
  }
  const Answer answer =
      kind == job::ProfileKind::kCalibrated
          ? predict_configurations(job, throughput::calibrated_profile(parsed, job.profile))
          : Answer{predict_sweep(job, throughput::MeasuredProfile::parse(text, job.profile))};
  fmt::print("{}", answer.text);
  std::fflush(stdout);
  if (answer.refused > 0) {
    throw usage_error(fmt::format("{} of {} rows refused: {} beyond what was calibrated",
                                  answer.refused,
                                  answer.rows,
                                  answer.refused == 1 ? "it is" : "they are"));
  }
  return 0;
}

}  // namespace

Run add_predict(job::OptionList& list) {
  auto job = std::make_shared<job::PredictJob>();
  declare(list, *job);
  return [job](const job::OptionList& chosen) { return predict(*job, chosen); };
}

}  // namespace outpace::cli
