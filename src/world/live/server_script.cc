// What the workers' script says of its training: its optimizer, its rates and its epochs.
// Tested by src/world/live/script_test.cc.

#include <algorithm>
#include <string>
#include <utility>

#include "live/server.h"
#include "server/script.h"

namespace outpace::live {
namespace {

// "0.1, 0.01".
std::string in_words(const std::vector<double>& rates) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, rates.size()); ++i) {
    std::string number = std::to_string(rates[i]);
    number.erase(number.find_last_not_of('0') + 1);
    text += (text.empty() ? "" : ", ") + number + (number.ends_with('.') ? "0" : "");
  }
  return text + (rates.size() > kShown ? ", ..." : "");
}

}  // namespace

server::ShardOptions Server::shard_options(const protocol::Script& script) const {
  if (!above_) {
    return server::with_script(options_.shard, script);
  }
  protocol::Script sums = script;  // The server above steps.
  for (protocol::ParameterGroup& group : sums.groups) {
    const bool buffers =
        group.method == protocol::Method::kAverage || group.method == protocol::Method::kNewest;
    group = buffers ? group : protocol::ParameterGroup{.rate = group.rate};
  }
  return server::with_script(options_.shard, sums);
}

server::CoordinatorOptions Server::coordinator_options(const admission::Terms& terms) const {
  server::CoordinatorOptions options = options_.coordinator;
  options.examples = terms.examples;
  if (terms.script && server::brings_optimizer(*terms.script)) {
    options.rate = 1.0;  // The groups have rates of their own.
    options.scale_invariant = server::scale_invariant(*terms.script);
  }
  if (terms.script && terms.script->epochs > 0 && options_.script.epochs) {
    options.limits.epochs = terms.script->epochs;
  }
  return options;
}

void Server::script_changed(bool groups) {
  rates_.reset();
  if (groups && shard_) {  // It was given weights: they stay, and what steps them is another one.
    const admission::Terms& terms = admission_.terms();
    std::vector<float> weights(shard_->weights().begin(), shard_->weights().end());
    shard_.emplace(shard_options(terms.script.value_or(protocol::Script{})),
                   std::move(weights),
                   terms.network->sizes());
  }
}

void Server::take_rates(Time now, wire::ConnectionId from, const protocol::Rates& rates) {
  const std::optional<protocol::Script>& script = admission_.terms().script;
  const std::size_t groups = script ? script->groups.size() : 0;
  if (!shard_ || rates.rates.size() != groups) {
    expel(now,
          from,
          "rates: " + std::to_string(rates.rates.size()) + " came, the job's optimizer has " +
              std::to_string(groups) + " parameter groups",
          protocol::Farewell::kIncompatible);
    return;
  }
  if (!rates_ || rates.epoch > rates_->epoch) {
    rates_ = rates;
    shard_->set_rates(rates.rates);
    if (above_) {
      above_->tell_rates(rates);
    }
    return;
  }
  if (rates.epoch == rates_->epoch && rates.rates != rates_->rates) {
    expel(now,
          from,
          "rates: epoch or update " + std::to_string(rates.epoch) + " has " +
              in_words(rates.rates) + " here, and another worker reported " +
              in_words(rates_->rates) +
              " first: a schedule must be the same on every worker. One that follows a measurement "
              "takes the evaluator's: found = job.evaluate(f); plateau.step(found[\"loss\"])",
          protocol::Farewell::kIncompatible);
  }
}

}  // namespace outpace::live
