#include "runtime_model/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/check.h"
#include "runtime_model/probing.h"

namespace outpace::runtime_model {
namespace {

// One trial: the cluster, the rule, and the clock.
class Trial {
 public:
  Trial(const Trace& trace, Cutoff& cutoff, const TrialOptions& options)
      : trace_(trace),
        cutoff_(cutoff),
        options_(options),
        tasks_(trace.workers()),
        probing_(trace.workers()) {}

  TrialResult run() {
    for (std::size_t i = 0; i < trace_.rows(); ++i) {
      live_through(i);
    }
    return result();
  }

 private:
  // The work that a worker has left over from an earlier iteration, and what it has done of it.
  struct Task {
    double rest = 0.0;
    double done = 0.0;
    bool seen_longer = false;      // The model was told so.
    std::uint32_t iterations = 0;  // Since it was let finish.
  };
  struct Arrival {
    double at;
    std::uint32_t worker;
    bool late;  // Belongs to an earlier iteration.
    bool operator<(const Arrival& other) const {
      return std::pair{at, worker} < std::pair{other.at, other.worker};
    }
  };

  // Runs `decide` and returns the seconds that it took.
  template <typename Decide>
  double timed(const Decide& decide) {
    if (!options_.clock) {
      decide();
      return 0.0;
    }
    const double before = options_.clock();
    decide();
    const double took = options_.clock() - before;
    decisions_.push_back(took);
    return took;
  }

  void live_through(std::size_t i) {
    const std::span<const double> row = trace_.row(i);
    const bool judged = i >= options_.fit_rows;
    if (i == options_.fit_rows) {
      decisions_.clear();
      believed_.clear();
    }
    std::vector<Cutoff::Participant> participants;
    arrivals_.clear();
    for (std::uint32_t w = 0; w < row.size(); ++w) {
      participants.push_back({.worker = w, .busy = tasks_[w].rest > 0.0 ? tasks_[w].done : 0.0});
      if (tasks_[w].rest > 0.0) {
        arrivals_.push_back({.at = tasks_[w].rest, .worker = w, .late = true});
      }
      arrivals_.push_back({.at = tasks_[w].rest + row[w], .worker = w, .late = false});
    }
    std::sort(arrivals_.begin(), arrivals_.end());
    const double ready = timed([&] {
      if (!observations_.empty()) {
        cutoff_.end(observations_, ended_.count, ended_.seconds, i > options_.warm_up_rows);
      }
      cutoff_.begin(participants);
    });
    const bool has_forecast = cutoff_.forecast() != nullptr;
    std::optional<Forecast> forecast;
    const bool is_scored = has_forecast && (judged || !options_.fitted);
    if (is_scored) {
      score_.add(*cutoff_.forecast(), arrivals_by_worker(), judged);
    }
    if (judged && has_forecast) {
      ++believed_[cutoff_.believed()];
      if (options_.watch) {
        forecast = *cutoff_.forecast();  // A late worker changes the forecast.
      }
    }
    lets_finish_ = false;
    ended_ = wait(ready);
    if (is_scored) {
      score_.end(judged ? ended_.seconds : std::numeric_limits<double>::infinity());
    }
    observe(row, judged);
    if (i < options_.warm_up_rows) {
      observations_.assign(row.size(), {});
    }
    if (judged) {
      rows_.push_back(ended_);
      if (options_.watch) {
        const std::vector<double> came = arrivals_seconds();
        options_.watch(
            {.row = i, .forecast = forecast ? &*forecast : nullptr, .came = came, .ended = ended_});
      }
    }
  }

  // Waits until the iteration ends; returns when, and with how many gradients.
  TrialRow wait(double ready) {
    std::vector<std::uint32_t> out;
    for (const Arrival& arrival : arrivals_) {
      if (!arrival.late) {
        out.push_back(arrival.worker);
      }
    }
    const auto workers = static_cast<std::uint32_t>(out.size());
    std::size_t next = 0;
    double now = 0.0;
    const auto take_until = [&](double time) {
      for (; next < arrivals_.size() && arrivals_[next].at <= time; ++next) {
        const Arrival& arrival = arrivals_[next];
        if (arrival.late) {
          const Task& task = tasks_[arrival.worker];
          if (options_.late_corrects && !options_.reveal && task.seen_longer) {
            cutoff_.correct(arrival.worker, task.done + task.rest);
          }
          cutoff_.begin_late(arrival.worker, arrival.at);
        } else {
          out.erase(std::find(out.begin(), out.end(), arrival.worker));
        }
      }
    };
    while (true) {
      // Not before the first arrival.
      while (out.size() == workers) {
        now = arrivals_[next].at;
        take_until(now);
      }
      now = std::max(now, ready);
      take_until(now);
      Cutoff::Verdict verdict;
      const double took = timed([&] {
        verdict = cutoff_.look(now, static_cast<std::uint32_t>(workers - out.size()), out);
      });
      if (verdict.stop) {
        lets_finish_ = verdict.lets_finish;
        const double end = out.empty() ? now : now + took;
        take_until(end);
        return {.seconds = end, .count = static_cast<std::uint32_t>(workers - out.size())};
      }
      CHECK(next < arrivals_.size());
      now = std::min(std::max(verdict.again, now + took), std::max(arrivals_[next].at, now + took));
      take_until(now);
    }
  }

  // Shows the model what the server saw of the iteration, and works out what the workers have left
  // to do.
  void observe(std::span<const double> row, bool censored) {
    observations_.assign(row.size(), {});
    for (std::uint32_t w = 0; w < row.size(); ++w) {
      const double began = tasks_[w].rest;
      const double given = ended_.seconds - began;
      Observation& seen = observations_[w];
      Task& task = tasks_[w];
      if (!censored || began + row[w] <= ended_.seconds) {
        seen = {.seconds = row[w], .fate = Fate::kArrived};
        task = {};
        probing_[w].came();
      } else if (given > 0.0) {
        if (!lets_finish_) {
          seen = {.seconds = given, .fate = Fate::kLonger};
        }
        task = {.rest = row[w] - given, .done = given, .seen_longer = !lets_finish_};
        if (options_.cut == Cut::kCancel && !lets_finish_ && !probing_[w].lets_finish()) {
          task = {};
        }
      } else {
        task.rest = -given;
        task.done += ended_.seconds;
        ++task.iterations;
        if (options_.cut == Cut::kCancel && task.iterations > Probing::kLongest) {
          task = {};
        }
      }
      if (options_.reveal && seen.fate == Fate::kLonger) {
        seen = {.seconds = row[w], .fate = Fate::kArrived};
      }
    }
  }

  [[nodiscard]] std::vector<double> arrivals_seconds() const {
    std::vector<double> seconds;
    for (const Arrival& arrival : arrivals_) {
      if (!arrival.late) {
        seconds.push_back(arrival.at);
      }
    }
    return seconds;
  }

  [[nodiscard]] std::vector<double> arrivals_by_worker() const {
    std::vector<double> seconds(trace_.workers());
    for (const Arrival& arrival : arrivals_) {
      if (!arrival.late) {
        seconds[arrival.worker] = arrival.at;
      }
    }
    return seconds;
  }

  TrialResult result() {
    TrialResult found{.rows = rows_,
                      .omega = 0.0,
                      .workers = score_.workers(),
                      .orders = score_.orders(),
                      .recalibrated = score_.recalibrated(),
                      .crps = score_.crps(),
                      .recalibrated_crps = score_.recalibrated_crps(),
                      .decision_p50 = 0.0,
                      .decision_p99 = 0.0,
                      .decisions_per_iteration = 0.0,
                      .believed = {}};
    double count = 0.0;
    double seconds = 0.0;
    for (const TrialRow& row : rows_) {
      count += row.count;
      seconds += row.seconds;
    }
    found.omega = count / seconds;
    if (!decisions_.empty()) {
      found.decisions_per_iteration = std::accumulate(decisions_.begin(), decisions_.end(), 0.0) /
                                      static_cast<double>(rows_.size());
      std::sort(decisions_.begin(), decisions_.end());
      found.decision_p50 = decisions_[decisions_.size() / 2];
      found.decision_p99 = decisions_[decisions_.size() * 99 / 100];
    }
    std::size_t most = 0;
    for (const auto& [name, times] : believed_) {
      if (times > most) {
        most = times;
        found.believed = name;
      }
    }
    return found;
  }

  const Trace& trace_;
  Cutoff& cutoff_;
  const TrialOptions& options_;
  std::vector<Task> tasks_;
  std::vector<Probing> probing_;
  bool lets_finish_ = false;       // In this iteration nobody was cut off.
  std::vector<Arrival> arrivals_;  // The present iteration's, in order of time.
  std::vector<Observation> observations_;
  TrialRow ended_{};
  std::vector<TrialRow> rows_;
  std::vector<double> decisions_;
  ForecastScore score_;
  std::map<std::string, std::size_t> believed_;
};

std::vector<double> sorted(std::span<const double> row) {
  std::vector<double> in_order(row.begin(), row.end());
  std::sort(in_order.begin(), in_order.end());
  return in_order;
}

TrialResult without_forecasts(std::vector<TrialRow> rows) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  TrialResult found;
  double count = 0.0;
  double seconds = 0.0;
  for (const TrialRow& row : rows) {
    count += row.count;
    seconds += row.seconds;
  }
  found.rows = std::move(rows);
  found.omega = count / seconds;
  found.workers = found.orders = found.recalibrated = {.in50 = kNone, .in90 = kNone};
  found.crps = found.recalibrated_crps = kNone;
  return found;
}

}  // namespace

Trace::Trace(std::vector<double> seconds, std::uint32_t workers)
    : seconds_(std::move(seconds)), workers_(workers) {
  CHECK(workers_ >= 1 && !seconds_.empty() && seconds_.size() % workers_ == 0);
  CHECK(std::all_of(seconds_.begin(), seconds_.end(), [](double value) {
    return value > 0.0 && std::isfinite(value);
  }));
}

Trace Trace::first_rows(std::size_t count) const {
  CHECK(count >= 1 && count <= rows());
  const auto end = seconds_.begin() + static_cast<std::ptrdiff_t>(count * workers_);
  return {std::vector<double>(seconds_.begin(), end), workers_};
}

TrialResult try_cutoff(const Trace& trace, Cutoff& cutoff, const TrialOptions& options) {
  CHECK(options.fit_rows < trace.rows());
  return Trial(trace, cutoff, options).run();
}

TrialResult try_fixed(const Trace& trace, std::size_t from, std::uint32_t count) {
  std::vector<TrialRow> rows;
  for (std::size_t i = from; i < trace.rows(); ++i) {
    rows.push_back({.seconds = sorted(trace.row(i))[count - 1], .count = count});
  }
  return without_forecasts(std::move(rows));
}

std::uint32_t best_fixed(const Trace& trace, std::size_t from) {
  std::vector<double> seconds(trace.workers(), 0.0);
  for (std::size_t i = from; i < trace.rows(); ++i) {
    const std::vector<double> in_order = sorted(trace.row(i));
    for (std::uint32_t c = 0; c < trace.workers(); ++c) {
      seconds[c] += in_order[c];
    }
  }
  std::uint32_t best = 1;
  for (std::uint32_t c = 1; c <= trace.workers(); ++c) {
    best = c / seconds[c - 1] > best / seconds[best - 1] ? c : best;
  }
  return best;
}

TrialResult try_oracle(const Trace& trace, std::size_t from) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = from; i < trace.rows(); ++i) {
    rows.push_back(sorted(trace.row(i)));
  }
  TrialResult best;
  while (true) {
    std::vector<TrialRow> chosen;
    for (const std::vector<double>& row : rows) {
      std::size_t c = 0;
      for (std::size_t k = 1; k < row.size(); ++k) {
        const double gain = static_cast<double>(k + 1) - best.omega * row[k];
        c = gain > static_cast<double>(c + 1) - best.omega * row[c] ? k : c;
      }
      chosen.push_back({.seconds = row[c], .count = static_cast<std::uint32_t>(c + 1)});
    }
    TrialResult found = without_forecasts(std::move(chosen));
    if (!(found.omega > best.omega)) {
      return best;
    }
    best = std::move(found);
  }
}

}  // namespace outpace::runtime_model
