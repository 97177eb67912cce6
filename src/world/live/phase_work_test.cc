#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "live/scripted_server_test.h"
#include "live/worker_loop.h"

namespace outpace::live {
namespace {

constexpr std::uint64_t kExamples = 8;

// One weight, whose gradient is always 1. Tells of each mini-batch after it was computed.
class OneWeight final : public worker::GradientSource {
 public:
  using Told = std::function<void(std::size_t made)>;
  explicit OneWeight(Told told) : told_(std::move(told)) {}

  [[nodiscard]] const protocol::Manifest& manifest() const override { return manifest_; }
  [[nodiscard]] std::uint64_t dataset_examples() const override { return kExamples; }
  [[nodiscard]] std::vector<float> initial_weights() const override { return {0.0F}; }
  [[nodiscard]] std::optional<double> compute(std::span<const float> weights,
                                              std::span<const std::uint64_t> /*examples*/,
                                              std::span<float> gradient,
                                              const Cancelled& /*cancelled*/) override {
    at_.push_back(weights[0]);
    gradient[0] = 1.0F;
    told_(at_.size());
    return 0.5;
  }
  // The weight of each mini-batch.
  [[nodiscard]] const std::vector<float>& at() const { return at_; }

 private:
  const protocol::Manifest manifest_{{{.name = "weight", .shape = {1}}}};
  Told told_;
  std::vector<float> at_;
};

wire::Payload payload_of(float weight) {
  return std::make_shared<const std::vector<float>>(std::vector<float>{weight});
}

// The server of a run of two phases. The first has weight 10 and two mini-batches of one example at
// rate 1. Its push is answered when the worker has made two steps ahead, if it does: with the
// second phase, of weight 20 and three mini-batches.
class PhaseWork : public testing::Test {
 protected:
  void run(bool steps_ahead,
           const protocol::Range& second = kSecond,
           protocol::Outcome outcome = protocol::Outcome::kAccepted) {
    second_ = second;
    outcome_ = outcome;
    OneWeight source([this](std::size_t made) {
      if (goes_ahead_ && made == 4) {
        answer_first();
      }
    });
    const ScriptedServer server(
        [this](wire::ServerTransport& transport,
               wire::ConnectionId from,
               const protocol::Message& message) { hear(transport, from, message); });
    EXPECT_EQ(error_of([&] {
                run_worker({.session = {.server = server.address(), .token = kEvaluatorToken},
                            .rejoin_for = {},
                            .steps_ahead = steps_ahead},
                           source,
                           worker::Pace(worker::PaceOptions{}));
              }),
              "");
    weights_ = source.at();
  }

  static constexpr protocol::Range kSecond{.epoch = 0, .begin = 2, .end = 5};
  static constexpr protocol::Range kTold{.epoch = 0, .begin = 2, .end = 4};  // Ahead.
  std::vector<float> weights_;         // Those that each mini-batch had.
  std::vector<std::uint32_t> pushed_;  // Examples.

 private:
  void hear(wire::ServerTransport& transport,
            wire::ConnectionId from,
            const protocol::Message& message) {
    if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
      transport_ = &transport;  // Before the worker's thread asks for it.
      worker_ = from;
      goes_ahead_ = hello->ahead > 0;
      transport_->authorise(worker_, 1);
      transport_->send(worker_,
                       protocol::Welcome{.job = 1,
                                         .generation = 1,
                                         .needs_weights = false,
                                         .heartbeat = std::chrono::seconds(1),
                                         .seed = 1,
                                         .with_replacement = false,
                                         .inner_optimizer = "sgd"},
                       nullptr);
      release({.epoch = 0, .begin = 0, .end = 2}, 1, 10.0F, {protocol::Ranges{kTold}});
    } else if (const auto* push = std::get_if<protocol::Push>(&message)) {
      pushed_.push_back(push->examples);
      if (pushed_.size() == 1 && !goes_ahead_) {
        answer_first();
      } else if (pushed_.size() == 2) {
        transport_->send(worker_, protocol::Stop{protocol::Farewell::kFinished, "done"}, nullptr);
        transport_->close(worker_);
      }
    }
  }
  void release(const protocol::Range& range,
               std::uint64_t sequence,
               float weight,
               std::vector<protocol::Ranges> ahead) {
    transport_->send(worker_,
                     protocol::Release{.sequence = Sequence{sequence},
                                       .version = Version{sequence - 1},
                                       .nominal = 1,
                                       .may_keep_part = false,
                                       .now = {},
                                       .ranges = {range},
                                       .ahead = std::move(ahead),
                                       .inner_rate = 1.0},
                     payload_of(weight));
  }
  void answer_first() {
    transport_->send(worker_, protocol::Verdict{Sequence{1}, outcome_, std::nullopt}, nullptr);
    release(second_, 2, 20.0F, {});
  }

  protocol::Range second_{};
  protocol::Outcome outcome_{};
  bool goes_ahead_ = false;
  wire::ServerTransport* transport_ = nullptr;
  wire::ConnectionId worker_{};
};

TEST_F(PhaseWork, WithoutStepsAheadAPhaseBeginsAtItsWeights) {
  run(false);
  EXPECT_EQ(weights_, (std::vector<float>{10, 9, 20, 19, 18}));
  EXPECT_EQ(pushed_, (std::vector<std::uint32_t>{2, 3}));
}

TEST_F(PhaseWork, StepsThatWereMadeAheadAreTheNextPhasesFirst) {
  run(true);
  EXPECT_EQ(weights_, (std::vector<float>{10, 9, 8, 7, 18}));  // 20, less two steps.
  EXPECT_EQ(pushed_, (std::vector<std::uint32_t>{2, 3}));
}

TEST_F(PhaseWork, TheyAreLostIfTheNextPhaseHasOtherExamples) {
  run(true, {.epoch = 0, .begin = 5, .end = 8});
  EXPECT_EQ(weights_, (std::vector<float>{10, 9, 8, 7, 20, 19, 18}));
  EXPECT_EQ(pushed_, (std::vector<std::uint32_t>{2, 3}));
}

TEST_F(PhaseWork, TheyAreLostIfThePushWasRefused) {
  run(true, kSecond, protocol::Outcome::kRefused);
  EXPECT_EQ(weights_, (std::vector<float>{10, 9, 8, 7, 20, 19, 18}));
}

}  // namespace
}  // namespace outpace::live
