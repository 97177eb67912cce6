#include "cli/whatif_report.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/number_text.h"
#include "base/spec.h"
#include "plot/bars.h"

namespace outpace::cli {

using throughput::LostTo;
using throughput::WhatIf;

namespace {

constexpr double kStraggles = 0.05;  // Share of the run's time that is lost to it.
constexpr double kNamed = 0.005;
constexpr std::size_t kBarWidth = 30;

// Leaves out a question that makes no sense for this run, such as a cutoff above the workers that
// are left.
template <typename Ask>
void ask_if_possible(Ask ask, std::vector<throughput::Answer>& answers) {
  try {
    answers.push_back(ask());
  } catch (const Error&) {
    return;
  }
}

void ask_default(const WhatIf& whatif,
                 const policy::RecordedRun& run,
                 const std::vector<LostTo>& lost,
                 std::vector<throughput::Answer>& answers) {
  const auto workers = static_cast<std::uint32_t>(run.workers.size());
  std::uint32_t stragglers = 0;
  for (const LostTo& one : lost) {
    if (one.share >= kStraggles) {
      ++stragglers;
      const auto worker = static_cast<std::uint32_t>(index(one.worker));
      ask_if_possible([&] { return whatif.without(worker); }, answers);
    }
  }
  if (auto faster = whatif.with_a_faster_link()) {
    answers.push_back(std::move(*faster));
  }
  const std::uint32_t cutoff = workers - std::clamp(stragglers, 1U, std::max(workers / 2, 1U));
  const std::string running = Spec::parse(run.policy).name;
  for (const std::string& policy :
       {std::string("sync"), "backup:cutoff=" + std::to_string(cutoff), std::string("async")}) {
    if (Spec::parse(policy).name != running) {
      ask_if_possible([&] { return whatif.under(policy); }, answers);
    }
  }
  ask_if_possible([&] { return whatif.with_workers(2 * workers); }, answers);
}

// What the job asks; empty if it asks nothing.
std::vector<throughput::Answer> ask_job(const WhatIf& whatif, const job::WhatifJob& job) {
  std::vector<throughput::Answer> asked;
  for (const std::uint32_t worker : job.without) {
    asked.push_back(whatif.without(worker));
  }
  for (const std::string& policy : job.policies) {
    asked.push_back(whatif.under(policy));
  }
  for (const std::uint32_t workers : job.workers) {
    asked.push_back(whatif.with_workers(workers));
  }
  return asked;
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::vector<plot::Bar> bars_of(const WhatIfReport& report) {
  std::vector<plot::Bar> bars;
  bars.reserve(report.answers.size());
  for (const throughput::Answer& answer : report.answers) {
    plot::Bar bar{.name = answer.question,
                  .value = answer.ratio,
                  .words = fmt::format("{:.2f} x", answer.ratio)};
    if (answer.low && answer.high) {
      bar.interval = {.low = *answer.low, .high = *answer.high};
      bar.words += fmt::format(" ({:.2f} to {:.2f})", *answer.low, *answer.high);
    }
    bar.words += ", " + shown::plain_rate(answer.examples_per_second) + "/s";
    if (answer.progress) {
      bar.words += fmt::format("; progress {:.2f} x", *answer.progress);
    }
    if (answer.seconds_to_reached) {
      bar.words += ", " + report.reached + " after " + shown::elapsed(*answer.seconds_to_reached);
    }
    bar.emphasised = answer.question == "as it was";
    bars.push_back(std::move(bar));
  }
  return bars;
}

// The slowest worker comes first: beside it, what chance takes by the others is little.
std::string lost_in_words(std::vector<LostTo> lost) {
  std::ranges::stable_sort(lost, std::ranges::greater(), &LostTo::share);
  std::string words;
  for (const LostTo& one : lost) {
    if (one.share >= kNamed) {
      words += fmt::format("{}{:.1f} % to worker {}",
                           words.empty() ? "" : ", ",
                           100.0 * one.share,
                           index(one.worker));
    }
  }
  return words.empty() ? "no time is lost to any worker being slower than the others"
                       : "time lost: " + words;
}

// The run is named as `name`.
std::string headline(const std::string& name, const WhatIfReport& report) {
  const throughput::Answer& was = report.answers.front();
  return fmt::format(
      "{}: {} on {} worker{}", name, was.policy, was.workers, was.workers == 1 ? "" : "s");
}

}  // namespace

WhatIfReport report_whatif(policy::FoundRun found, const job::WhatifJob& job) {
  const WhatIf whatif(found.run, {.seed = job.seed, .resamplings = job.resamplings});
  WhatIfReport report{.run = job.run,
                      .measured = found.run.examples_per_second(),
                      .replayed = whatif.replayed_examples_per_second(),
                      .reached = found.run.reached ? found.run.reached->what : "",
                      .answers = {whatif.as_it_was()},
                      .lost = {},
                      .notes = std::move(found.notes)};
  for (const WorkerId worker : whatif.unknown()) {
    report.notes.push_back(
        fmt::format("worker {} finished nothing: its runtimes are unknown, and it counts as absent",
                    index(worker)));
  }
  // First, so that a wrong question is refused at once.
  const std::vector<throughput::Answer> asked = ask_job(whatif, job);
  report.lost = whatif.lost_to_workers();
  report.answers.push_back(whatif.at_the_median());
  if (asked.empty()) {
    ask_default(whatif, found.run, report.lost, report.answers);
  }
  report.answers.insert(report.answers.end(), asked.begin(), asked.end());
  return report;
}

std::string report_json(const WhatIfReport& report) {
  nlohmann::ordered_json questions = nlohmann::ordered_json::array();
  for (const throughput::Answer& answer : report.answers) {
    questions.push_back({{"question", answer.question},
                         {"policy", answer.policy},
                         {"workers", answer.workers},
                         {"examples_per_second", answer.examples_per_second},
                         {"ratio", answer.ratio},
                         {"progress", or_null(answer.progress)},
                         {"seconds_to_reached", or_null(answer.seconds_to_reached)},
                         {"low", or_null(answer.low)},
                         {"high", or_null(answer.high)}});
  }
  nlohmann::ordered_json lost = nlohmann::ordered_json::array();
  for (const LostTo& one : report.lost) {
    lost.push_back({{"worker", index(one.worker)}, {"share", one.share}, {"alone", one.alone}});
  }
  const nlohmann::ordered_json all{
      {"run", report.run},
      {"policy", report.answers.front().policy},
      {"workers", report.answers.front().workers},
      {"measured_examples_per_second", report.measured},
      {"replayed_examples_per_second", report.replayed},
      {"reached",
       report.reached.empty() ? nlohmann::ordered_json(nullptr)
                              : nlohmann::ordered_json(report.reached)},
      {"questions", std::move(questions)},
      {"lost_to_workers", std::move(lost)},
      {"notes", report.notes}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string report_text(const WhatIfReport& report) {
  std::string text = fmt::format("{}: {:.1f} examples/s measured, {:.1f} replayed ({:+.1f} %)\n\n",
                                 headline(report.run, report),
                                 report.measured,
                                 report.replayed,
                                 100.0 * (report.replayed / report.measured - 1.0));
  text += plot::bar_lines(bars_of(report), kBarWidth) + "\n";
  text += lost_in_words(report.lost) + "\n";
  for (const std::string& note : report.notes) {
    text += "note: " + note + "\n";
  }
  return text;
}

std::string report_plot(const WhatIfReport& report) {
  const std::string name = report.run.substr(report.run.rfind('/') + 1);
  return plot::bar_plot_of(
      {.title = fmt::format("What if? {}", headline(name.empty() ? report.run : name, report)),
       .unit = "times as many examples per second as the run",
       .bars = bars_of(report),
       .notes = {lost_in_words(report.lost),
                 fmt::format("as it was: {:.1f} examples/s measured, {:.1f} replayed; lines: nine "
                             "in ten resamplings of the record's time",
                             report.measured,
                             report.replayed)}});
}

}  // namespace outpace::cli
