#include "policy/auto.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/overloaded.h"
#include "policy/auto_candidates.h"

namespace outpace::policy {
namespace {

// Where noise is all that is seen: gradients a second are what counts.
constexpr double kMostNoise = 1e4;
std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

Spec spec_of(std::uint32_t candidate) {
  return Spec::parse(kAutoCandidates.at(candidate).policy);
}

std::string name_of(std::uint32_t candidate) {
  return candidate_phase(kAutoCandidates.at(candidate)).words();
}

std::vector<AutoChoice::Option> options(bool may_balance) {
  std::vector<AutoChoice::Option> options;
  options.reserve(kAutoCandidates.size());
  for (const AutoCandidate& candidate : kAutoCandidates) {
    options.push_back({.doubt = candidate.doubt,
                       .tried = candidate.tried,
                       .left_out = candidate.balance && !may_balance});
  }
  return options;
}

}  // namespace

Auto::Auto(std::uint32_t workers, const PolicyInputs& inputs)
    : may_balance_(inputs.may_balance),
      scale_invariant_(inputs.scale_invariant),
      inside_(std::make_unique<Switch>(spec_of(0), workers, inputs), may_balance_, /*on=*/false),
      choice_(options(!inputs.balance && !inputs.balanced_outside && may_balance_.most > 1.0)),
      warm_up_(std::max(1U, inputs.local_steps)) {
  for (std::uint32_t i = 0; i < kAutoCandidates.size(); ++i) {
    (void)make_policy(spec_of(i), workers, inputs);  // None may be refused in the run.
  }
}

void Auto::decide(Time now, const Event& event, Decision& out) {
  hear(now, event);
  inside_.decide(now, event, out);
  follow(now, event, out);
  if (!coming_ && rows_.closed() >= next_look_) {
    look(now, out);
  }
}

void Auto::hear(Time now, const Event& event) {
  const auto ends = [&](WorkerId worker) {
    workers_[worker].computing = false;
    warm_up_.end(worker);
  };
  std::visit(Overloaded{[&](const WorkerJoined& joined) {
                          workers_.join(joined.worker);
                          warm_up_.join(joined.worker);
                          if (workers_.live() == 1) {
                            begin_anew(now);
                          }
                          rows_.join(joined.worker);
                          forget_paces();
                        },
                        [&](const WorkerLeft& left) {
                          forget_paces();
                          workers_.leave(left.worker);
                          rows_.leave(left.worker);
                          warm_up_.leave(left.worker, left.how);
                        },
                        [&](const GradientArrived& gradient) {
                          arrive(gradient);
                          ends(gradient.worker);
                        },
                        [&](const ReleaseEnded& ended) { ends(ended.worker); },
                        [&](const Measured& measured) {
                          noise_.hear(measured, gradients_of_norms(last_count_));
                          if (measured.what == Measure::kTrainingLoss) {
                            loss_ = measured.value;
                          } else if (measured.what == Measure::kScaleInvariant) {
                            scale_invariant_ = measured.value > 0.0;
                          }
                        },
                        Ignoring<TimerFired, PolicySet>{}},
             event);
}

void Auto::arrive(const GradientArrived& gradient) {
  Worker& state = workers_[gradient.worker];
  const double seconds = to_seconds(gradient.runtime) * gradient.nominal / gradient.examples;
  nominal_ = gradient.nominal;
  ++answers_;
  if (warm_up_.cold(gradient.worker) || !(seconds > 0.0)) {
    return;
  }
  if (std::exchange(state.cut_off, false)) {
    rows_.took_after_all(gradient.worker, seconds);
  } else {
    rows_.took(gradient.worker, seconds);
  }
}

void Auto::follow(Time now, const Event& event, Decision& out) {
  for (Action& action : out.actions) {
    std::visit(Overloaded{[&](const Accept& accept) {
                            const auto& gradient = std::get<GradientArrived>(event);
                            const std::uint64_t behind = version_ - workers_[accept.worker].version;
                            ++accepted_;
                            in_update_ += 1.0 * gradient.examples / gradient.nominal;
                            window_.staleness += static_cast<double>(behind);
                            window_.stalest = std::max(window_.stalest, behind);
                            ++window_.counted;
                          },
                          [&](const Commit&) { commit(now); },
                          [&](const Release& release) {
                            workers_[release.worker] = {.computing = true,
                                                        .cut_off = false,
                                                        .version = version_,
                                                        .released = now,
                                                        .share = release.share};
                          },
                          [&](Switched& seam) {
                            seam.to = coming_.value();
                            take_over(now);
                          },
                          Ignoring<Drop, Cancel, WakeAt>{}},
               action);
  }
  const bool too_long = answers_ >= kAnswersOfRow * workers_.live();
  if (!in_rounds_ && (rows_.complete() || too_long)) {
    end_row(now);
  }
}

void Auto::commit(Time now) {
  ++version_;
  if (const auto phi = noise_scale()) {
    window_.worth += in_update_ / (*phi + in_update_);
  }
  window_.gradients += in_update_;
  last_count_ = std::exchange(accepted_, 0);
  in_update_ = 0.0;
  if (in_rounds_) {
    end_row(now);
  }
}

void Auto::end_row(Time now) {
  workers_.for_each([&](WorkerId worker, Worker& state) {
    const double seconds = to_seconds(now - state.released) / state.share;
    if (state.computing && seconds > 0.0 && !warm_up_.cold(worker)) {
      rows_.takes_longer(worker, seconds);
      state.cut_off = in_rounds_;
    }
  });
  rows_.close();
  answers_ = 0;
}

// As one that was kept does: no worker is left that something is known of.
void Auto::begin_anew(Time now) {
  rows_ = {};
  accepted_ = 0;
  in_update_ = 0.0;
  choice_.forget_looks();
  begin_window(now);
}

// Their columns are the workers that were there.
void Auto::forget_paces() {
  paces_ = {};
  other_ = {};
}

void Auto::take_over(Time now) {
  choice_.begin(*std::exchange(coming_, std::nullopt), loss_);
  const bool were_rounds = in_rounds_;
  begin_window(now);
  if (in_rounds_ != were_rounds) {
    other_ = paces_;
    first_paces_.clear();
    rows_ = {};
    workers_.for_each([&](WorkerId worker, const Worker& /*state*/) { rows_.join(worker); });
    begin_window(now);
  }
}

void Auto::begin_window(Time now) {
  in_rounds_ = !is_asynchronous(spec_of(choice_.present()));
  next_look_ = rows_.closed() + kRowsBetween;
  answers_ = 0;
  window_ = {.begun = now};
}

// Each worker's change since the first look at this kind.
const Paces& Auto::paces_of_other_kind() {
  std::vector<float> means(paces_.workers, 0.0F);
  for (std::uint32_t row = 0; row < paces_.rows(); ++row) {
    for (std::uint32_t worker = 0; worker < paces_.workers; ++worker) {
      means[worker] += paces_.row(row)[worker] / static_cast<float>(paces_.rows());
    }
  }
  if (other_.workers != paces_.workers) {
    return paces_;
  }
  if (first_paces_.empty()) {
    first_paces_ = means;
  }
  now_of_other_ = other_;
  for (std::size_t i = 0; i < now_of_other_.seconds.size(); ++i) {
    const std::size_t worker = i % paces_.workers;
    now_of_other_.seconds[i] *= means[worker] / first_paces_[worker];
  }
  return now_of_other_;
}

std::optional<double> Auto::noise_scale() const {
  const auto worth = noise_.worth();
  return worth ? std::optional(1.0 / std::max(worth->saturation, 1.0 / kMostNoise)) : std::nullopt;
}

double Auto::share_of_lone(double phi) const {
  const double workers = paces_.workers;
  return scale_invariant_ ? std::sqrt((1.0 + phi / workers) / (1.0 + phi)) : 1.0;
}

double Auto::measured(const Window& past, Time now, double phi) const {
  const double seconds = to_seconds(now - past.begun);
  if (seconds <= 0.0 || past.counted == 0) {
    return 0.0;
  }
  if (in_rounds_) {
    return past.worth / seconds;
  }
  const double mean = past.staleness / static_cast<double>(past.counted);
  const double root = std::sqrt(static_cast<double>(past.stalest) * mean);
  return share_of_lone(phi) * past.gradients / (phi + 1.0 + root) / seconds;
}

double Auto::expected(const AutoCandidate& candidate, const Paces& rows, double phi) {
  const Paces& paces = candidate.balance ? balanced_.of(rows, nominal_, may_balance_) : rows;
  switch (candidate.estimate) {
    case AutoEstimate::kOfAll:
      return Progress::of_all(paces, phi);
    case AutoEstimate::kByDeadlineOfGradients:
      return progress_.by_deadline(paces, phi, Progress::Goal::kGradients);
    case AutoEstimate::kByDeadlineOfProgress:
      return progress_.by_deadline(paces, phi, Progress::Goal::kProgress);
    case AutoEstimate::kOfEach:
      return Progress::of_each(paces, phi);
    case AutoEstimate::kOfEachInTime:  // The bound that saps has by default.
      return Progress::of_each(paces, phi, 2.0 * (paces.workers - 1.0));
    case AutoEstimate::kInStep:
      break;
  }
  return Progress::in_step(paces, phi, kAutoAhead);
}

void Auto::look(Time now, Decision& out) {
  const Window past = window_;
  begin_window(now);
  const auto phi = noise_scale();
  if (!phi || !rows_.paces(kRowsBetween, paces_) || paces_.workers < 2) {
    return;
  }
  expected_.clear();
  const Paces& other = paces_of_other_kind();
  for (std::uint32_t i = 0; i < kAutoCandidates.size(); ++i) {
    const bool same_kind = is_asynchronous(spec_of(i)) != in_rounds_;
    const double all = expected(kAutoCandidates.at(i), same_kind ? paces_ : other, *phi);
    expected_.push_back(is_asynchronous(spec_of(i)) ? all * share_of_lone(*phi) : all);
  }
  const double found = measured(past, now, *phi);
  const auto next = choice_.look({.expected = expected_,
                                  .measured = found > 0.0 ? std::optional(found) : std::nullopt,
                                  .loss = loss_});
  if (next) {
    change(now, *next, *phi, out);
  }
}

void Auto::change(Time now, const AutoChoice::Change& next, double phi, Decision& out) {
  using Cause = AutoChoice::Cause;
  const double present = choice_.sure(choice_.present());
  const double other = choice_.sure(next.to);
  const std::string from = name_of(choice_.present());
  const std::string to = name_of(next.to);
  const std::string numbers = " (" + short_number(present) + " and " + short_number(other) +
                              " exact steps a second, noise scale " + short_number(phi) +
                              " gradients)";
  switch (next.cause) {
    case Cause::kBetter:
      news_ = to + " follows " + from + ", because it should make more progress";
      out.reason.why = Why::kMoreExpected;
      break;
    case Cause::kTrial:
      news_ = to + " is tried in place of " + from + ", to see what it makes of these workers";
      out.reason.why = Why::kTried;
      break;
    case Cause::kLossRose:
      news_ =
          "the training loss rose under " + from + ", which is not taken again; " + to + " follows";
      out.reason.why = Why::kLossRose;
      break;
  }
  news_ = "auto: " + *news_ + numbers;
  out.reason.a = present;
  out.reason.b = other;
  coming_ = next.to;
  inside_.set_from_seam(kAutoCandidates.at(next.to).balance);
  inside_.decide(now, PolicySet{kAutoCandidates.at(next.to).policy}, change_);
  follow(now, TimerFired{}, change_);
  out.actions.insert(out.actions.end(), change_.actions.begin(), change_.actions.end());
}

std::optional<std::string> Auto::take_warning() {
  if (news_) {
    return std::exchange(news_, std::nullopt);
  }
  return inside_.take_warning();
}

bool Auto::expectations(Expectations& out) const {
  out.of.clear();
  for (std::uint32_t i = 0; i < kAutoCandidates.size(); ++i) {
    const AutoChoice::Candidate& candidate = choice_.candidates()[i];
    if (choice_.leaves_out(i)) {
      continue;
    }
    out.of.push_back({.policy = name_of(i),
                      .expected = choice_.looks() == 0 ? 0.0 : candidate.sum / choice_.looks(),
                      .measured = candidate.looks == 0 ? 0.0 : candidate.measured / candidate.looks,
                      .looks = candidate.looks});
  }
  out.looks = choice_.looks();
  out.regret = choice_.regret();
  return true;
}

void Auto::keep(Archive& archive) {
  archive("noise", noise_)("choice", choice_)("coming", coming_)("version", version_);
  archive("last_count", last_count_)("loss", loss_)("scale_invariant", scale_invariant_);
  if (coming_.value_or(0) >= kAutoCandidates.size()) {
    throw Error(ExitCode::kUnreadable, "state 'coming': no candidate of auto");
  }
  inside_.set(kAutoCandidates.at(choice_.present()).balance);
  if (coming_) {
    inside_.set_from_seam(kAutoCandidates.at(*coming_).balance);
  }
  archive.group("inside", [&] { inside_.keep(archive); });
}

}  // namespace outpace::policy
