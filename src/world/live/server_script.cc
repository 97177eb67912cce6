// What the workers' script says of its training: its optimizer, its rates, its epochs, and whether
// it evaluates.
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

std::string Server::unfit(const protocol::Script& script) const {
  const std::string brought = server::optimizer_in_words(script);
  if (!brought.empty() && !options_.script.conflict.empty()) {
    return "the script brings an optimizer, " + brought + ", and the server has " +
           options_.script.conflict + "; remove one";
  }
  if (script_ && script.groups != script_->groups) {
    const std::string job = server::optimizer_in_words(*script_);
    return "this worker's script brings " + (brought.empty() ? "no optimizer" : brought) +
           ", the job's " + (job.empty() ? "none" : job) +
           (brought == job ? " with other numbers" : "") + ": they must be the same";
  }
  if (script_ && script != *script_) {
    return "this worker's script has other parameter groups or epochs than the job's";
  }
  try {
    server::check(shard_options(script));
  } catch (const Error& error) {
    return std::string("the script's optimizer: ") + error.what();
  }
  return "";
}

server::ShardOptions Server::shard_options(const protocol::Script& script) const {
  return server::with_script(options_.shard, script);
}

server::CoordinatorOptions Server::coordinator_options() const {
  server::CoordinatorOptions options = options_.coordinator;
  if (script_ && server::brings_optimizer(*script_)) {
    options.rate = 1.0;  // The groups have rates of their own.
  }
  if (script_ && script_->epochs > 0 && options_.script.epochs) {
    options.limits.epochs = script_->epochs;
  }
  return options;
}

void Server::take_script(std::optional<protocol::Script> script) {
  const bool changes =
      script.value_or(protocol::Script{}).groups != script_.value_or(protocol::Script{}).groups;
  script_ = std::move(script);
  rates_.reset();
  if (changes && shard_) {  // It was given weights: they stay, and what steps them is another one.
    std::vector<float> weights(shard_->weights().begin(), shard_->weights().end());
    shard_.emplace(shard_options(script_.value_or(protocol::Script{})),
                   std::move(weights),
                   manifest_->sizes());
  }
}

void Server::check_script() const {
  if (!script_ || script_->groups.empty()) {
    return;
  }
  const bool fits = script_->group_of.size() == manifest_->tensors.size() &&
                    std::ranges::all_of(script_->group_of, [this](std::uint32_t group) {
                      return group < script_->groups.size();
                    });
  if (!fits || (rates_ && rates_->rates.size() != script_->groups.size())) {
    throw Error(ExitCode::kUnreadable, "state 'script' does not fit the network");
  }
}

void Server::take_rates(Time now,
                        wire::ConnectionId from,
                        const Peer& peer,
                        const protocol::Rates& rates) {
  const std::size_t groups = script_ ? script_->groups.size() : 0;
  if (!shard_ || rates.rates.size() != groups) {
    expel(now,
          from,
          peer,
          "rates: " + std::to_string(rates.rates.size()) + " came, the job's optimizer has " +
              std::to_string(groups) + " parameter groups",
          protocol::Farewell::kIncompatible);
    return;
  }
  if (!rates_ || rates.epoch > rates_->epoch) {
    rates_ = rates;
    shard_->set_rates(rates.rates);
    return;
  }
  if (rates.epoch == rates_->epoch && rates.rates != rates_->rates) {
    expel(now,
          from,
          peer,
          "rates: epoch or update " + std::to_string(rates.epoch) + " has " +
              in_words(rates.rates) + " here, and another worker reported " +
              in_words(rates_->rates) +
              " first: a schedule must be the same on every worker. One that follows a measurement "
              "takes the evaluator's: found = job.evaluate(f); plateau.step(found[\"loss\"])",
          protocol::Farewell::kIncompatible);
  }
}

void Server::ask_for_evaluator(Time now) {
  const bool in_vain = finish_ && finish_->code != ExitCode::kDone;
  if (std::exchange(evaluator_asked_, true) || in_vain) {
    return;
  }
  if (!options_.starts_evaluator) {
    if (!evaluator_) {
      warn(
          "a worker's script evaluates, and this server starts no evaluator: nothing is measured "
          "until there is one; run the script once more with OUTPACE_ROLE=evaluator, "
          "OUTPACE_SERVER=" +
          transport_->address() + " and OUTPACE_TOKEN_FILE");
    }
    return;
  }
  evaluator_comes_ = !evaluator_;
  evaluator_asked_at_ = now;
  if (!finish_ && (!coordinator_ || !coordinator_->started())) {
    options_.expects_evaluator = true;
  }
  if (callbacks_.wants_evaluator) {
    callbacks_.wants_evaluator();
  }
}

}  // namespace outpace::live
