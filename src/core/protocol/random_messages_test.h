// Messages with random fields within their limits: each kind, in no order.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/rng.h"
#include "protocol/messages.h"

namespace outpace::protocol {

class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : rng_(seed, 0) {}

  Message next() {
    switch (rng_.below(std::variant_size_v<Message>)) {
      case 0:
        return Hello{.protocol = small(),
                     .worker = worker(),
                     .process = rng_.next(),
                     .host = text(),
                     .dataset_examples = rng_.next() | 1U,
                     .manifest = manifest(),
                     .seen_job = rng_.next(),
                     .seen_version = Version{rng_.next()},
                     .wants_evaluator = coin(),
                     .ahead = static_cast<std::uint32_t>(rng_.below(kAheadMax + 1))};
      case 1:
        return Observe{.protocol = small(), .manifest = manifest()};
      case 2:
        return InitialWeights{};
      case 3:
        return Push{.id = id(),
                    .examples = small() | 1U,
                    .partial = coin(),
                    .loss = rng_.normal(),
                    .compute_seconds = rng_.exponential()};
      case 4:
        return Abandoned{.id = id()};
      case 5:
        return Heartbeat{};
      case 6:
        return Goodbye{};
      case 7:
        return Measurement{.version = Version{rng_.next()},
                           .accuracy = coin() ? std::optional(rng_.uniform()) : std::nullopt,
                           .loss = coin() ? std::optional(rng_.normal()) : std::nullopt,
                           .values = {{.name = "f1", .value = rng_.normal()}}};
      case 8:
        return SetPolicy{.protocol = small(), .policy = text()};
      case 9:
        return rng_.below(2) == 0
                   ? Message(AskStatus{.protocol = small()})
                   : Message(SlowDown{
                         .protocol = small(),
                         .worker = WorkerId{static_cast<std::uint32_t>(rng_.below(kWorkersMax))},
                         .factor = 1.0 + 100.0 * rng_.uniform()});
      case 10:
        return Rates{.epoch = rng_.next(), .rates = {rng_.uniform(), 0.0, rng_.exponential()}};
      case 11:
        return AskEvaluator{};
      case 12:
        return Standing{.generation = small(),
                        .version = Version{rng_.next()},
                        .newcomer = coin(),
                        .place = place()};
      case 13:
        return AskEvaluated{.protocol = small(), .epoch = rng_.next()};
      case 14:
        return AskSeats{.protocol = small(), .host = text(), .workers = 1 + small() % kSeatsMax};
      case 15:
        return Expel{.protocol = small(), .worker = WorkerId{small() % kWorkersMax}};
      case 16:
        return AskCode{.protocol = small(), .renew = coin()};
      default:
        return from_server();
    }
  }

 private:
  Message from_server() {
    switch (rng_.below(11)) {
      case 0:
        return Welcome{.job = rng_.next(),
                       .generation = small(),
                       .needs_weights = coin(),
                       .heartbeat = Duration{static_cast<std::int64_t>(rng_.below(1U << 30U)) + 1},
                       .seed = rng_.next(),
                       .with_replacement = coin(),
                       .now = Time{Duration{static_cast<std::int64_t>(rng_.next() >> 1U)}},
                       .newcomer = coin()};
      case 1:
        return Release{.sequence = Sequence{rng_.next()},
                       .version = Version{rng_.next()},
                       .nominal = small() | 1U,
                       .may_keep_part = coin(),
                       .now = Time{Duration{static_cast<std::int64_t>(rng_.next() >> 1U)}},
                       .ranges = ranges(),
                       .ahead = coin() ? std::vector<Ranges>{} : std::vector{ranges(), ranges()}};
      case 2:
        return Cancel{.sequence = Sequence{rng_.next()}, .keep_part = coin()};
      case 3:
        return Verdict{.sequence = Sequence{rng_.next()},
                       .outcome = static_cast<Outcome>(rng_.below(3)),
                       .why = some_text()};
      case 4:
        return Snapshot{.version = Version{rng_.next()}};
      case 5:
        return Answer{.code = static_cast<ExitCode>(rng_.below(7)), .text = text()};
      case 6:
        return Status{.policy = text(),
                      .coming = text(),
                      .version = Version{rng_.next()},
                      .live = small(),
                      .workers = small(),
                      .staleness_mean = rng_.exponential(),
                      .training_loss = rng_.normal(),
                      .now = Time{Duration{static_cast<std::int64_t>(rng_.next() >> 1U)}},
                      .stalled = text(),
                      .staleness = text(),
                      .seats = {{.worker = worker(),
                                 .live = coin(),
                                 .answered = rng_.next(),
                                 .counted = rng_.next()}}};
      case 9:
        return Seats{.workers = {worker(), worker()},
                     .planned = small(),
                     .gradients = small(),
                     .batch = small(),
                     .local_steps = small(),
                     .steps_ahead = coin(),
                     .settings = text()};
      case 7:
        return Regroup{.generation = small(),
                       .key = std::string(coin() ? kGroupKeySize : 0, '\xff')};
      case 8:
        return Group{.generation = small(),
                     .version = Version{rng_.next()},
                     .members = {worker(), worker()},
                     .ahead = worker(),
                     .behind = {worker()},
                     .newcomers = {worker()},
                     .places = {place(), place()}};
      default:
        return Stop{.how = static_cast<Farewell>(rng_.below(5)), .why = text()};
    }
  }

  PeerPlace place() {
    return {.addresses = {text(), text()},
            .certificate = std::string(coin() ? kPlaceCertificateSize : 0, '\xfe')};
  }
  bool coin() { return rng_.below(2) == 1; }
  std::uint32_t small() { return static_cast<std::uint32_t>(rng_.next() >> rng_.below(64)); }
  WorkerId worker() { return WorkerId{static_cast<std::uint32_t>(rng_.below(kWorkersMax))}; }
  std::string text() {
    return std::string(rng_.below(40), static_cast<char>('a' + rng_.below(26)));
  }
  // Nothing instead of none.
  std::optional<std::string> some_text() {
    std::string some = text();
    return some.empty() ? std::nullopt : std::optional(std::move(some));
  }
  GradientId id() {
    return {.job = rng_.next(),
            .generation = small(),
            .worker = worker(),
            .incarnation = small(),
            .sequence = Sequence{rng_.next()}};
  }
  Manifest manifest() {
    Manifest manifest;
    for (std::uint64_t i = rng_.below(5) + 1; i > 0; --i) {
      TensorInfo tensor{.name = std::to_string(i).append(text()), .shape = {}};
      for (std::uint64_t rank = rng_.below(4); rank > 0; --rank) {
        tensor.shape.push_back(rng_.below(300) + 1);
      }
      manifest.tensors.push_back(tensor);
    }
    return manifest;
  }
  Ranges ranges() {
    Ranges ranges;
    for (std::uint64_t i = rng_.below(5) + 1; i > 0; --i) {
      const std::uint64_t begin = rng_.next() >> 1U;
      ranges.push_back(
          {.epoch = rng_.next(), .begin = begin, .end = begin + 1 + rng_.below(1U << 20U)});
    }
    return ranges;
  }

  Rng rng_;
};

}  // namespace outpace::protocol
