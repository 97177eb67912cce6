#include "throughput/whatif.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"
#include "policy/catalogue.h"
#include "policy/progress.h"
#include "policy/switch_spec.h"
#include "sim/cluster.h"
#include "sim/draw.h"
#include "throughput/columns.h"
#include "throughput/own_time.h"
#include "throughput/quantile.h"

namespace outpace::throughput {
namespace {

constexpr std::uint32_t kBlocks = 10;
constexpr double kRuntimesInABlock = 4.0;  // At least, of the slowest worker.
constexpr std::uint32_t kNamedMost = 8;    // Workers that time is lost to.
// Examples of the data set: enough that no epoch ends.
constexpr std::uint64_t kExamples = std::uint64_t{1} << 40U;

// A simulation that does far more than the record has, for an iteration of it took almost no time,
// ends early; a rate is as good then.
std::uint64_t iterations_most(std::uint64_t recorded, std::size_t workers, std::size_t seats) {
  const std::uint64_t expected = recorded * seats / workers + 1;
  return std::min(1000 + 200 * expected, std::max<std::uint64_t>(2'000'000, 4 * expected));
}

std::uint64_t gradients_of(const policy::RecordedRun& run) {
  std::uint64_t gradients = 0;
  for (const policy::RecordedWorker& worker : run.workers) {
    gradients += worker.iterations.size();
  }
  return gradients;
}

void check_policy(const std::string& text,
                  std::uint32_t workers,
                  const policy::PolicyInputs& given) {
  const Spec spec = Spec::parse(text);
  // What `auto` needs of gradients is their noise: see check_noise().
  if (policy::waits_for_learning(spec) && spec.name != policy::kAuto) {
    throw usage_error("policy '" + text +
                      "' needs a loss or an accuracy, which nobody knows of a run that was not; "
                      "name a policy, or let a switch wait for updates or seconds");
  }
  (void)policy::make_policy(spec, workers, given);
}

// REQUIRES: the policy is not the run's own.
void check_noise(const std::string& text, const policy::RecordedRun& run) {
  const auto workers = static_cast<std::uint32_t>(run.workers.size());
  if (!run.noise_scale &&
      policy::make_policy(Spec::parse(text), workers, run.given)->asks_for_norms()) {
    throw usage_error("policy '" + text +
                      "' goes by the gradients' noise, which this run did not measure; a run with "
                      "--policy auto or dynamic:objective=progress measures it");
  }
}

// A phase of local steps is whole mini-batches.
void check_phases(const policy::RecordedRun& run) {
  const std::uint32_t steps = run.given.local_steps;
  if (steps > 0 && run.batch % steps != 0) {
    throw usage_error("decisions.jsonl: a phase of " + std::to_string(run.batch) +
                      " examples is not a multiple of its " + std::to_string(steps) +
                      " local steps; give a record that outpace wrote");
  }
}

std::vector<Blocks> draw_blocks(const policy::RecordedRun& run,
                                const std::vector<Column>& columns,
                                const WhatIf::Options& options) {
  const Duration length = run.last_commit.time_since_epoch();
  double slowest = 0.0;
  for (const Column& column : columns) {
    slowest = std::max(slowest, mean_own(column) + column.processor_seconds);
  }
  const double fit = to_seconds(length) / (kRuntimesInABlock * std::max(slowest, 1e-9));
  const auto count = static_cast<std::uint32_t>(std::clamp(fit, 1.0, double{kBlocks}));
  std::vector<Blocks> all{{.length = length, .order = {0}}};
  if (count < 2) {
    return all;
  }
  all.reserve(1 + options.resamplings);
  for (std::uint32_t i = 0; i < options.resamplings; ++i) {
    Rng rng(options.seed, i);
    Blocks drawn{.length = length, .order = std::vector<std::uint32_t>(count)};
    for (std::uint32_t& block : drawn.order) {
      block = static_cast<std::uint32_t>(rng.below(count));
    }
    all.push_back(std::move(drawn));
  }
  return all;
}

// What a worker steps with makes no difference to when it is done.
std::optional<server::LocalSteps> phases_of(std::uint32_t steps) {
  return steps > 0
             ? std::optional(server::LocalSteps{.most = steps, .optimizer = "sgd", .schedule = {}})
             : std::nullopt;
}

std::string number_of_workers(std::uint32_t workers) {
  return std::to_string(workers) + (workers == 1 ? " worker" : " workers");
}

}  // namespace

WhatIf::WhatIf(const policy::RecordedRun& run, const Options& options)
    : run_(run), seed_(options.seed), messages_(message_seconds(run)) {
  check_phases(run_);
  if (gradients_of(run_) == 0 || run_.examples == 0 || run_.last_commit <= Time{}) {
    throw usage_error(
        "nothing was committed in this run: there is nothing to be faster than; a "
        "record of some seconds was expected");
  }
  columns_ = recorded_columns(run_);
  for (std::uint32_t i = 0; i < count(); ++i) {
    if (columns_[i].begins.empty()) {
      unknown_.push_back(WorkerId{i});
    }
  }
  blocks_ = draw_blocks(run_, columns_, options);
  // In the order of Pace.
  const std::vector<Column> recorded = columns_;
  for (const auto& more : {median_columns(recorded, MedianOf::kAll),
                           median_columns(recorded, MedianOf::kOthers),
                           faster_link_columns(run_, recorded)}) {
    columns_.insert(columns_.end(), more.begin(), more.end());
  }
  for (Column& column : columns_) {
    column.level = levels_of(column.own);
  }
  check_policy(run_.policy, count(), run_.given);
  const Scenario was = all("as it was", Pace::kRecorded);
  as_it_was_.reserve(blocks_.size());
  for (const Blocks& blocks : blocks_) {
    as_it_was_.push_back(simulate(was, blocks));
  }
  if (as_it_was_.front().examples <= 0.0) {
    throw usage_error(
        "the run cannot be replayed: with what its record has of the workers, policy " +
        run_.policy + " commits nothing");
  }
}

std::uint32_t WhatIf::column(Pace pace, std::uint32_t worker) const {
  return static_cast<std::uint32_t>(pace) * count() + worker;
}

WhatIf::Scenario WhatIf::all(const std::string& question, Pace pace) const {
  Scenario scenario{.question = question, .policy = run_.policy, .seats = {}};
  scenario.seats.reserve(count());
  for (std::uint32_t worker = 0; worker < count(); ++worker) {
    scenario.seats.push_back({.column = column(pace, worker)});
  }
  return scenario;
}

double WhatIf::progress_of(const server::Statistics& done) const {
  if (!run_.noise_scale || run_.given.local_steps > 0) {
    return 0.0;
  }
  std::vector<policy::Progress::Stale> by_staleness;
  for (std::size_t staleness = 0; staleness < done.staleness.size(); ++staleness) {
    by_staleness.push_back({.staleness = staleness, .gradients = done.staleness[staleness]});
  }
  const double gradients = static_cast<double>(done.gradients_applied);
  const double mixed = policy::Progress::mixed_gradients(by_staleness, done.updates);
  return gradients / to_seconds(done.last_commit) / (*run_.noise_scale / run_.batch + mixed);
}

WhatIf::Rates WhatIf::simulate(const Scenario& scenario, const Blocks& blocks) const {
  std::vector<Seat> seats = scenario.seats;
  const std::uint32_t steps = run_.given.local_steps;
  sim::ClusterOptions options{
      .policy = Spec::parse(scenario.policy),
      .policy_inputs = run_.given,
      .coordinator = {.workers = static_cast<std::uint32_t>(seats.size()),
                      .batch = run_.batch / std::max(1U, steps),
                      .local_steps = phases_of(steps),
                      .examples = kExamples,
                      .seed = seed_,
                      .limits = {.iterations = iterations_most(
                                     gradients_of(run_), run_.workers.size(), seats.size()),
                                 .seconds = run_.last_commit.time_since_epoch() + Duration{1}}},
      .shard = {.optimizer = Spec::parse("sgd")},
      .target = {},
      .latency = from_seconds(0.5 * messages_ / scenario.link_speed)};
  if (run_.noise_scale) {  // It stands for the whole run.
    options.noise_scale = *run_.noise_scale / run_.batch;
  }
  for (std::uint32_t i = 0; i < seats.size(); ++i) {
    const std::uint32_t worker = seats[i].column % count();
    const auto crash = [&](Time at, std::optional<Duration> lasts) {
      options.faults.push_back({.kind = sim::Fault::Kind::kCrash,
                                .worker = WorkerId{i},
                                .at = std::max(at, Time{Duration{1}}),
                                .lasts = lasts});
    };
    if (columns_[seats[i].column].begins.empty()) {
      crash(Time{}, std::nullopt);
      // It sits somewhere until it is gone.
      const auto filled = std::find_if(columns_.begin(), columns_.end(), [](const Column& column) {
        return !column.begins.empty();
      });
      seats[i].column = static_cast<std::uint32_t>(filled - columns_.begin());
      continue;
    }
    for (const policy::Absence& absence : run_.workers[worker].absences) {
      if (absence.until) {
        crash(absence.from, *absence.until - absence.from);
      } else {
        crash(absence.from, std::nullopt);
      }
    }
  }
  RecordedTiming timing(columns_,
                        std::move(seats),
                        blocks,
                        {.cores = run_.cores,
                         .hand_out = kHandOutShare * run_.server_seconds,
                         .take_in = (1.0 - kHandOutShare) * run_.server_seconds},
                        steps);
  sim::Cluster cluster(options, timing, nullptr, nullptr, nullptr);
  const server::Statistics done = cluster.run().statistics;
  if (done.last_commit <= Time{} || done.updates == 0) {
    return {};
  }
  return {.examples = static_cast<double>(done.examples_applied) / to_seconds(done.last_commit),
          .progress = progress_of(done)};
}

void WhatIf::add_progress(double progress, Answer& answer) const {
  if (!(as_it_was_.front().progress > 0.0 && progress > 0.0)) {
    return;
  }
  answer.progress = progress / as_it_was_.front().progress;
  if (run_.reached) {
    answer.seconds_to_reached = run_.reached->seconds / *answer.progress;
  }
}

Answer WhatIf::answer(const Scenario& scenario) const {
  Answer answer{.question = scenario.question,
                .policy = scenario.policy,
                .workers = static_cast<std::uint32_t>(scenario.seats.size())};
  const Rates rates = simulate(scenario, blocks_.front());
  answer.ratio = rates.examples / as_it_was_.front().examples;
  add_progress(rates.progress, answer);
  answer.examples_per_second = run_.examples_per_second() * answer.ratio;
  std::vector<double> ratios;
  ratios.reserve(blocks_.size());
  for (std::size_t i = 1; i < blocks_.size(); ++i) {
    if (as_it_was_[i].examples > 0.0) {
      ratios.push_back(simulate(scenario, blocks_[i]).examples / as_it_was_[i].examples);
    }
  }
  if (ratios.size() > 1) {
    // The answer itself is one more draw, of the record as it is.
    answer.low = std::min(answer.ratio, quantile(ratios, 0.05));
    answer.high = std::max(answer.ratio, quantile(ratios, 0.95));
  }
  return answer;
}

Answer WhatIf::as_it_was() const {
  Answer was{.question = "as it was", .policy = run_.policy, .workers = count()};
  was.examples_per_second = run_.examples_per_second();
  add_progress(as_it_was_.front().progress, was);
  return was;
}

Answer WhatIf::without(std::uint32_t worker) const {
  if (worker >= count()) {
    throw usage_error("--without " + std::to_string(worker) + ": the run had " +
                      number_of_workers(count()) + ", 0 to " + std::to_string(count() - 1));
  }
  if (count() == 1) {
    throw usage_error("--without 0: the run had this worker alone");
  }
  Scenario scenario = all("without worker " + std::to_string(worker), Pace::kRecorded);
  scenario.seats.erase(scenario.seats.begin() + worker);
  check_policy(run_.policy, count() - 1, run_.given);
  return answer(scenario);
}

Answer WhatIf::at_the_median() const {
  return answer(all("all at the median", Pace::kMedian));
}

std::optional<Answer> WhatIf::with_a_faster_link() const {
  const bool known = std::any_of(
      run_.workers.begin(), run_.workers.end(), [](const policy::RecordedWorker& worker) {
        return worker.communication_seconds.value_or(0.0) > 0.0;
      });
  if (!known) {
    return std::nullopt;
  }
  Scenario scenario = all("link twice as fast", Pace::kFasterLink);
  scenario.link_speed = 2.0;
  return answer(scenario);
}

Answer WhatIf::under(const std::string& policy) const {
  check_policy(policy, count(), run_.given);
  check_noise(policy, run_);
  Scenario scenario = all("policy " + policy, Pace::kRecorded);
  scenario.policy = policy;
  return answer(scenario);
}

Answer WhatIf::with_workers(std::uint32_t workers) const {
  if (workers < 1 || workers > kWhatIfWorkersMax) {
    throw usage_error("--workers takes 1 to " + std::to_string(kWhatIfWorkersMax));
  }
  check_policy(run_.policy, workers, run_.given);
  Scenario scenario{
      .question = "with " + number_of_workers(workers), .policy = run_.policy, .seats = {}};
  scenario.seats.reserve(workers);
  const auto length = static_cast<std::uint64_t>(run_.last_commit.time_since_epoch().count());
  for (std::uint32_t i = 0; i < workers; ++i) {
    const std::uint32_t copy = i / count();
    const auto shift = copy == 0
                           ? Duration{}
                           : Duration{static_cast<std::int64_t>(sim::key(seed_, copy) % length)};
    scenario.seats.push_back({.column = column(Pace::kRecorded, i % count()), .shift = shift});
  }
  return answer(scenario);
}

double WhatIf::seconds_an_example(const Scenario& scenario) const {
  return 1.0 / std::max(simulate(scenario, blocks_.front()).examples, 1e-12);
}

std::vector<LostTo> WhatIf::lost_to_workers() const {
  std::vector<std::uint32_t> slowest(count());
  std::iota(slowest.begin(), slowest.end(), 0U);
  std::stable_sort(slowest.begin(), slowest.end(), [this](std::uint32_t a, std::uint32_t b) {
    return mean_own(columns_[a]) > mean_own(columns_[b]);
  });
  slowest.resize(std::min(count(), kNamedMost));
  std::sort(slowest.begin(), slowest.end());
  const Scenario was = all("", Pace::kRecorded);
  // A worker as fast as the others keeps its runtimes: where half of them are slow, their median
  // would make it slower.
  Scenario medians = was;
  for (std::uint32_t worker = 0; worker < count(); ++worker) {
    const std::uint32_t median = column(Pace::kMedianOfOthers, worker);
    if (mean_own(columns_[median]) < mean_own(columns_[worker])) {
      medians.seats[worker].column = median;
    }
  }
  const double before = seconds_an_example(was);
  const double after = seconds_an_example(medians);
  std::vector<LostTo> lost;
  lost.reserve(slowest.size());
  for (const std::uint32_t worker : slowest) {
    Scenario first = was;
    first.seats[worker] = medians.seats[worker];
    Scenario last = medians;
    last.seats[worker] = was.seats[worker];
    const double alone = (before - seconds_an_example(first)) / before;
    const double still = (seconds_an_example(last) - after) / before;
    lost.push_back({.worker = WorkerId{worker}, .share = 0.5 * (alone + still), .alone = alone});
  }
  return lost;
}

}  // namespace outpace::throughput
