#include "runtime_model/cutoff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"

namespace outpace::runtime_model {
namespace {

constexpr double kKeepRate = 0.99;  // Weight of the past rate after an iteration.
// Forecasts err, and a decision to stop is put into practice later than it is made. So a worker is
// waited for unless stopping is better by this share of the rate.
constexpr double kDoubt = 0.01;
constexpr double kAlmostSurely = 1.0 - 1e-4;
// Without a forecast: the longest iteration, in times until half have come.
constexpr double kLongestUnknown = 4.0;
// Parts that come just after nobody waits for them any more have cost the wait besides themselves.
constexpr double kPatience = 2.0;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Cutoff::Cutoff(std::unique_ptr<RuntimeModel> model, Options options)
    : model_(std::move(model)), options_(options), unknowing_(model_ != nullptr) {
  CHECK(options_.least >= 1 && options_.least <= options_.most);
}

double Cutoff::rate() const {
  if (!(seconds_ > 0.0)) {
    return 0.0;
  }
  double worth = parts_;
  for (std::size_t count = 1; count < updates_.size(); ++count) {
    worth += updates_[count] * worth_.of(static_cast<double>(count));
  }
  return worth / seconds_;
}

void Cutoff::begin(std::span<const Participant> participants) {
  plan_ = {};
  taking_part_.clear();
  for (const Participant& one : participants) {
    taking_part_.push_back(one.worker);
  }
  late_.clear();
  half_at_.reset();
  const bool model_forecasts = model_ && !participants.empty() && model_->forecast(forecast_);
  unknowing_ = model_ && !model_forecasts;
  has_forecast_ = model_forecasts && rate() > 0.0;
  if (!has_forecast_) {
    return;
  }
  for (const Participant& one : participants) {
    if (one.busy > 0.0) {
      const double passed = forecast_.cdf(one.worker, forecast_.grid().position(one.busy));
      const double done =
          forecast_.quantile(one.worker, std::min(0.5 + 0.5 * passed, kAlmostSurely));
      // One that has outlived its forecast may need as long again.
      begin_late(one.worker, passed < kAlmostSurely ? std::max(done - one.busy, 0.0) : one.busy);
    } else if (one.late > 0.0) {
      begin_late(one.worker, one.late);
    }
  }
  for (auto& [worker, late] : late_) {
    late.when_planned = late.seconds;
  }
  make_plan();
}

void Cutoff::keep(Archive& archive) {
  archive.group("model", [&] { model_->keep(archive); });
  archive("forecast", forecast_)("has_forecast", has_forecast_)("taking_part", taking_part_);
  archive("unknowing", unknowing_)("half_at", half_at_);
  archive("late", late_)("worth", worth_)("seconds", seconds_)("updates", updates_);
  archive("iterations", iterations_);
  if (options_.parts_count) {
    archive("parts", parts_);
  }
  if (!archive.reads() || !has_forecast_) {
    return;
  }
  for (const auto& [worker, late] : late_) {  // As it was when the plan was made.
    std::copy(late.row.begin(), late.row.end(), forecast_.row(worker).begin());
    if (late.when_planned) {
      delay(worker, late, *late.when_planned);
    }
  }
  make_plan();
  for (const auto& [worker, late] : late_) {
    delay(worker, late, late.seconds);
  }
}

void Cutoff::make_plan() {
  switch (options_.decide) {
    case Decide::kBefore:
      return plan_before();
    case Decide::kDeadline:
      return plan_deadline();
    case Decide::kDuring:
      return options_.parts_count ? plan_phases() : plan_during();
  }
}

void Cutoff::begin_late(std::uint32_t worker, double seconds) {
  if (!has_forecast_ || (seconds <= 0.0 && !late_.contains(worker))) {
    return;
  }
  const std::span<const float> row = forecast_.row(worker);
  Late& late = late_.try_emplace(worker, Late{.row = {row.begin(), row.end()}}).first->second;
  late.seconds = seconds;
  delay(worker, late, seconds);
}

void Cutoff::delay(std::uint32_t worker, const Late& late, double seconds) {
  std::copy(late.row.begin(), late.row.end(), forecast_.row(worker).begin());
  forecast_.delay_row(worker, seconds);
}

void Cutoff::plan_before() {
  const auto workers = static_cast<std::uint32_t>(taking_part_.size());
  draws_.draw(forecast_, taking_part_, draws_for(workers), iterations_);
  double best = 0.0;
  plan_ = {.count = workers, .seconds = draws_.mean(workers)};
  for (std::uint32_t c = 1; c <= workers; ++c) {
    const double per_second = worth_.of(c) / draws_.mean(c);
    if (per_second > best) {
      best = per_second;
      plan_ = {.count = c, .seconds = draws_.mean(c)};
    }
  }
  deadline_ = kNever;
}

void Cutoff::plan_deadline() {
  const auto workers = static_cast<std::uint32_t>(taking_part_.size());
  plan_before();
  const double rate = this->rate();
  double best = -kNever;
  for (std::uint32_t c = 1; c <= workers; ++c) {
    const double gain = worth_.of(c) - rate * draws_.mean(c);
    if (gain > best) {
      best = gain;
      plan_ = {.count = c, .seconds = draws_.mean(c)};
    }
  }
  // Candidate deadlines are the quantiles of each order statistic.
  for (std::uint32_t c = 1; c <= workers; ++c) {
    for (const double probability : {0.5, 0.9, 0.99}) {
      const double deadline = draws_.quantile(c, probability);
      double brought = 0.0;
      double time = 0.0;
      for (std::uint32_t k = 0; k < draws_.count(); ++k) {
        const std::span<const float> row = draws_.sorted(k);
        brought += worth_.of(static_cast<double>(
            std::upper_bound(row.begin(), row.end(), static_cast<float>(deadline)) - row.begin()));
        time += std::min<double>(deadline, row.back());
      }
      const double gain = (brought - rate * time) / draws_.count();
      if (gain > best) {
        best = gain;
        plan_ = {.count = workers, .seconds = deadline};
        deadline_ = deadline;
      }
    }
  }
}

void Cutoff::plan_during() {
  stopping_.begin(forecast_, taking_part_, (1.0 - kDoubt) * rate(), worth_);
  const Stopping::Plan plan = stopping_.best_plan(
      0.0,
      0,
      taking_part_,
      std::min(1.0 * options_.least, static_cast<double>(taking_part_.size()) - 0.5));
  plan_ = {.count = static_cast<std::uint32_t>(std::lround(plan.arrivals)), .seconds = plan.until};
}

void Cutoff::plan_phases() {
  phase_stopping_.begin(forecast_, (1.0 - kDoubt) * rate());
  const PhaseStopping::Plan plan = phase_stopping_.plan(taking_part_);
  plan_ = {.count = plan.count, .seconds = plan.until};
}

Cutoff::Verdict Cutoff::look(double seconds,
                             std::uint32_t arrived,
                             std::span<const std::uint32_t> out) {
  CHECK(arrived >= 1);
  if (is_complete(arrived, out)) {
    return {.stop = true};
  }
  if (arrived >= options_.least && unknowing_) {
    return look_unknowing(seconds, arrived, out);
  }
  if (arrived < options_.least || !has_forecast_) {
    return {.stop = model_ == nullptr && arrived >= options_.least, .again = kNever};
  }
  if (options_.decide == Decide::kDuring && options_.parts_count) {
    const PhaseStopping::Outlook outlook = phase_stopping_.look(seconds, out);
    return {.stop = outlook.stop, .again = outlook.again};
  }
  if (options_.decide == Decide::kDuring) {
    const Stopping::Outlook outlook = stopping_.look(seconds, arrived, out);
    return {.stop = outlook.stop, .again = outlook.again};
  }
  return {.stop = arrived >= plan_.count || seconds >= deadline_, .again = deadline_};
}

Cutoff::Verdict Cutoff::look_unknowing(double seconds,
                                       std::uint32_t arrived,
                                       std::span<const std::uint32_t> out) {
  if (!half_at_ && arrived >= out.size()) {
    half_at_ = seconds;
  }
  if (options_.parts_count) {
    return {.stop = half_at_.has_value(), .again = kNever};
  }
  const double deadline = half_at_ ? kLongestUnknown * *half_at_ : kNever;
  return {.stop = seconds >= deadline, .again = deadline, .lets_finish = true};
}

std::optional<double> Cutoff::patience(double seconds, std::span<const std::uint32_t> out) const {
  if (!options_.parts_count || options_.decide != Decide::kDuring || !has_forecast_) {
    return std::nullopt;
  }
  return kPatience * phase_stopping_.done(seconds, out) / rate();
}

void Cutoff::end(std::span<const Observation> iteration,
                 std::uint32_t count,
                 double seconds,
                 bool typical,
                 double parts) {
  if (typical) {
    seconds_ = kKeepRate * seconds_ + seconds;
    parts_ = kKeepRate * parts_ + parts;
    updates_.resize(std::max<std::size_t>(updates_.size(), count + 1U));
    for (double& updates : updates_) {
      updates *= kKeepRate;
    }
    updates_[count] += 1.0;
  }
  ++iterations_;
  has_forecast_ = false;
  const bool seen = std::any_of(iteration.begin(), iteration.end(), [](const Observation& one) {
    return one.fate != Fate::kBusy;
  });
  if (seen && model_) {
    model_->observe(iteration);
  }
}

void Cutoff::correct(std::uint32_t worker, double seconds) {
  if (model_) {
    model_->correct(worker, seconds);
  }
}

}  // namespace outpace::runtime_model
