#include "cli/sweep_plot.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "plot/lines.h"

namespace outpace::cli {

using throughput::ClusterPrediction;
using throughput::ComputingAlone;
using throughput::MeasuredProfile;
using throughput::Sweep;

namespace {

plot::ChartLine line_of_sweep(const std::vector<const ClusterPrediction*>& sweep) {
  plot::ChartLine line{.name = kind_name(*sweep.front()),
                       .kind = 0,
                       .dashed = sweep.front()->model == job::PredictionModel::kCoarse,
                       .points = {}};
  line.points.reserve(sweep.size());
  for (const ClusterPrediction* const one : sweep) {
    plot::LinePoint point{.x = static_cast<double>(one->workers),
                          .y = one->rate.examples_per_second};
    if (!line.dashed) {
      point.interval = plot::Interval{one->rate.low, one->rate.high};
    }
    line.points.push_back(point);
  }
  if (const auto enough = saturated(sweep)) {
    line.mark = plot::LineMark{*enough, fmt::format("{}", sweep[*enough]->workers)};
  }
  return line;
}

std::vector<plot::ChartLine> lines_of(const std::vector<ClusterPrediction>& predictions) {
  std::vector<plot::ChartLine> lines;
  std::vector<std::string> kinds;
  std::set<std::string> marked;
  for (const std::vector<const ClusterPrediction*>& sweep : by_kind_and_model(predictions)) {
    plot::ChartLine line = line_of_sweep(sweep);
    auto kind = std::find(kinds.begin(), kinds.end(), line.name);
    if (kind == kinds.end()) {
      kind = kinds.insert(kinds.end(), line.name);
    }
    line.kind = static_cast<std::size_t>(kind - kinds.begin());
    if (line.mark && !marked.insert(line.name).second) {
      line.mark.reset();  // Once for each kind.
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> notes_of(const std::vector<plot::ChartLine>& lines) {
  const auto dashed = [](const plot::ChartLine& line) { return line.dashed; };
  std::string drawn;
  if (!std::all_of(lines.begin(), lines.end(), dashed)) {
    drawn = "Solid: the fine model; shaded: its 95 % interval. ";
  }
  if (std::any_of(lines.begin(), lines.end(), dashed)) {
    drawn += "Dashed: the coarse model.";
  }
  std::vector<std::string> notes{drawn};
  if (std::any_of(lines.begin(), lines.end(), [](const auto& line) { return bool{line.mark}; })) {
    notes.emplace_back(
        "Circle: number of workers at which it is saturated, with 95 % of its maximum.");
  }
  return notes;
}

}  // namespace

std::string sweep_plot(const Sweep& sweep, const MeasuredProfile& profile) {
  std::vector<plot::ChartLine> lines = lines_of(sweep.predictions);
  std::vector<plot::Point> ideal{{0.0, 0.0}};
  for (const ComputingAlone& one : sweep.ideal) {
    ideal.push_back({static_cast<double>(one.workers), one.examples_per_second});
  }
  std::sort(ideal.begin(), ideal.end(), [](const plot::Point& a, const plot::Point& b) {
    return a.x < b.x;
  });
  std::vector<std::string> notes = notes_of(lines);
  return plot::line_plot_of(
      {.title = fmt::format("{}, mini-batches of {}: predicted", profile.network, profile.batch),
       .level = "workers",
       .upright = "examples/s",
       .lines = std::move(lines),
       .ideal = std::move(ideal),
       .ideal_name = "computing alone (ideal)",
       .notes = std::move(notes)});
}

}  // namespace outpace::cli
