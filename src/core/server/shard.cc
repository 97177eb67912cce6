#include "server/shard.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "update/gradient.h"

namespace outpace::server {

namespace {

// `grouped`: set to what is made, if there are groups.
std::unique_ptr<update::Optimizer> make_optimizer(const ShardOptions& options,
                                                  std::size_t size,
                                                  std::vector<std::size_t> tensors,
                                                  update::GroupedOptimizer*& grouped) {
  if (!options.groups) {
    return update::make_optimizer(options.optimizer, size, std::move(tensors));
  }
  auto made = std::make_unique<update::GroupedOptimizer>(*options.groups, tensors);
  grouped = made.get();
  return made;
}

[[noreturn]] void refuse_with_buffers(const std::string& option, const std::string& what = "") {
  throw usage_error(option + " conflicts with the network's buffers" + what + "; remove " + option +
                    ", or let each worker keep its own buffers");
}

// What would change a worker's own value as if it were a gradient.
void check_averages(const ShardOptions& options) {
  const std::string averaged = ", which are averaged";
  if (options.clip_norm > 0.0) {
    refuse_with_buffers("--clip-norm", averaged);
  }
  if (options.filter.kind() != update::FilterRule::Kind::kNone) {
    refuse_with_buffers("--filter " + options.filter.name(), averaged);
  }
  if (update::make_correction(options.staleness, 1) != nullptr) {
    refuse_with_buffers("--staleness " + options.staleness.name(), averaged);
  }
}

}  // namespace

void check(const ShardOptions& options) {
  if (options.groups) {
    const std::vector<std::size_t> tensors(options.groups->group_of.size(), 1);
    const update::GroupedOptimizer made(*options.groups, tensors);
    if (made.averages()) {
      check_averages(options);
    }
    const auto is_newest = [](const update::Group& group) {
      return group.optimizer.name == update::kNewest;
    };
    if (options.filter.kind() == update::FilterRule::Kind::kKardam &&
        std::ranges::any_of(options.groups->groups, is_newest)) {
      refuse_with_buffers("--filter " + options.filter.name());  // It measures how weights move.
    }
    for (const update::Group& group : options.groups->groups) {
      update::check_suits(options.staleness, group.optimizer, made.scale_invariant());
    }
    return;
  }
  const bool scale_invariant = update::make_optimizer(options.optimizer, 1)->scale_invariant();
  update::check_suits(options.staleness, options.optimizer, scale_invariant);
}

Shard::Shard(const ShardOptions& options,
             std::vector<float> weights,
             std::vector<std::size_t> tensors)
    : options_(options),
      optimizer_(make_optimizer(options, weights.size(), std::move(tensors), grouped_)),
      correction_(update::make_correction(options.staleness, weights.size())),
      aggregate_(weights.size(), options.reduce, !optimizer_->scale_invariant(), options.filter),
      weights_(std::make_shared<std::vector<float>>(std::move(weights))) {
  check(options);
  if (options.filter.kind() == update::FilterRule::Kind::kKardam) {
    kardam_.emplace(update::Kardam::Options{.f = options.filter.f(),
                                            .of_server = options.filter.of_server(),
                                            .within = options.filter.within()},
                    weights_->size());
  }
}

update::SharedWeights Shard::snapshot() {
  return weights_;
}

update::SharedWeights Shard::release(WorkerId worker) {
  if (correction_) {
    correction_->released(worker, snapshot());
  }
  if (kardam_) {
    kardam_->released(worker, snapshot());
  }
  return snapshot();
}

bool Shard::hold(WorkerId worker,
                 std::vector<float> gradient,
                 std::optional<double> squared_norm,
                 std::vector<std::uint32_t> without) {
  CHECK(gradient.size() == weights_->size());
  std::vector<float> newest;
  if (grouped_ != nullptr) {
    newest = grouped_->take_newest(gradient);
  }
  if (!squared_norm || !newest.empty()) {
    squared_norm = update::squared_norm(gradient);
  }
  if (!std::isfinite(*squared_norm)) {
    return false;
  }
  if (grouped_ != nullptr) {
    grouped_->clear(without, gradient);
  }
  if (grouped_ != nullptr && grouped_->averages()) {
    squared_norm = grouped_->learnt_squared_norm(gradient);
  }
  if (index(worker) >= held_.size()) {
    held_.resize(index(worker) + 1);
  }
  Held& held = held_[index(worker)];
  held = {.gradient = std::move(gradient),
          .squared_norm = *squared_norm,
          .newest = std::move(newest),
          .without = std::move(without)};
  return true;
}

std::string Shard::begin_from(std::uint32_t tensor, const update::BroughtState& state) {
  if (grouped_ == nullptr) {
    return "the server's own options say the optimizer, which begins anew";
  }
  return grouped_->begin_from(tensor, state);
}

std::string Shard::why_not_without(std::span<const std::uint32_t> tensors) const {
  if (tensors.empty()) {
    return "";
  }
  if (grouped_ == nullptr || !grouped_->can_be_without(tensors)) {
    return "the gradient has no numbers for some tensors, and the server's optimizer needs those "
           "of all";
  }
  if (options_.filter.combines()) {
    return "the gradient has no numbers for some tensors, which conflicts with --filter " +
           options_.filter.name() + "; remove it, or let each step have all parameters";
  }
  return "";
}

update::Judgement Shard::judge(WorkerId worker, std::uint32_t computing) {
  CHECK(kardam_.has_value());
  return kardam_->judge(worker, held_.at(index(worker)).gradient, computing);
}

void Shard::accept(const Accept& accepted) {
  Held held = std::move(held_.at(index(accepted.worker)));
  CHECK(held.gradient.size() == weights_->size());
  if (!held.newest.empty()) {
    grouped_->accept_newest(std::move(held.newest), number(accepted.sequence));
  }
  if (grouped_ != nullptr) {
    grouped_->accept_without(held.without, accepted.examples);
  }
  if (kardam_) {
    kardam_->accepted(accepted.worker);
  }
  if (options_.clip_norm > 0.0 &&
      update::clip(held.gradient, held.squared_norm, options_.clip_norm)) {
    ++clipped_;
    held.squared_norm = options_.clip_norm * options_.clip_norm;
  }
  const double squared_norm = held.squared_norm;
  if (correction_) {
    correction_->correct(
        {.worker = accepted.worker, .examples = accepted.examples}, held.gradient, *weights_);
  }
  // A sum counts every gradient as one: of its examples it knows already.
  const bool adds_up = correction_ && correction_->added_up();
  const std::uint32_t examples = adds_up ? 1 : accepted.examples;
  squares_ += examples * squared_norm;
  (void)aggregate_.add({.worker = accepted.worker,
                        .release = accepted.sequence,
                        .weight = accepted.weight,
                        .examples = examples},
                       std::move(held.gradient));
}

void Shard::forget(WorkerId worker) {
  if (index(worker) < held_.size()) {
    held_[index(worker)].gradient = {};
  }
}

void Shard::forget_worker(WorkerId worker) {
  forget(worker);
  if (correction_) {
    correction_->forget(worker);
  }
  if (kardam_) {
    kardam_->forget(worker);
  }
}

void Shard::step(const StepWeights& step) {
  if (step.norms_for) {
    measure_norms();
  }
  squares_ = 0.0;
  const std::optional<double> added_up = correction_ ? correction_->added_up() : std::nullopt;
  std::vector<float> next = std::exchange(spare_, {});
  next.resize(weights_->size());
  optimizer_->step_into({.rate = step.rate,
                         .mean_weight = added_up.value_or(aggregate_.mean_weight()),
                         .weight_decay = options_.weight_decay,
                         .share = step.share},
                        added_up ? sum_of_accepted() : aggregate_.mean(),
                        *weights_,
                        next);
  std::shared_ptr<std::vector<float>> before =
      std::exchange(weights_, std::make_shared<std::vector<float>>(std::move(next)));
  aggregate_.clear();
  if (correction_) {
    correction_->stepped(*before, *weights_);
  }
  if (kardam_) {
    kardam_->stepped(*before, *weights_);
  }
  reuse(std::move(before));
}

Shard::HandedIn Shard::hand_in() {
  update::Aggregate& accepted = aggregate_;
  const std::span<const float> mean = accepted.mean();
  HandedIn handed;
  if (grouped_ != nullptr) {
    handed.gradient.resize(mean.size());
    handed.without = grouped_->hand_in(mean, handed.gradient);
  } else {
    handed.gradient.assign(mean.begin(), mean.end());
  }
  squares_ = 0.0;
  accepted.clear();
  return handed;
}

void Shard::discard() {
  if (aggregate_.gradients() > 0) {
    (void)hand_in();
  }
}

void Shard::replace(std::vector<float> weights) {
  CHECK(weights.size() == weights_->size());
  weights_ = std::make_shared<std::vector<float>>(std::move(weights));
}

void Shard::reuse(std::shared_ptr<std::vector<float>> version) {
  // A reader on another thread may have been the last one just now. To copy the pointer is an
  // acquiring operation on its count, which use_count() alone is not.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::shared_ptr<std::vector<float>> held = version;
  if (held.use_count() == 2) {
    spare_ = std::move(*version);
  }
}

bool Shard::finite() const {
  return grouped_ != nullptr ? grouped_->finite(*weights_) : update::all_finite(*weights_);
}

void Shard::set_rates(std::span<const double> rates) {
  CHECK(grouped_ != nullptr);
  grouped_->set_rates(rates);
}

void Shard::keep(Archive& archive) {
  if (archive.reads()) {  // Others may read the present version.
    weights_ = std::make_shared<std::vector<float>>(*weights_);
  }
  archive("weights", *weights_)("clipped", clipped_);
  archive.group("optimizer", [&] { optimizer_->keep(archive); });
  if (correction_) {
    archive.group("correction", [&] { correction_->keep(archive); });
  }
  if (kardam_) {
    archive.group("filter", [&] { kardam_->keep(archive); });
  }
}

void Shard::measure_norms() {
  // The weights of a policy and its staleness rule say nothing of the noise.
  const double scale = aggregate_.scale_of_mean();
  if (aggregate_.gradients() == 1) {
    measure_lone(scale);
    return;
  }
  lone_.begin_anew();
  norms_ = {.mean = scale > 0.0 ? std::sqrt(norm_squared(aggregate_.mean())) / scale : 0.0,
            .single = std::sqrt(squares_ / static_cast<double>(aggregate_.examples())),
            .gradients = static_cast<std::uint32_t>(aggregate_.gradients())};
}

void Shard::measure_lone(double scale) {
  norms_ = {};
  if (scale <= 0.0) {
    return;  // It does not count.
  }
  if (lone_.gradients < policy::kNormGroup) {
    const std::span<const float> gradient = aggregate_.mean();
    const auto examples = static_cast<double>(aggregate_.examples());
    const auto back = static_cast<float>(examples / scale);
    lone_.sum.resize(gradient.size(), 0.0F);
    std::transform(gradient.begin(),
                   gradient.end(),
                   lone_.sum.begin(),
                   lone_.sum.begin(),
                   [back](float scaled, float sum) { return sum + back * scaled; });
    lone_.squares += squares_;
    lone_.examples += examples;
  }
  ++lone_.gradients;
  if (lone_.gradients == policy::kNormGroup) {
    norms_ = {.mean = std::sqrt(norm_squared(lone_.sum)) / lone_.examples,
              .single = std::sqrt(lone_.squares / lone_.examples),
              .gradients = policy::kNormGroup};
  } else if (lone_.gradients == kLoneBetween) {
    lone_.begin_anew();
  }
}

double Shard::norm_squared(std::span<const float> gradient) const {
  return grouped_ != nullptr && grouped_->averages() ? grouped_->learnt_squared_norm(gradient)
                                                     : update::squared_norm(gradient);
}

std::span<const float> Shard::sum_of_accepted() {
  const std::span<const float> mean = aggregate_.mean();
  const auto gradients = static_cast<float>(aggregate_.gradients());
  if (gradients == 1.0F) {
    return mean;
  }
  sum_.resize(mean.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    sum_[i] = gradients * mean[i];
  }
  return sum_;
}

}  // namespace outpace::server
