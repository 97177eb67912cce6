#include "report/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "plot/lines.h"

namespace outpace::report {
namespace {

// Black on white, whatever the reader's screen: it is for paper too.
constexpr std::string_view kHead =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Outpace: report</title>\n<style>\n"
    "body { font: 15px/1.5 system-ui, \"DejaVu Sans\", sans-serif; color: #16191d; background: "
    "#fff;"
    " max-width: 900px; margin: 24px auto; padding: 0 16px; }\n"
    "h1 { font-size: 24px; } h2 { font-size: 19px; margin-top: 32px; } h3 { font-size: 16px; }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }\n"
    "th, td { text-align: left; padding: 3px 16px 3px 0; border-bottom: 1px solid #d9dde3;"
    " vertical-align: top; overflow-wrap: anywhere; }\n"
    "th { font-weight: 600; }\n"
    ".scroll th, .scroll td { overflow-wrap: normal; }\n"
    "pre { overflow-x: auto; font-size: 12px; background: #f4f5f7; padding: 10px; }\n"
    "svg { max-width: 100%; height: auto; }\n.scroll { overflow-x: auto; }\n"
    "figure { margin: 12px 0; break-inside: avoid; } tr { break-inside: avoid; }\n"
    "@media print { body { margin: 0; max-width: none; font-size: 11pt; } "
    "pre { white-space: pre-wrap; overflow-wrap: anywhere; } "
    "section + section { break-before: page; } }\n"
    "</style></head><body>\n";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

class Html {
 public:
  Html& raw(std::string_view text) {
    out_ += text;
    return *this;
  }
  Html& text(std::string_view text) { return raw(escaped(text)); }
  Html& element(std::string_view name, std::string_view words) {
    return raw("<").raw(name).raw(">").text(words).raw("</").raw(name).raw(">\n");
  }
  Html& row(const std::vector<std::string>& cells, std::string_view cell = "td") {
    raw("<tr>");
    for (const std::string& one : cells) {
      raw("<").raw(cell).raw(">").text(one).raw("</").raw(cell).raw(">");
    }
    return raw("</tr>\n");
  }
  // An SVG document, as a figure.
  Html& figure(const std::string& svg) {
    const std::size_t begin = svg.find("<svg");
    return raw("<figure>").raw(std::string_view(svg).substr(begin)).raw("</figure>\n");
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// 0: it has none.
double median_runtime(const watch::WorkerView& worker) {
  const std::vector<float> sample = worker.sample();
  return sample.empty() ? 0.0 : watch::median(sample);
}

std::string in_seconds(double seconds) {
  return seconds < 1.0 ? fmt::format("{:.3g} ms", 1e3 * seconds) : fmt::format("{:.3g} s", seconds);
}

double rate_of(const watch::Board& board) {
  const double seconds = to_seconds(board.now());
  return seconds > 0.0 ? static_cast<double>(board.sums().applied) / seconds : 0.0;
}

std::string accuracy_of(const watch::Board& board) {
  const auto& all = board.evaluations().points();
  return all.empty() ? "-" : fmt::format("{:.1f} %", 100.0 * all.back().accuracy);
}

// Rates of a sum of points that are apart, so that a figure of a long run is not all noise.
std::vector<plot::LinePoint> rates(const std::vector<watch::Point>& points,
                                   const std::function<double(const watch::Point&)>& sum,
                                   const std::function<double(const watch::Point&)>& by) {
  std::vector<plot::LinePoint> line;
  if (points.size() < 2) {
    return line;
  }
  constexpr std::size_t kParts = 100;
  const std::size_t apart = std::max<std::size_t>(1, points.size() / kParts);
  for (std::size_t i = apart; i < points.size(); i += apart) {
    const double per = by(points[i]) - by(points[i - apart]);
    if (per > 0.0) {
      line.push_back({.x = points[i].seconds,
                      .y = std::max(0.0, (sum(points[i]) - sum(points[i - apart])) / per)});
    }
  }
  return line;
}

void add_line(std::vector<plot::ChartLine>& lines,
              const std::string& name,
              std::vector<plot::LinePoint> points) {
  if (!points.empty()) {
    lines.push_back({.name = name, .kind = lines.size(), .points = std::move(points)});
  }
}

void add_chart(Html& out, plot::LineChart chart) {
  if (!chart.lines.empty()) {
    out.figure(plot::line_plot_of(chart));
  }
}

void add_figures(const watch::Board& board, Html& out) {
  const auto& points = board.course().points();
  const auto seconds = [](const watch::Point& one) { return one.seconds; };
  plot::LineChart loss{.title = "Loss", .level = "seconds", .upright = "loss"};
  std::vector<plot::LinePoint> training;
  for (const watch::Point& one : points) {
    if (one.loss && std::isfinite(*one.loss) && *one.loss >= 0.0) {
      training.push_back({.x = one.seconds, .y = *one.loss});
    }
  }
  add_line(loss.lines, "training", std::move(training));
  std::vector<plot::LinePoint> test;
  std::vector<plot::LinePoint> accuracy;
  for (const watch::Evaluated& one : board.evaluations().points()) {
    if (one.loss && std::isfinite(*one.loss) && *one.loss >= 0.0) {
      test.push_back({.x = one.seconds, .y = *one.loss});
    }
    accuracy.push_back({.x = one.seconds, .y = 100.0 * one.accuracy});
  }
  std::ranges::sort(test, {}, &plot::LinePoint::x);
  std::ranges::sort(accuracy, {}, &plot::LinePoint::x);
  add_line(loss.lines, "test", std::move(test));
  add_chart(out, std::move(loss));
  plot::LineChart accurate{.title = "Test accuracy", .level = "seconds", .upright = "%"};
  add_line(accurate.lines, "accuracy", std::move(accuracy));
  add_chart(out, std::move(accurate));
  plot::LineChart examples{
      .title = "Examples a second", .level = "seconds", .upright = "examples/s"};
  add_line(examples.lines,
           "applied",
           rates(
               points, [](const auto& one) { return static_cast<double>(one.applied); }, seconds));
  add_line(examples.lines,
           "lost to drops",
           rates(
               points, [](const auto& one) { return one.dropped; }, seconds));
  add_line(examples.lines,
           "lost to cancels",
           rates(
               points, [](const auto& one) { return one.cancelled; }, seconds));
  add_line(examples.lines,
           "lost to waiting",
           rates(
               points, [](const auto& one) { return one.waiting; }, seconds));
  add_chart(out, std::move(examples));
  plot::LineChart cutoff{
      .title = "Gradients in an update", .level = "seconds", .upright = "gradients"};
  add_line(cutoff.lines,
           "mean",
           rates(
               points,
               [](const auto& one) { return static_cast<double>(one.gradients); },
               [](const auto& one) { return static_cast<double>(one.version); }));
  if (!board.about().updates_alone) {
    add_chart(out, std::move(cutoff));
  }
}

void add_what_was_run(const ReportedRun& run, Html& out) {
  const watch::Board& board = *run.board;
  const watch::About& about = board.about();
  out.element("h3", "What was run, and how it went").raw("<table>\n");
  out.row({"policy", about.name}).row({"workers", std::to_string(about.workers)});
  if (!about.network.empty()) {
    out.row({"network", about.network}).row({"data", about.data});
  }
  out.row({"record", about.run});
  out.row({"ended", board.why_ended().empty() ? "it has not ended" : board.why_ended()});
  if (!run.gap.empty()) {
    out.row({"what is below ends at", run.gap});
  }
  out.row({"time", fmt::format("{:.1f} s", to_seconds(board.now()))});
  out.row({"updates", std::to_string(board.sums().version)});
  out.row({"examples applied", std::to_string(board.sums().applied)});
  out.row({"examples a second", fmt::format("{:.0f}", rate_of(board))});
  out.row({"last test accuracy", accuracy_of(board)});
  if (const std::string gain = board.gain_in_words(); !gain.empty()) {
    out.row({"at the end", gain});
  }
  out.raw("</table>\n");
}

// Of hundreds of workers that join one after another at the beginning, one line.
std::vector<watch::NewsLine> without_first_joins(const watch::Board& board) {
  const auto& news = board.news();
  const auto other = std::ranges::find_if_not(
      news, [](const watch::NewsLine& line) { return line.words.ends_with(" has joined"); });
  const auto joined = static_cast<std::size_t>(other - news.begin());
  std::vector<watch::NewsLine> lines;
  if (joined > 0) {
    lines.push_back({.at = news.front().at,
                     .words = fmt::format("{} worker{} joined", joined, joined == 1 ? "" : "s")});
  }
  lines.insert(lines.end(), other, news.end());
  return lines;
}

void add_workers(const watch::Board& board, Html& out) {
  out.element("h3", "Slow workers").raw("<div class=\"scroll\"><table>\n");
  out.row({"worker",
           "median of the last runtimes",
           "gradients applied",
           "dropped",
           "cut off",
           "waited",
           "joined"},
          "th");
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < board.workers().size(); ++i) {
    order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&board](std::size_t i) {
    return median_runtime(board.workers()[i]);
  });
  constexpr std::size_t kRowsMost = 32;
  const bool all = order.size() <= kRowsMost;
  order.resize(std::min(order.size(), kRowsMost));
  for (const std::size_t i : order) {
    const watch::WorkerView& one = board.workers()[i];
    out.row({fmt::format("{}{}", i, one.host.empty() ? "" : " (" + one.host + ")"),
             (one.longer() ? "over " : "") + in_seconds(median_runtime(one)),
             std::to_string(one.accepted),
             std::to_string(one.dropped),
             std::to_string(one.abandoned),
             fmt::format("{:.1f} s", board.lanes().waited(WorkerId{static_cast<std::uint32_t>(i)})),
             fmt::format("{}x", one.joined)});
  }
  out.raw("</table></div>\n");
  if (!all) {
    out.element("p", fmt::format("These are the slowest of {} workers.", board.workers().size()));
  }
  if (!board.news().empty()) {
    out.element("h3", "What happened").raw("<table>\n");
    for (const watch::NewsLine& line : without_first_joins(board)) {
      out.row({fmt::format("{:.1f} s", to_seconds(line.at)), line.words});
    }
    out.raw("</table>\n");
  }
}

void add_whatif(const ReportedRun& run, Html& out) {
  out.element("h3", "What that cost, and what another policy would have brought");
  if (!run.whatif) {
    out.element("p", run.why_no_whatif);
    return;
  }
  out.element("p", "These are the answers of `outpace whatif` to this record.");
  if (!run.whatif->answers.empty()) {
    out.figure(throughput::report_plot(*run.whatif));
  }
  out.element("pre", throughput::report_text(*run.whatif));
}

void add_repeat(const ReportedRun& run, Html& out) {
  out.element("h3", "How to repeat it");
  if (run.config.empty()) {
    out.element("p", "The record has no config.toml.");
    return;
  }
  out.element("p",
              "Save this as config.toml, and run: outpace " +
                  (run.command.empty() ? "COMMAND" : run.command) + " --resolved=config.toml");
  out.element("pre", run.config);
}

void add_comparison(const std::vector<ReportedRun>& runs, Html& out) {
  out.element("h2", "Side by side").raw("<div class=\"scroll\"><table>\n");
  out.row({"run", "policy", "workers", "time", "updates", "examples/s", "test accuracy"}, "th");
  for (const ReportedRun& run : runs) {
    const watch::Board& board = *run.board;
    out.row({board.about().run,
             board.about().name,
             std::to_string(board.about().workers),
             fmt::format("{:.1f} s", to_seconds(board.now())),
             std::to_string(board.sums().version),
             fmt::format("{:.0f}", rate_of(board)),
             accuracy_of(board)});
  }
  out.raw("</table></div>\n");
}

}  // namespace

std::string html_of(const std::vector<ReportedRun>& runs) {
  Html out;
  out.raw(kHead).element("h1", runs.size() == 1 ? "Report of a run" : "Report of runs");
  if (runs.size() > 1) {
    add_comparison(runs, out);
  }
  for (const ReportedRun& run : runs) {
    out.raw("<section>\n").element("h2", run.board->about().run);
    add_what_was_run(run, out);
    add_figures(*run.board, out);
    add_workers(*run.board, out);
    add_whatif(run, out);
    add_repeat(run, out);
    out.raw("</section>\n");
  }
  out.raw("</body></html>\n");
  return out.take();
}

}  // namespace outpace::report
