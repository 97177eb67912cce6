#include "watch/metrics_text.h"

#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace outpace::watch {
namespace {

class MetricsText {
 public:
  // Begins a metric; its samples follow.
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    add("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  // `labels`: worker="3", or empty.
  void sample(std::string_view labels, double value) { sample("", labels, value); }
  void sample(std::string_view suffix, std::string_view labels, double value) {
    add("{}{}", name_, suffix);
    if (!labels.empty()) {
      add("{{{}}}", labels);
    }
    if (std::isnan(value)) {
      add(" NaN\n");
    } else if (std::isinf(value)) {
      add(" {}\n", value > 0 ? "+Inf" : "-Inf");
    } else {
      add(" {}\n", value);
    }
  }
  void one(std::string_view name, std::string_view type, std::string_view help, double value) {
    family(name, type, help);
    sample("", value);
  }
  [[nodiscard]] std::string take() const { return fmt::to_string(out_); }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  fmt::memory_buffer out_;
  std::string_view name_;
};

// As the format wants a label's value.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\n') {
      out += "\\n";
      continue;
    }
    if (letter == '\\' || letter == '"') {
      out += '\\';
    }
    out += letter;
  }
  return out;
}

double number(std::uint64_t value) {
  return static_cast<double>(value);
}

void add_training(const Board& board, MetricsText& out) {
  const Point& sums = board.sums();
  out.one("outpace_run_seconds",
          "gauge",
          "Time since the first weights were handed out.",
          to_seconds(board.now()));
  out.one("outpace_updates_total", "counter", "Updates of the weights.", number(sums.version));
  out.one("outpace_examples_applied_total",
          "counter",
          "Examples in the updates.",
          number(sums.applied));
  out.family(
      "outpace_examples_lost_total",
      "counter",
      "Examples computed in vain (dropped, cancelled), or not computed while workers waited.");
  out.sample("to=\"drops\"", sums.dropped);
  out.sample("to=\"cancels\"", sums.cancelled);
  out.sample("to=\"waiting\"", sums.waiting);
  if (sums.loss) {
    out.one(
        "outpace_training_loss", "gauge", "Exponential mean over some 50 gradients.", *sums.loss);
  }
  if (!board.evaluations().points().empty()) {
    const Evaluated& last = board.evaluations().points().back();
    if (last.accuracy) {
      out.one("outpace_test_accuracy_ratio", "gauge", "As last evaluated.", *last.accuracy);
    }
    if (last.loss) {
      out.one("outpace_test_loss", "gauge", "As last evaluated.", *last.loss);
    }
    out.one("outpace_test_version",
            "gauge",
            "Updates that the last evaluation was of.",
            number(last.version));
  }
  out.family("outpace_gradients_total", "counter", "Gradients by what became of them.");
  out.sample("fate=\"applied\"", number(sums.gradients));
  out.sample("fate=\"dropped\"", number(board.gradients_dropped()));
  out.sample("fate=\"cancelled\"", number(board.gradients_cancelled()));
  out.sample("fate=\"turned_away\"", number(board.gradients_turned_away()));
  out.one("outpace_update_seconds_total",
          "counter",
          "Sum of the times from update to update.",
          sums.update_seconds);
  if (const auto gain = board.gain()) {
    out.one("outpace_gain_ratio",
            "gauge",
            "Throughput over that of waiting for all workers, at their recent runtimes.",
            *gain);
  }
  if (const auto without = board.cut_off()) {
    out.one("outpace_workers_cut_off",
            "gauge",
            "Live workers that recent updates did without.",
            *without);
  }
}

void add_staleness(const Board& board, MetricsText& out) {
  out.family(
      "outpace_staleness_updates", "histogram", "Staleness of applied gradients, in updates.");
  std::uint64_t seen = 0;
  std::uint64_t sum = 0;
  std::uint64_t next = 0;
  for (std::size_t tau = 0; tau < board.staleness().size(); ++tau) {
    seen += board.staleness()[tau];
    sum += board.staleness()[tau] * tau;
    if (tau == next) {  // 0, 1, 2, 4, 8, ...
      out.sample("_bucket", fmt::format("le=\"{}\"", tau), number(seen));
      next = next == 0 ? 1 : next * 2;
    }
  }
  out.sample("_bucket", "le=\"+Inf\"", number(seen));
  out.sample("_sum", "", number(sum));
  out.sample("_count", "", number(seen));
}

template <typename Value>
void for_workers(const Board& board, MetricsText& out, Value value) {
  for (std::size_t i = 0; i < board.workers().size(); ++i) {
    if (const std::optional<double> found = value(board.workers()[i], i)) {
      out.sample(fmt::format("worker=\"{}\"", i), *found);
    }
  }
}

void add_workers(const Board& board, MetricsText& out) {
  out.one("outpace_workers_live", "gauge", "Workers that take part.", board.sums().live);
  out.one("outpace_workers_planned",
          "gauge",
          "Workers that the run was started for.",
          board.about().workers);
  out.one("outpace_worker_restarts_total",
          "counter",
          "Workers that came back after their death.",
          number(board.restarts()));
  out.family("outpace_worker_live", "gauge", "1 if the worker takes part.");
  for_workers(board, out, [](const WorkerView& one, std::size_t) {
    return std::optional<double>(one.live ? 1.0 : 0.0);
  });
  out.family("outpace_worker_slow_ratio",
             "gauge",
             "How many times slower than its own past the worker has become; 1: it has not.");
  for_workers(board, out, [&board](const WorkerView&, std::size_t i) {
    return std::optional(board.slow().factor(WorkerId{static_cast<std::uint32_t>(i)}));
  });
  out.family("outpace_worker_examples_applied_total", "counter", "Examples of the worker.");
  for_workers(board, out, [](const WorkerView& one, std::size_t) {
    return std::optional(number(one.applied));
  });
  out.family("outpace_worker_gradients_cancelled_total",
             "counter",
             "Mini-batches that the worker gave up when it was asked to.");
  for_workers(board, out, [](const WorkerView& one, std::size_t) {
    return std::optional(number(one.abandoned));
  });
  out.family("outpace_worker_waiting_seconds_total",
             "counter",
             "Time that the worker had nothing to compute.");
  for_workers(board, out, [&board](const WorkerView&, std::size_t i) {
    return std::optional(board.lanes().waited(WorkerId{static_cast<std::uint32_t>(i)}));
  });
  out.family("outpace_worker_runtime_seconds",
             "summary",
             "Times from the release of weights to the arrival of their gradient.");
  for (std::size_t i = 0; i < board.workers().size(); ++i) {
    const WorkerView& one = board.workers()[i];
    out.sample("_sum", fmt::format("worker=\"{}\"", i), one.runtime_sum);
    out.sample("_count", fmt::format("worker=\"{}\"", i), number(one.runtimes));
  }
}

void add_alarms(const Board& board, MetricsText& out) {
  out.family("outpace_alarms_on", "gauge", "Alarms that are on at present, by kind.");
  for (const AlarmKind kind : kAlarmKinds) {
    std::uint64_t on = 0;
    for (const auto& [key, alarm] : board.alarms().on()) {
      on += key.first == kind ? 1 : 0;
    }
    out.sample(fmt::format("kind=\"{}\"", to_text(kind)), number(on));
  }
  out.family("outpace_alarms_total", "counter", "Alarms that have begun, by kind.");
  for (const AlarmKind kind : kAlarmKinds) {
    out.sample(fmt::format("kind=\"{}\"", to_text(kind)), number(board.alarms().begun(kind)));
  }
}

void add_server(const Board& board, MetricsText& out) {
  const ServerUse& use = board.server();
  out.one("outpace_server_seconds_per_gradient",
          "gauge",
          "Processor time of the server for a gradient.",
          use.seconds_a_gradient);
  out.one("outpace_gradient_bytes",
          "gauge",
          "Size of one gradient, and of the weights.",
          number(use.gradient_bytes));
  out.family("outpace_payload_bytes_total", "counter", "Bytes of gradients and weights.");
  out.sample("of=\"gradients\"", number(use.traffic.gradients.bytes));
  out.sample("of=\"weights\"", number(use.traffic.weights.bytes));
  out.family("outpace_payload_numbers_total",
             "counter",
             "Numbers of gradients and weights; four bytes each, unless they are packed.");
  out.sample("of=\"gradients\"", number(use.traffic.gradients.numbers));
  out.sample("of=\"weights\"", number(use.traffic.weights.numbers));
  out.one("outpace_checkpoints_total",
          "counter",
          "Checkpoints that were begun.",
          number(board.checkpoints()));
  if (const auto last = board.last_checkpoint()) {
    out.one("outpace_checkpoint_age_seconds",
            "gauge",
            "Time since the last one was begun.",
            to_seconds(board.now() - *last));
  }
  out.one("outpace_disk_free_ratio",
          "gauge",
          "Free share of the disk with the run's record.",
          use.disk_free_share);
  out.one("process_cpu_seconds_total",
          "counter",
          "Processor time of the server's process.",
          use.processor_seconds);
  out.one("process_resident_memory_bytes",
          "gauge",
          "Memory of the server's process.",
          number(use.resident_bytes));
}

}  // namespace

std::string metrics_text(const Board& board, const std::string& version) {
  MetricsText out;
  out.family("outpace_build_info", "gauge", "The program, and what it runs.");
  out.sample(
      fmt::format("version=\"{}\",policy=\"{}\"", escaped(version), escaped(board.about().name)),
      1.0);
  add_training(board, out);
  add_staleness(board, out);
  add_workers(board, out);
  add_alarms(board, out);
  add_server(board, out);
  return out.take();
}

}  // namespace outpace::watch
