#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/spec.h"
#include "cli/commands.h"
#include "cli/recorded_run.h"
#include "plot/bars.h"
#include "record/number_text.h"
#include "throughput/whatif.h"

namespace outpace::cli {
namespace {

using throughput::Answer;
using throughput::LostTo;
using throughput::WhatIf;

constexpr double kStraggles = 0.05;  // Of the run's time is lost to it.
constexpr double kNamed = 0.005;
constexpr std::size_t kBarWidth = 30;

struct WhatIfOptions {
  std::string run;
  std::vector<std::uint32_t> without;
  std::vector<std::string> policies;
  std::vector<std::uint32_t> workers;
  std::uint64_t seed = 1;
  bool json = false;
  std::string plot;
};

struct Found {
  double measured = 0.0;
  double replayed = 0.0;
  std::vector<Answer> answers;  // The first is the run as it was.
  std::vector<LostTo> lost;
  std::vector<std::string> notes;
};

// Nothing where the question makes no sense of this run: a cutoff above the workers that are left.
template <typename Ask>
void ask_if_possible(Ask ask, std::vector<Answer>& answers) {
  try {
    answers.push_back(ask());
  } catch (const Error&) {
    return;
  }
}

void ask_default(const WhatIf& whatif,
                 const throughput::RecordedRun& run,
                 const std::vector<LostTo>& lost,
                 std::vector<Answer>& answers) {
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

Found find(const WhatIfOptions& options) {
  FoundRun record = read_recorded_run(options.run);
  const WhatIf whatif(record.run, {.seed = options.seed});
  Found found{.measured = record.run.examples_per_second(),
              .replayed = whatif.replayed_examples_per_second(),
              .answers = {whatif.as_it_was()},
              .lost = {},
              .notes = std::move(record.notes)};
  for (const WorkerId worker : whatif.unknown()) {
    found.notes.push_back(
        fmt::format("worker {} finished nothing: how long it takes is not known, and it is taken "
                    "to be away",
                    index(worker)));
  }
  // What is asked for goes first: what is wrong with it shows at once.
  std::vector<Answer> asked;
  asked.reserve(options.without.size() + options.policies.size() + options.workers.size());
  for (const std::uint32_t worker : options.without) {
    asked.push_back(whatif.without(worker));
  }
  for (const std::string& policy : options.policies) {
    asked.push_back(whatif.under(policy));
  }
  for (const std::uint32_t workers : options.workers) {
    asked.push_back(whatif.with_workers(workers));
  }
  found.lost = whatif.lost_to_workers();
  found.answers.push_back(whatif.at_the_median());
  if (asked.empty()) {
    ask_default(whatif, record.run, found.lost, found.answers);
  }
  found.answers.insert(found.answers.end(), asked.begin(), asked.end());
  return found;
}

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

void print_json(const WhatIfOptions& options, const Found& found) {
  nlohmann::ordered_json questions = nlohmann::ordered_json::array();
  for (const Answer& answer : found.answers) {
    questions.push_back({{"question", answer.question},
                         {"policy", answer.policy},
                         {"workers", answer.workers},
                         {"examples_per_second", answer.examples_per_second},
                         {"ratio", answer.ratio},
                         {"low", or_null(answer.low)},
                         {"high", or_null(answer.high)}});
  }
  nlohmann::ordered_json lost = nlohmann::ordered_json::array();
  for (const LostTo& one : found.lost) {
    lost.push_back({{"worker", index(one.worker)}, {"share", one.share}, {"alone", one.alone}});
  }
  const nlohmann::ordered_json all{{"run", options.run},
                                   {"policy", found.answers.front().policy},
                                   {"workers", found.answers.front().workers},
                                   {"measured_examples_per_second", found.measured},
                                   {"replayed_examples_per_second", found.replayed},
                                   {"questions", std::move(questions)},
                                   {"lost_to_workers", std::move(lost)},
                                   {"notes", found.notes}};
  std::puts(all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

std::vector<plot::Bar> bars_of(const std::vector<Answer>& answers) {
  std::vector<plot::Bar> bars;
  bars.reserve(answers.size());
  for (const Answer& answer : answers) {
    plot::Bar bar{.name = answer.question,
                  .value = answer.ratio,
                  .words = fmt::format("{:.2f} x", answer.ratio)};
    if (answer.low && answer.high) {
      bar.interval = {.low = *answer.low, .high = *answer.high};
      bar.words += fmt::format(" ({:.2f} to {:.2f})", *answer.low, *answer.high);
    }
    bar.words += ", " + record::plain_rate(answer.examples_per_second) + "/s";
    bar.emphasised = answer.question == "as it was";
    bars.push_back(std::move(bar));
  }
  return bars;
}

std::string lost_in_words(const std::vector<LostTo>& lost) {
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

std::string headline(const WhatIfOptions& options, const Found& found) {
  const Answer& was = found.answers.front();
  return fmt::format(
      "{}: {} on {} worker{}", options.run, was.policy, was.workers, was.workers == 1 ? "" : "s");
}

void print_words(const WhatIfOptions& options, const Found& found) {
  fmt::print("{}: {:.1f} examples/s measured, {:.1f} replayed ({:+.1f} %)\n\n",
             headline(options, found),
             found.measured,
             found.replayed,
             100.0 * (found.replayed / found.measured - 1.0));
  fmt::print(
      "{}\n{}\n", plot::bar_lines(bars_of(found.answers), kBarWidth), lost_in_words(found.lost));
  for (const std::string& note : found.notes) {
    fmt::print("note: {}\n", note);
  }
}

void write_whatif_plot(const WhatIfOptions& options, const Found& found) {
  const std::string name = std::filesystem::path(options.run).filename().string();
  std::ofstream out(options.plot);
  out << plot::bar_plot_of(
      {.title =
           fmt::format("What if? {}", headline({.run = name.empty() ? options.run : name}, found)),
       .unit = "times as many examples a second as the run",
       .bars = bars_of(found.answers),
       .notes = {lost_in_words(found.lost),
                 fmt::format("as it was: {:.1f} examples/s measured, {:.1f} replayed; lines: nine "
                             "in ten resamplings of the record's time",
                             found.measured,
                             found.replayed)}});
  if (!out.flush()) {
    throw Error(ExitCode::kFailure, "--plot: cannot write " + options.plot);
  }
}

int answer_whatif(const WhatIfOptions& options) {
  const Found found = find(options);
  if (!options.plot.empty()) {
    write_whatif_plot(options, found);
  }
  if (options.json) {
    print_json(options, found);
  } else {
    print_words(options, found);
  }
  return 0;
}

}  // namespace

Run add_whatif(job::OptionList& list) {
  auto options = std::make_shared<WhatIfOptions>();
  list.add_positional("run", options->run, "A run's directory, of train, server or simulate")
      .required();
  list.add("without", options->without, "Without this worker (repeatable)");
  list.add("policy", options->policies, "Under this policy (repeatable)");
  list.add("workers",
                     options->workers,
                     "With so many workers; more than there were are copies (repeatable)");
  list.add("seed", options->seed, "Of resamplings and copies");
  list.add("json", options->json, "Print one JSON object on standard output");
  list.add("plot", options->plot, "Draw the answers to this SVG");
  return [options](const job::OptionList& /*chosen*/) {
    return answer_whatif(*options);
  };
}

}  // namespace outpace::cli
