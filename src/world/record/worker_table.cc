#include "record/worker_table.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/number_text.h"
#include "base/text_table.h"
#include "record/quantiles.h"
#include "record/stragglers.h"

namespace outpace::record {
namespace {

constexpr std::size_t kWidth = 100;

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? shown::brief(1e3 * *seconds) + "ms" : "-";
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole > 0 ? shown::percent(static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

// A worker says where it is as "machine:process".
std::string machine_of(const std::string& host) {
  const std::size_t colon = host.rfind(':');
  const bool process = colon != std::string::npos && colon + 1 < host.size() &&
                       host.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  return process ? host.substr(0, colon) : host;
}

// The workers to list, by number: all of them, or only the slowest if there are too many.
std::vector<std::size_t> listed(const server::Statistics& counts) {
  std::vector<std::size_t> workers(counts.workers.size());
  std::iota(workers.begin(), workers.end(), std::size_t{0});
  if (workers.size() > kRowsMax) {
    std::vector<double> medians;
    medians.reserve(workers.size());
    for (const server::WorkerStatistics& worker : counts.workers) {
      medians.push_back(quantile(worker.runtimes, 0.5).value_or(0.0));
    }
    std::ranges::stable_sort(
        workers, std::ranges::greater{}, [&](std::size_t worker) { return medians[worker]; });
    workers.resize(kRowsMax);
    std::ranges::sort(workers);
  }
  return workers;
}

std::string carried_text(const protocol::Carried& carried) {
  std::string text = shown::bytes(carried.bytes);
  if (carried.numbers * sizeof(float) != carried.bytes) {
    text += fmt::format(" ({} times fewer than as float32)", shown::brief(carried.ratio()));
  }
  return text;
}

// A line; empty if it is not known. A ring carries gradients alone, and a gossip weights.
std::string traffic_text(const protocol::Traffic& traffic) {
  std::string text;
  for (const auto& [what, carried] :
       {std::pair("gradients", traffic.gradients), std::pair("weights", traffic.weights)}) {
    if (carried.payloads > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "  " : ", ", what, text.empty() ? "took " : "");
      text += carried_text(carried);
    }
  }
  return text.empty() ? "" : text + "\n";
}

// What is unusual about a worker; empty for most.
std::string note(const server::WorkerStatistics& worker,
                 std::optional<double> factor,
                 std::optional<std::uint64_t> died) {
  std::vector<std::string> notes;
  if (died) {  // How slow it was before is of no interest.
    notes.push_back("died at update " + shown::grouped(*died));
  } else if (factor) {
    notes.push_back(fmt::format("{:.1f}x slower", *factor));
  }
  if (worker.incarnations == 0) {
    notes.emplace_back("never joined");
  } else if (worker.incarnations > 1) {
    notes.push_back(fmt::format("joined {} times", worker.incarnations));
  }
  if (worker.stalls > 0) {
    notes.push_back(worker.stalls == 1
                        ? "stalled once"
                        : fmt::format("stalled {} times", shown::grouped(worker.stalls)));
  }
  if (worker.refused > 0) {
    notes.push_back(shown::grouped(worker.refused) + " refused");
  }
  if (worker.filtered > 0) {
    notes.push_back(shown::grouped(worker.filtered) + " filtered");
  }
  if (worker.partial > 0) {
    notes.push_back(shown::grouped(worker.partial) + " partial");
  }
  return fmt::format("{}", fmt::join(notes, ", "));
}

bool hosts_differ(const server::Statistics& counts) {
  return std::ranges::any_of(counts.workers, [&](const server::WorkerStatistics& worker) {
    return machine_of(worker.host) != machine_of(counts.workers.front().host);
  });
}

TextTable table_of(const Summary& summary, const std::vector<std::size_t>& workers) {
  const server::Statistics& counts = summary.statistics;
  using Align = TextTable::Align;
  std::map<std::size_t, double> slow;
  for (const Straggler& straggler : stragglers_overall(counts)) {
    slow[index(straggler.worker)] = straggler.factor;
  }
  const bool with_hosts = hosts_differ(counts);
  std::vector<TextTable::Column> columns{{"worker"},
                                         {"host", Align::kLeft},
                                         {"iterations"},
                                         {"accepted"},
                                         {"dropped"},
                                         {"cancelled"},
                                         {"median"},
                                         {"p99"},
                                         {"examples"},
                                         {"", Align::kLeft}};
  if (!with_hosts) {
    columns.erase(columns.begin() + 1);
  }
  TextTable table(std::move(columns));
  for (const std::size_t id : workers) {
    const server::WorkerStatistics& worker = counts.workers[id];
    const auto factor = slow.find(id);
    const auto died = summary.died.find(id);
    std::vector<std::string> cells{
        std::to_string(id),
        machine_of(worker.host),
        shown::grouped(worker.iterations()),
        shown::grouped(worker.accepted),
        shown::grouped(worker.dropped),
        shown::grouped(worker.cancelled),
        milliseconds(quantile(worker.runtimes, 0.5)),
        milliseconds(quantile(worker.runtimes, 0.99)),
        share(worker.examples_applied, counts.examples_applied),
        note(worker,
             factor == slow.end() ? std::nullopt : std::optional(factor->second),
             died == summary.died.end() ? std::nullopt : std::optional(died->second))};
    if (!with_hosts) {
      cells.erase(cells.begin() + 1);
    }
    table.add_row(std::move(cells));
  }
  return table;
}

// A line that is too wide goes on in the next one, with the notes for which it has no room.
std::string folded(std::string line) {
  constexpr std::size_t kIndent = 8;
  std::string text;
  while (line.size() > kWidth) {
    const std::size_t comma = line.rfind(", ", kWidth - 2);
    const std::size_t gap = line.rfind("  ", kWidth - 2);
    const bool at_comma = comma != std::string::npos;
    if (!at_comma && (gap == std::string::npos || gap <= kIndent)) {
      break;  // One long word.
    }
    text += line.substr(0, at_comma ? comma + 1 : gap) + "\n";
    line = std::string(kIndent, ' ') + line.substr(at_comma ? comma + 2 : gap + 2);
  }
  return text + line;
}

std::string target_text(const Summary& summary) {
  if (!summary.target) {
    return "";
  }
  return fmt::format("; target {:.4g}% {}",
                     100.0 * *summary.target,
                     summary.seconds_to_target
                         ? "reached after " + shown::elapsed(*summary.seconds_to_target)
                         : "not reached");
}

std::string accuracy_text(const Summary& summary) {
  std::string text = summary.final_accuracy ? "accuracy " + shown::percent(*summary.final_accuracy)
                                            : "accuracy not measured";
  if (!summary.final_accuracy && !summary.evaluations.empty() &&
      summary.evaluations.back().accuracy) {
    const server::Evaluation& last = summary.evaluations.back();
    text = fmt::format("accuracy {} at update {}, which was measured last",
                       shown::percent(*last.accuracy),
                       shown::grouped(count(last.version)));
  }
  if (summary.final_loss) {
    text += ", test loss " + shown::brief(*summary.final_loss);
  }
  if (summary.worst_replica_accuracy) {
    text += ", worst replica " + shown::percent(*summary.worst_replica_accuracy);
  }
  return text + target_text(summary);
}

}  // namespace

std::string headline(const Summary& summary) {
  const server::Statistics& counts = summary.statistics;
  const double seconds = summary.seconds;
  const std::uint64_t arrived =
      counts.gradients_applied + counts.gradients_dropped + counts.gradients_filtered;
  const std::uint64_t stalest = quantile_of_counts(counts.staleness, 1.0).value_or(0);
  const double per_second =
      seconds > 0 ? static_cast<double>(counts.examples_applied) / seconds : 0.0;
  std::string text;
  text += fmt::format(
      "{}{} on {} {}{}: {} updates in {}\n",
      summary.policy,
      summary.balance_most ? ", balanced," : "",
      summary.workers,
      summary.workers == 1 ? "worker" : "workers",
      summary.local_steps
          ? fmt::format(", {} local steps", shown::grouped(std::uint64_t{*summary.local_steps}))
          : "",
      shown::grouped(counts.updates),
      shown::elapsed(seconds));
  text += fmt::format("  {}\n", accuracy_text(summary));
  text += fmt::format("  {} examples/s, {} in all (what was dropped is not counted)\n",
                      shown::rate(per_second),
                      shown::grouped(counts.examples_applied));
  text += fmt::format("  staleness {:.2f} on average, {} at most; {} of {} gradients dropped",
                      mean_of_counts(counts.staleness).value_or(0.0),
                      shown::grouped(stalest),
                      shown::grouped(counts.gradients_dropped),
                      shown::grouped(arrived));
  if (counts.gradients_cancelled > 0) {
    text += fmt::format(", {} cancelled", shown::grouped(counts.gradients_cancelled));
  }
  if (counts.gradients_filtered > 0) {
    text += fmt::format(", {} filtered", shown::grouped(counts.gradients_filtered));
  }
  if (counts.gradients_refused > 0) {
    text += fmt::format(", {} refused (not finite)", shown::grouped(counts.gradients_refused));
  }
  text += "\n" + traffic_text(counts.traffic);
  if (!summary.why_ended.empty()) {
    text += "  ended: " + summary.why_ended + "\n";
  }
  return text;
}

std::string worker_table(const Summary& summary) {
  const server::Statistics& counts = summary.statistics;
  std::string text = headline(summary);
  if (counts.workers.empty()) {
    return text;
  }
  const std::vector<std::size_t> workers = listed(counts);
  text += "\n";
  for (const std::string& line : table_of(summary, workers).lines()) {
    text += folded(line) + "\n";
  }
  if (workers.size() < counts.workers.size()) {
    text += fmt::format("the slowest {} of {} workers; --json lists all\n",
                        workers.size(),
                        shown::grouped(counts.workers.size()));
  }
  return text;
}

}  // namespace outpace::record
