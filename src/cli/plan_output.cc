#include "cli/plan_output.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "record/number_text.h"

namespace outpace::cli {
namespace {

constexpr double kSecondsOfHour = 3600.0;

bool counts_worth(const PlanOptions& options) {
  return options.objective == "goodput";
}

bool reaches(const PlanOptions& options, const PlanRow& row) {
  return !options.target || row.value() >= *options.target;
}

// "async with 4 workers and 2 shards", "ring with 8 workers".
std::string in_words(const PlanRow& row) {
  std::string words = row.policy.empty() ? row.topology : row.policy;
  if (words.empty()) {
    words = "the cluster";
  } else if (!row.policy.empty() && !row.topology.empty()) {
    words += " on " + row.topology;
  }
  words += fmt::format(" with {} worker{}", row.workers, row.workers == 1 ? "" : "s");
  if (row.shards > 0) {
    words += fmt::format(" and {} shard{}", row.shards, row.shards == 1 ? "" : "s");
  }
  return words;
}

// "1,234 examples/s", or what they are worth.
std::string rate_in_words(const PlanRow& row) {
  if (row.efficiency) {
    return fmt::format("a goodput of {}/s ({} examples/s, each worth {:.2f})",
                       record::rate(row.value()),
                       record::rate(row.examples_per_second),
                       *row.efficiency);
  }
  return record::rate(row.examples_per_second) + " examples/s";
}

// " For less: ring with 4 workers has 97 % of that for 4.00."
std::string nearly_in_words(const FoundPlan& found) {
  return found.nearly ? fmt::format(" For less: {} has {:.0f} % of that for {:.2f}.",
                                    in_words(*found.nearly),
                                    100.0 * found.nearly->value() / found.best.front().value(),
                                    found.nearly->cost)
                      : "";
}

std::string missed(const PlanOptions& options, const FoundPlan& found) {
  const PlanRow& closest = found.best.front();
  return fmt::format(
      "None of {} configurations reaches {}{}/s. {} comes closest: {}, {:.0f} % of it, for {:.2f} "
      "an hour; what is in its way is {}.{}",
      found.choices,
      counts_worth(options) ? "a goodput of " : "",
      record::rate(*options.target),
      in_words(closest),
      rate_in_words(closest),
      std::min(99.0, 100.0 * closest.value() / *options.target),
      closest.cost,
      closest.bottleneck,
      nearly_in_words(found));
}

std::string why_of(const PlanOptions& options, const FoundPlan& found) {
  const PlanRow& first = found.best.front();
  const std::string for_cost =
      fmt::format("the most for the cost ({} for one unit)", record::rate(first.for_cost()));
  if (options.target) {
    const std::string goal = fmt::format("{}/s", record::rate(*options.target));
    return options.objective == "cost" ? fmt::format("{} of those that reach {}", for_cost, goal)
                                       : "the cheapest that reaches " + goal;
  }
  return options.objective == "cost" ? for_cost : "the most";
}

}  // namespace

double PlanRow::for_cost() const {
  return value() * kSecondsOfHour / cost;
}

std::string recommendation(const PlanOptions& options, const FoundPlan& found) {
  const PlanRow& first = found.best.front();
  if (!reaches(options, first)) {
    return missed(options, found);
  }
  std::string words = fmt::format("Take {}: {} for {:.2f} an hour, {} of {} configuration{}.",
                                  in_words(first),
                                  rate_in_words(first),
                                  first.cost,
                                  why_of(options, found),
                                  found.choices,
                                  found.choices == 1 ? "" : "s");
  fmt::format_to(std::back_inserter(words), " What is in its way is {}.", first.bottleneck);
  if (options.target && first.low &&
      *first.low * first.efficiency.value_or(1.0) < *options.target) {
    words += " Its interval begins below the target.";
  }
  if (options.objective != "cost") {
    words += nearly_in_words(found);
  }
  return words;
}

void print_plan(const PlanOptions& options, const FoundPlan& found) {
  std::size_t widest = 8;
  for (const PlanRow& row : found.best) {
    widest = std::max(widest, row.policy.size());
  }
  const std::string worth =
      counts_worth(options) ? fmt::format("  {:>5}  {:>9}", "worth", "goodput/s") : "";
  fmt::print("{:<{}}  {:<8}  {:>7}  {:>6}  {:>10}  {:>18}{}  {:>8}  {:>13}  {}\n",
             "policy",
             widest,
             "topology",
             "workers",
             "shards",
             "examples/s",
             "interval",
             worth,
             "cost/h",
             counts_worth(options) ? "goodput/cost" : "examples/cost",
             "bottleneck");
  for (const PlanRow& row : found.best) {
    std::string interval = "coarse model only";
    if (row.high) {
      interval =
          fmt::format("{} to {}", row.low ? record::rate(*row.low) : "?", record::rate(*row.high));
    }
    fmt::print("{:<{}}  {:<8}  {:>7}  {:>6}  {:>10}  {:>18}{}  {:>8.2f}  {:>13}  {}\n",
               row.policy.empty() ? "-" : row.policy,
               widest,
               row.topology.empty() ? "-" : row.topology,
               row.workers,
               row.shards > 0 ? std::to_string(row.shards) : "-",
               record::rate(row.examples_per_second),
               interval,
               row.efficiency
                   ? fmt::format("  {:>5.2f}  {:>9}", *row.efficiency, record::rate(row.value()))
                   : "",
               row.cost,
               record::rate(row.for_cost()),
               row.bottleneck);
  }
  fmt::print(
      "cost/h: {:g} a worker's host and {:g} a server's, an hour; {} configuration{}, those that "
      "another beats in both speed and cost left out\n",
      options.worker_cost,
      options.server_cost,
      found.choices,
      found.choices == 1 ? "" : "s");
  for (const PlanRow& row : found.best) {
    for (const std::string& warning : row.warnings) {
      fmt::print("{}: {}\n", in_words(row), warning);
    }
  }
  fmt::print("{}\n", recommendation(options, found));
  std::fflush(stdout);
}

namespace {

template <typename Value>
nlohmann::ordered_json value_or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

nlohmann::ordered_json plan_row_json(const PlanRow& row) {
  return {{"model", row.model},
          {"policy", text_or_null(row.policy)},
          {"topology", text_or_null(row.topology)},
          {"workers", row.workers},
          {"shards",
           row.shards > 0 ? nlohmann::ordered_json(row.shards) : nlohmann::ordered_json(nullptr)},
          {"examples_per_second", row.examples_per_second},
          {"low", value_or_null(row.low)},
          {"high", value_or_null(row.high)},
          {"mixed_examples", row.mixed_examples},
          {"efficiency", value_or_null(row.efficiency)},
          {"goodput",
           row.efficiency ? nlohmann::ordered_json(row.value()) : nlohmann::ordered_json(nullptr)},
          {"cost_per_hour", row.cost},
          {"per_cost", row.for_cost()},
          {"bottleneck", row.bottleneck},
          {"warnings", row.warnings}};
}

}  // namespace

void print_plan_as_json(const PlanOptions& options, const FoundPlan& found) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PlanRow& row : found.best) {
    rows.push_back(plan_row_json(row));
  }
  const bool reached = reaches(options, found.best.front());
  const nlohmann::ordered_json first = plan_row_json(found.best.front());
  const nlohmann::ordered_json all{
      {"objective", options.objective},
      {"target", value_or_null(options.target)},
      {"target_reached",
       options.target ? nlohmann::ordered_json(reached) : nlohmann::ordered_json(nullptr)},
      {"noise_scale", value_or_null(options.noise_scale)},
      {"worker_cost_per_hour", options.worker_cost},
      {"server_cost_per_hour", options.server_cost},
      {"configurations", found.choices},
      {"verified", found.verified},
      {"recommended", reached ? first : nlohmann::ordered_json(nullptr)},
      {"closest", reached ? nlohmann::ordered_json(nullptr) : first},
      {"nearly", found.nearly ? plan_row_json(*found.nearly) : nlohmann::ordered_json(nullptr)},
      {"plan", std::move(rows)},
      {"why", recommendation(options, found)},
      {"left_out", found.left_out}};
  fmt::print("{}\n", all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  std::fflush(stdout);
}

}  // namespace outpace::cli
