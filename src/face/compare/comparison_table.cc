#include "compare/comparison_table.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/text.h"
#include "base/text_table.h"

namespace outpace::compare {
namespace {

constexpr const char* kTarget = "target-accuracy";
constexpr std::size_t kColumns = 10;

using Cells = std::array<std::string, kColumns>;

bool has_target(const Config& config) {
  const auto names_it = [](const Option& option) { return option.name == kTarget; };
  return std::ranges::any_of(config.options, names_it) ||
         std::ranges::any_of(config.rows, [&](const Row& row) {
           return std::ranges::any_of(row.options, names_it);
         });
}

Cells head(const Config& config) {
  const std::optional<double> target = target_of(config);
  const std::string to =
      target ? fmt::format("s to {:.4g}%", 100.0 * *target) : std::string("s to target");
  return {"policy",
          "examples/s",
          to,
          "+-95%",
          "reached",
          "accuracy",
          "staleness",
          "max",
          "dropped",
          "fairness"};
}

template <typename Words>
std::string shown(const std::optional<Mean>& mean, const Words& words) {
  return mean ? words(mean->mean) : "-";
}

std::string two_decimals(double value) {
  return fmt::format("{:.2f}", value);
}

// REQUIRES: a run of the row finished.
Cells cells_of(const std::string& name, const Summary& summary) {
  const std::optional<Mean>& seconds = summary.seconds_to_target;
  return {name,
          shown(summary.examples_per_second, [](double x) { return shown::grouped(x); }),
          shown(seconds, shown::brief),
          seconds && seconds->half_width ? shown::brief(*seconds->half_width) : "-",
          fmt::format("{}/{}", summary.reached, summary.finished),
          shown(summary.final_accuracy, shown::percent),
          shown(summary.staleness_mean, two_decimals),
          summary.staleness_max ? shown::grouped(*summary.staleness_max) : "-",
          shown(summary.dropped, shown::percent),
          shown(summary.fairness, [](double x) { return fmt::format("{:.3f}", x); })};
}

// The cells of the columns that are shown.
std::vector<std::string> without(const std::set<std::size_t>& left_out, const Cells& cells) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < kColumns; ++i) {
    if (!left_out.contains(i)) {
      kept.push_back(cells[i]);
    }
  }
  return kept;
}

TextTable table_with(const std::vector<std::string>& headers) {
  std::vector<TextTable::Column> columns;
  columns.reserve(headers.size());
  for (const std::string& header : headers) {
    columns.push_back({header});
  }
  columns.front().align = TextTable::Align::kLeft;
  return TextTable(std::move(columns));
}

std::string title_of(const Config& config, const Trace& trace) {
  const std::string what =
      trace.name.empty() ? "no trace of delays" : trace.name + " (" + trace.path + ")";
  return fmt::format("{}, {}, {} {} each\n",
                     what,
                     config.mode == Mode::kLive ? "live" : "simulated",
                     config.seeds.size(),
                     config.seeds.size() == 1 ? "seed" : "seeds");
}

}  // namespace

std::optional<double> target_of(const Config& config) {
  for (const Row& row : config.rows) {
    if (std::ranges::find(row.options, kTarget, &Option::name) != row.options.end()) {
      return std::nullopt;
    }
  }
  const auto option = std::ranges::find(config.options, kTarget, &Option::name);
  return option == config.options.end() || option->values.size() != 1
             ? std::nullopt
             : parse_number(option->values.front());
}

std::string tables_of(const Config& config, const std::vector<Summary>& summaries) {
  std::set<std::size_t> left_out;
  if (!has_target(config)) {
    left_out = {2, 3, 4};
  } else if (config.seeds.size() == 1) {
    left_out = {3};
  }
  std::string text;
  bool not_all_reached = false;
  for (std::size_t trace = 0; trace < config.traces.size(); ++trace) {
    TextTable table = table_with(without(left_out, head(config)));
    for (const Summary& summary : summaries) {
      if (summary.trace != trace) {
        continue;
      }
      const std::string& name = config.rows[summary.row].name;
      if (summary.finished == 0) {
        table.add_row_across(name, "failed: " + summary.failure);
      } else {
        table.add_row(without(left_out, cells_of(name, summary)));
      }
      not_all_reached |= summary.reached > 0 && summary.reached < summary.finished;
    }
    text += (text.empty() ? "" : "\n") + title_of(config, config.traces[trace]);
    text += table.text();
  }
  text += "\nMeans over seeds";
  if (left_out.empty()) {
    text +=
        "; +-95%: half the width of the 95% interval of the seconds to the target (Student's t,\n"
        "n = the seeds that reached it)";
  }
  text +=
      ".\nstaleness and max in updates; dropped: share of the gradients; fairness: Jain's index of "
      "workers' examples.\n";
  if (not_all_reached) {
    text += "Where not all reached the target, the seconds are of those that did.\n";
  }
  return text;
}

std::string failures_of(const Config& config,
                        const std::vector<Cell>& cells,
                        const std::vector<Outcome>& outcomes) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!outcomes[i].result) {
      text += "failed: " + name_of(config, cells[i]) + ": " + outcomes[i].failure + "\n";
    }
  }
  return text;
}

}  // namespace outpace::compare
