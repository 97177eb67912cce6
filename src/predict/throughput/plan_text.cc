#include "throughput/plan_text.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "base/text_table.h"
#include "base/wrapped.h"
#include "throughput/cluster_kinds.h"
#include "throughput/sweep_text.h"

namespace outpace::throughput {
namespace {

bool counts_worth(const job::PlanJob& job) {
  return job.objective == job::Objective::kGoodput;
}

// The header of the seconds until what a run reached is reached again.
std::string to_reached(const job::PlanJob& job) {
  return "s to " + job.reached->what;
}

bool reaches(const job::PlanJob& job, const PlanRow& row) {
  return !job.target || row.value() >= *job.target;
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
  return words + steps_in_words(row.local_steps);
}

// "1,234 examples/s", or what they are worth.
std::string rate_in_words(const PlanRow& row) {
  if (row.efficiency) {
    return fmt::format("a goodput of {}/s ({} examples/s, each worth {:.2f})",
                       shown::rate(row.value()),
                       shown::rate(row.examples_per_second),
                       *row.efficiency);
  }
  return shown::rate(row.examples_per_second) + " examples/s";
}

// " For less: ring with 4 workers has 97 % of that for 4.00."
std::string nearly_in_words(const FoundPlan& found) {
  return found.nearly ? fmt::format(" For less: {} has {:.0f} % of that for {:.2f}.",
                                    in_words(*found.nearly),
                                    100.0 * found.nearly->value() / found.best.front().value(),
                                    found.nearly->cost)
                      : "";
}

// " With 10 local steps it has 97 % of that."
std::string fewer_steps_in_words(const FoundPlan& found) {
  if (!found.fewer_steps) {
    return "";
  }
  const std::uint32_t steps = found.fewer_steps->local_steps;
  return fmt::format(" With {} it has {:.0f} % of that: fewer learn more from an example.",
                     steps == 1 ? "1 local step" : fmt::format("{} local steps", steps),
                     100.0 * found.fewer_steps->value() / found.best.front().value());
}

// "64 configurations", "32 configurations that train has".
std::string chosen_from(const FoundPlan& found) {
  const bool is_part = found.can_run > 0 && found.can_run < found.choices;
  const std::size_t count = is_part ? found.can_run : found.choices;
  return fmt::format(
      "{} configuration{}{}", count, count == 1 ? "" : "s", is_part ? " that train has" : "");
}

std::string missed(const job::PlanJob& job, const FoundPlan& found) {
  const PlanRow& closest = found.best.front();
  return fmt::format(
      "None of {} reaches {}{}/s. {} comes closest: {}, {:.0f} % of it, for {:.2f} "
      "an hour; its bottleneck is {}.{}",
      chosen_from(found),
      counts_worth(job) ? "a goodput of " : "",
      shown::rate(*job.target),
      in_words(closest),
      rate_in_words(closest),
      std::min(99.0, 100.0 * closest.value() / *job.target),
      closest.cost,
      closest.bottleneck,
      nearly_in_words(found));
}

std::string why_of(const job::PlanJob& job, const FoundPlan& found) {
  const PlanRow& first = found.best.front();
  const std::string for_cost =
      fmt::format("the most for the cost ({} for one unit)", shown::rate(first.for_cost()));
  if (job.target) {
    const std::string goal = fmt::format("{}/s", shown::rate(*job.target));
    return job.objective == job::Objective::kCost
               ? fmt::format("{} of those that reach {}", for_cost, goal)
               : "the cheapest that reaches " + goal;
  }
  return job.objective == job::Objective::kCost ? for_cost : "the most";
}

}  // namespace

std::string recommendation(const job::PlanJob& job, const FoundPlan& found) {
  const PlanRow& first = found.best.front();
  if (!reaches(job, first)) {
    return missed(job, found);
  }
  std::string words = fmt::format("Take {}: {} for {:.2f} an hour, {} of {}.",
                                  in_words(first),
                                  rate_in_words(first),
                                  first.cost,
                                  why_of(job, found),
                                  chosen_from(found));
  fmt::format_to(std::back_inserter(words), " Its bottleneck is {}.", first.bottleneck);
  if (first.seconds_to_reached) {
    words += fmt::format(" It should reach {} after {}; {} took {}.",
                         job.reached->what,
                         shown::elapsed(*first.seconds_to_reached),
                         job.noise_from,
                         shown::elapsed(job.reached->seconds));
  }
  if (job.target && first.low && *first.low * first.efficiency.value_or(1.0) < *job.target) {
    words += " Its interval begins below the target.";
  }
  if (!first.can_run()) {
    words += " train has no shards yet, so it cannot be run.";
  }
  words += fewer_steps_in_words(found);
  if (job.objective != job::Objective::kCost) {
    words += nearly_in_words(found);
  }
  return words;
}

namespace {

// "± 1.3 %" of a simulated rate, whose interval is symmetric; else "21,380 to 21,954".
std::string interval_of(const PlanRow& row) {
  if (!row.high) {
    return "coarse only";
  }
  if (row.low && row.model == "fine") {
    return fmt::format("± {:.1f} %", 50.0 * (*row.high - *row.low) / row.examples_per_second);
  }
  return fmt::format("{} to {}", row.low ? shown::rate(*row.low) : "?", shown::rate(*row.high));
}

// A column for the topology only if it says more than the policy.
bool shows_topology(const std::vector<PlanRow>& rows) {
  return std::ranges::any_of(rows, [](const PlanRow& row) {
    return !row.policy.empty() && !row.topology.empty() && row.topology != "ps";
  });
}

bool shows_steps(const std::vector<PlanRow>& rows) {
  return std::ranges::any_of(rows, [](const PlanRow& row) { return row.local_steps > 0; });
}

bool shows_shards(const std::vector<PlanRow>& rows) {
  return std::ranges::any_of(rows, [](const PlanRow& row) { return row.shards > 1; });
}

std::string policy_or_topology(const PlanRow& row) {
  const std::string& name = row.policy.empty() ? row.topology : row.policy;
  return name.empty() ? "-" : name;
}

std::string rows_of_plan(const job::PlanJob& job, const FoundPlan& found) {
  const bool topology = shows_topology(found.best);
  const bool shards = shows_shards(found.best);
  const bool steps = shows_steps(found.best);
  std::vector<TextTable::Column> columns{{"policy", TextTable::Align::kLeft}};
  const auto add = [&columns](bool shown, const char* header) {
    if (shown) {
      columns.push_back({header});
    }
  };
  add(topology, "topology");
  add(true, "workers");
  add(shards, "shards");
  add(steps, "local steps");
  add(true, "examples/s");
  add(true, "interval");
  add(counts_worth(job), "worth");
  add(counts_worth(job), "goodput/s");
  if (job.reached) {
    columns.push_back({to_reached(job)});
  }
  add(true, "cost/h");
  add(true, counts_worth(job) ? "goodput/cost" : "examples/cost");
  columns.push_back({"bottleneck", TextTable::Align::kLeft});
  TextTable table(std::move(columns));
  for (const PlanRow& row : found.best) {
    std::vector<std::string> cells{policy_or_topology(row)};
    if (topology) {
      cells.push_back(row.topology.empty() ? "-" : row.topology);
    }
    cells.push_back(std::to_string(row.workers));
    if (shards) {
      cells.push_back(row.shards > 0 ? std::to_string(row.shards) + (row.can_run() ? "" : "*")
                                     : "-");
    }
    if (steps) {
      cells.push_back(row.local_steps > 0 ? std::to_string(row.local_steps) : "-");
    }
    cells.push_back(shown::rate(row.examples_per_second));
    cells.push_back(interval_of(row));
    if (counts_worth(job)) {
      cells.push_back(row.efficiency ? fmt::format("{:.2f}", *row.efficiency) : "-");
      cells.push_back(shown::rate(row.value()));
    }
    if (job.reached) {
      cells.push_back(row.seconds_to_reached ? shown::rate(*row.seconds_to_reached) : "-");
    }
    cells.push_back(fmt::format("{:.2f}", row.cost));
    cells.push_back(shown::rate(row.for_cost()));
    cells.push_back(row.bottleneck);
    table.add_row(std::move(cells));
  }
  return table.text();
}

// Each warning once, with the clusters that it is about.
std::string warnings_of(const std::vector<PlanRow>& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> warnings;
  for (const PlanRow& row : rows) {
    for (const std::string& warning : row.warnings) {
      auto known = std::ranges::find(warnings, warning, [](const auto& one) { return one.first; });
      if (known == warnings.end()) {
        known = warnings.insert(known, {warning, {}});
      }
      known->second.push_back(in_words(row));
    }
  }
  std::string text;
  for (const auto& [warning, about] : warnings) {
    text += wrapped(fmt::format(
        "{}: {}",
        about.size() == 1 ? about.front() : fmt::format("{} of these clusters", about.size()),
        warning));
  }
  return text;
}

}  // namespace

std::string plan_table(const job::PlanJob& job, const FoundPlan& found) {
  std::string text = rows_of_plan(job, found);
  text += wrapped(fmt::format(
      "cost/h: {:g} per hour for a worker's host and {:g} for a server's; {} configuration{}, "
      "without those that another beats in both speed and cost",
      job.worker_cost,
      job.server_cost,
      found.choices,
      found.choices == 1 ? "" : "s"));
  if (!std::ranges::all_of(found.best, &PlanRow::can_run)) {
    text += kNoShardsYet;
  }
  if (!found.packing.empty()) {
    text += wrapped("packed: " + found.packing);
  }
  return text + warnings_of(found.best) + wrapped(recommendation(job, found));
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
          {"local_steps",
           row.local_steps > 0 ? nlohmann::ordered_json(row.local_steps)
                               : nlohmann::ordered_json(nullptr)},
          {"can_run", row.can_run()},
          {"examples_per_second", row.examples_per_second},
          {"low", value_or_null(row.low)},
          {"high", value_or_null(row.high)},
          {"mixed_examples", row.mixed_examples},
          {"efficiency", value_or_null(row.efficiency)},
          {"goodput",
           row.efficiency ? nlohmann::ordered_json(row.value()) : nlohmann::ordered_json(nullptr)},
          {"seconds_to_reached", value_or_null(row.seconds_to_reached)},
          {"cost_per_hour", row.cost},
          {"per_cost", row.for_cost()},
          {"bottleneck", row.bottleneck},
          {"warnings", row.warnings}};
}

}  // namespace

std::string plan_json(const job::PlanJob& job, const FoundPlan& found) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PlanRow& row : found.best) {
    rows.push_back(plan_row_json(row));
  }
  const bool reached = reaches(job, found.best.front());
  const nlohmann::ordered_json first = plan_row_json(found.best.front());
  const nlohmann::ordered_json all{
      {"objective", job::Value<job::Objective>::text(job.objective)},
      {"target", value_or_null(job.target)},
      {"target_reached",
       job.target ? nlohmann::ordered_json(reached) : nlohmann::ordered_json(nullptr)},
      {"noise_scale", value_or_null(job.noise_scale)},
      {"reached",
       job.reached ? nlohmann::ordered_json(
                         {{"what", job.reached->what}, {"seconds", job.reached->seconds}})
                   : nlohmann::ordered_json(nullptr)},
      {"worker_cost_per_hour", job.worker_cost},
      {"server_cost_per_hour", job.server_cost},
      {"configurations", found.choices},
      {"verified", found.verified},
      {"recommended", reached ? first : nlohmann::ordered_json(nullptr)},
      {"closest", reached ? nlohmann::ordered_json(nullptr) : first},
      {"nearly", found.nearly ? plan_row_json(*found.nearly) : nlohmann::ordered_json(nullptr)},
      {"fewer_steps",
       found.fewer_steps ? plan_row_json(*found.fewer_steps) : nlohmann::ordered_json(nullptr)},
      {"plan", std::move(rows)},
      {"why", recommendation(job, found)},
      {"packing", text_or_null(found.packing)},
      {"left_out", found.left_out}};
  return all.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace outpace::throughput
