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
void Server::keep_network(Archive& archive) {
  protocol::Manifest manifest = manifest_.value_or(protocol::Manifest{});
  archive("network", manifest.tensors);
  if (!archive.reads()) {
    return;
  }
  if (manifest.numbers() == 0 || manifest.numbers() > protocol::kWeightsMax) {
    throw Error(ExitCode::kUnreadable, "state 'network' has no weights, or too many");
  }
  manifest_ = std::move(manifest);
}

// As bit patterns of float32 numbers, which a state holds beside its text.
void Server::keep_constants(Archive& archive) {
  std::uint64_t bytes = constants_.size();
  std::vector<float> numbers((bytes + sizeof(float) - 1) / sizeof(float));
  if (bytes > 0) {
    std::memcpy(numbers.data(), constants_.data(), bytes);
  }
  archive("constant_bytes", bytes)("constants", numbers);
  if (!archive.reads()) {
    return;
  }
  if (numbers.size() != (bytes + sizeof(float) - 1) / sizeof(float)) {
    throw Error(ExitCode::kUnreadable, "state 'constants' is not of 'constant_bytes' bytes");
  }
  constants_.resize(bytes);
  if (bytes > 0) {
    std::memcpy(constants_.data(), numbers.data(), bytes);
  }
}

void Server::keep_options(Archive& archive) {
  const auto same = [&](const char* option, std::string now, const std::string& instead) {
    const std::string present = now;
    archive(option, now);
    if (now != present) {
      throw usage_error(std::string("--") + option + " is " + present + ", and the run's is " +
                        now + ": a run goes on with its own" + instead);
    }
  };
  archive.group("options", [&] {
    same("policy", options_.policy.text, "; outpace ctl RUN set-policy changes it");
    same("optimizer", options_.shard.optimizer.text, "");
    const auto& given = options_.coordinator.staleness;
    same("staleness", given ? given->name() : "that of the policy", "");
    same("filter", options_.shard.filter.name(), "");
    same("seed", std::to_string(options_.coordinator.seed), "");
    const server::CoordinatorOptions& coordinator = options_.coordinator;
    const std::string grows =
        coordinator.later > 0 ? " and --max-workers " + std::to_string(coordinator.workers) : "";
    same("workers", std::to_string(coordinator.workers - coordinator.later) + grows, "");
  });
}

// REQUIRES: writing: there are weights and a coordinator.
void Server::keep(Time now, Archive& archive) {
  archive("examples", examples_)("policy", policy_)("set_policy", set_policy_);
  keep_options(archive);
  keep_network(archive);
  archive("script", script_)("rates", rates_);
  keep_constants(archive);
  if (archive.reads()) {
    if (examples_ == 0) {
      throw Error(ExitCode::kUnreadable, "state 'examples' is 0");
    }
    phases_ = policy::phases_of(Spec::parse(set_policy_));
    check_script();
    options_.coordinator.examples = examples_;
    shard_.emplace(shard_options(script_.value_or(protocol::Script{})),
                   std::vector<float>(manifest_->numbers()),
                   manifest_->sizes());
    coordinator_.emplace(
        coordinator_options(),
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
  archive.group("coordinator", [&] { coordinator_->keep(now, archive); });
  archive.group("shard", [&] { shard_->keep(archive); });
  archive("evaluations", evaluations_);
}

void Server::take_checkpoint(Time now) {
  if (callbacks_.checkpoint && coordinator_ && coordinator_->started() && shard_) {
    if (!shard_->finite()) {
      next_weights_look_ = now;  // Which ends the run. The checkpoints before this one stay.
      return;
    }
    callbacks_.checkpoint(coordinator_->version(), [&](Archive& archive) { keep(now, archive); });
  }
}

void Server::look_at_weights(Time now) {
  constexpr Duration kPeriod = std::chrono::seconds(1);
  constexpr int kShare = 100;  // At most one part in this many of this thread's time.
  if (finish_ || !shard_ || !coordinator_->started() || now < next_weights_look_) {
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

bool Server::look_back(const protocol::Hello& hello) {
  if (finish_ || hello.seen_job == 0 || hello.seen_version == Version{0}) {
    return true;  // Or it has computed for nobody.
  }
  const std::string reached = name(hello.worker) + " at " + hello.host + " had reached update " +
                              std::to_string(count(hello.seen_version));
  if (hello.seen_job != options_.coordinator.job) {
    if (options_.begins_again) {
      warn(reached + ", which is lost: the server had died before its first checkpoint");
      return true;
    }
    if (coordinator_ && coordinator_->started() && coordinator_->version() > Version{0}) {
      return true;  // This run is under way: the worker changes jobs.
    }
    finish_ = {ExitCode::kWouldBeginAnew,
               reached +
                   " of a run that this server would begin anew; go on with it by --resume "
                   "RUN, or end its workers first"};
    return false;
  }
  if (!resumed_at_ || coordinator_->started() || hello.seen_version <= *resumed_at_) {
    return true;
  }
  const std::uint64_t lost = count(hello.seen_version) - count(*resumed_at_);
  if (lost > lost_) {
    warn(reached + ": " + std::to_string(lost) + (lost == 1 ? " update" : " updates") +
         " after the checkpoint are lost, and computed again");
  }
  lost_ = std::max(lost_, lost);
  return true;
}

}  // namespace outpace::live
