// What a server keeps of its run in a checkpoint, and how another goes on with it.
// Tested by test/program/resume_test.py (class Resume).

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "live/server.h"
#include "policy/catalogue.h"

namespace outpace::live {
namespace {

void keep_network(Archive& archive, std::optional<protocol::Manifest>& network) {
  protocol::Manifest manifest = network.value_or(protocol::Manifest{});
  archive("network", manifest.tensors);
  if (!archive.reads()) {
    return;
  }
  if (manifest.numbers() == 0 || manifest.numbers() > protocol::kWeightsMax) {
    throw Error(ExitCode::kUnreadable, "state 'network' has no weights, or too many");
  }
  network = std::move(manifest);
}

void check_script(const admission::Terms& terms, const std::optional<protocol::Rates>& rates) {
  if (!terms.script || terms.script->groups.empty()) {
    return;
  }
  const protocol::Script& script = *terms.script;
  const bool fits = script.group_of.size() == terms.network->tensors.size() &&
                    std::ranges::all_of(script.group_of, [&](std::uint32_t group) {
                      return group < script.groups.size();
                    });
  if (!fits || (rates && rates->rates.size() != script.groups.size())) {
    throw Error(ExitCode::kUnreadable, "state 'script' does not fit the network");
  }
}

// As bit patterns of float32 numbers, which a state holds beside its text.
void keep_constants(Archive& archive, std::string& constants) {
  std::uint64_t bytes = constants.size();
  std::vector<float> numbers((bytes + sizeof(float) - 1) / sizeof(float));
  if (bytes > 0) {
    std::memcpy(numbers.data(), constants.data(), bytes);
  }
  archive("constant_bytes", bytes)("constants", numbers);
  if (!archive.reads()) {
    return;
  }
  if (numbers.size() != (bytes + sizeof(float) - 1) / sizeof(float)) {
    throw Error(ExitCode::kUnreadable, "state 'constants' is not of 'constant_bytes' bytes");
  }
  constants.resize(bytes);
  if (bytes > 0) {
    std::memcpy(constants.data(), numbers.data(), bytes);
  }
}

// Refuses options that the state does not fit.
void keep_options(Archive& archive, const ServerOptions& options) {
  const auto same = [&](const char* option, std::string now, const std::string& instead) {
    const std::string present = now;
    archive(option, now);
    if (now != present) {
      throw usage_error(std::string("--") + option + " is " + present + ", and the run's is " +
                        now + ": a run goes on with its own" + instead);
    }
  };
  const server::CoordinatorOptions& coordinator = options.coordinator;
  archive.group("options", [&] {
    same("policy", options.policy.text, "; outpace ctl RUN set-policy changes it");
    same("optimizer", options.shard.optimizer.text, "");
    const auto& given = coordinator.staleness;
    same("staleness", given ? given->name() : "that of the policy", "");
    same("filter", options.shard.filter.name(), "");
    same("seed", std::to_string(coordinator.seed), "");
    const std::string grows =
        coordinator.later > 0 ? " and --max-workers " + std::to_string(coordinator.workers) : "";
    same("workers", std::to_string(coordinator.workers - coordinator.later) + grows, "");
  });
}

}  // namespace

// REQUIRES: writing: there are weights and a coordinator.
void Server::keep(Time now, Archive& archive) {
  admission::Terms terms = admission_.terms();
  archive("examples", terms.examples);
  policy_.keep(archive);
  keep_options(archive, options_);
  keep_network(archive, terms.network);
  archive("script", terms.script)("rates", rates_);
  keep_constants(archive, constants_);
  if (archive.reads()) {
    go_on(now, terms);
  }
  archive.group("coordinator", [&] { coordinator_->keep(now, archive); });
  archive.group("shard", [&] { shard_->keep(archive); });
  archive("evaluations", evaluations_);
  if (archive.reads()) {
    admission_.resume(std::move(terms), coordinator_->version());
  }
}

void Server::go_on(Time now, const admission::Terms& terms) {
  if (terms.examples == 0) {
    throw Error(ExitCode::kUnreadable, "state 'examples' is 0");
  }
  check_script(terms, rates_);
  shard_.emplace(shard_options(terms.script.value_or(protocol::Script{})),
                 std::vector<float>(terms.network->numbers()),
                 terms.network->sizes());
  coordinator_.emplace(
      coordinator_options(terms),
      policy::make_settable_policy(
          options_.policy, options_.coordinator.workers, options_.policy_inputs),
      // The run's record is looked up when it is used: watch() comes later.
      [this](Time at, const policy::Event& event, const policy::Decision& made) {
        if (callbacks_.decided) {
          callbacks_.decided(at, event, made);
        }
      },
      now);
}

void Server::take_checkpoint(Time now) {
  if (callbacks_.checkpoint && coordinator_ && coordinator_->started() && shard_) {
    if (!shard_->finite()) {
      next_weights_look_ = now;  // Which ends the run. The checkpoints before this one stay.
      return;
    }
    coordinator_->carried(transport_->traffic());
    callbacks_.checkpoint(coordinator_->version(), [&](Archive& archive) { keep(now, archive); });
  }
}

void Server::look_at_weights(Time now) {
  constexpr Duration kPeriod = std::chrono::seconds(1);
  constexpr int kShare = 100;  // At most one part in this many of this thread's time.
  if (admission_.end() || !shard_ || !coordinator_->started() || now < next_weights_look_) {
    return;
  }
  const bool finite = shard_->finite();
  next_weights_look_ = now + std::max(kPeriod, (this->now() - now) * kShare);
  if (!finite) {
    server::Effects effects;
    coordinator_->finish(now,
                         ExitCode::kFailure,
                         "diverged: at update " + std::to_string(count(coordinator_->version())) +
                             " the weights are not finite; a smaller --lr or --clip-norm may help",
                         effects);
    carry_out(now, effects);
  }
}

}  // namespace outpace::live
