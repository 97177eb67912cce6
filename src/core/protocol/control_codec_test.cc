#include "protocol/control_codec.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

// That they come back as they were is tried with all messages, in codec_test.cc.
std::string refused(const Message& message) {
  try {
    (void)decode(encode(message, 0));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ControlCodec, ChecksEveryField) {
  EXPECT_EQ(refused(SetPolicy{.policy = std::string(kTextMax, 'p')}), "accepted");
  EXPECT_EQ(refused(SetPolicy{.policy = std::string(kTextMax + 1, 'p')}),
            "set_policy.policy is longer than 1024 bytes");
  EXPECT_EQ(refused(Answer{.code = ExitCode{7}, .text = ""}),
            "answer.code is not one that we know");
  EXPECT_EQ(refused(SlowDown{.worker = WorkerId{3}, .factor = 4.0}), "accepted");
  EXPECT_EQ(refused(SlowDown{.worker = WorkerId{kWorkersMax}, .factor = 4.0}),
            "slow_down.worker is no worker's rank");
  EXPECT_EQ(refused(SlowDown{.worker = WorkerId{3}, .factor = 0.5}),
            "slow_down.factor must be from 1 to 1000");
  EXPECT_EQ(
      refused(SlowDown{.worker = WorkerId{3}, .factor = std::numeric_limits<double>::quiet_NaN()}),
      "slow_down.factor must be finite");
  EXPECT_EQ(refused(EndRun{.why = "early stop"}), "accepted");
  EXPECT_EQ(refused(AskEvaluated{.epoch = 3}), "accepted");
  EXPECT_EQ(refused(AskSeats{.host = "b", .workers = kSeatsMax}), "accepted");
  EXPECT_EQ(refused(AskSeats{.host = "b", .workers = 0}),
            "ask_seats.workers must be from 1 to 1024");
  EXPECT_EQ(refused(AskSeats{.host = "b", .workers = kSeatsMax + 1}),
            "ask_seats.workers must be from 1 to 1024");
  EXPECT_EQ(refused(Expel{.worker = WorkerId{kWorkersMax}}), "expel.worker is no worker's rank");
  EXPECT_EQ(refused(AskCode{.renew = true}), "accepted");
  EXPECT_EQ(refused(Seats{.workers = {WorkerId{kWorkersMax}}}),
            "seats.workers hold no worker's rank");
  const Measurement found{
      .version = Version{3}, .accuracy = {}, .loss = {}, .values = {{"f1", 2.0}}};
  EXPECT_EQ(refused(Evaluated{.comes = true, .found = found}), "accepted");
  Measurement unnamed = found;
  unnamed.values.front().name = "";
  EXPECT_EQ(refused(Evaluated{.found = unnamed}), "measurement.values hold one without a name");
  Measurement endless = found;
  endless.values.front().value = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused(endless), "measurement.values must be finite");
  Measurement many = found;
  many.values.assign(kValuesMax + 1, {"f1", 2.0});
  EXPECT_EQ(refused(many), "measurement.values are more than 256");
  const Status status{.policy = "sync",
                      .coming = "",
                      .version = Version{3},
                      .live = 2,
                      .workers = 2,
                      .staleness_mean = 0.0,
                      .training_loss = 1.0,
                      .now = Time{}};
  EXPECT_EQ(refused(status), "accepted");
  Status wrong = status;
  wrong.staleness_mean = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused(wrong), "status.staleness_mean must be finite");
  wrong = status;
  wrong.training_loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(refused(wrong), "status.training_loss must be finite");
  wrong = status;
  wrong.now = Time{Duration{-1}};
  EXPECT_EQ(refused(wrong), "status.now must not be negative");
}

}  // namespace
}  // namespace outpace::protocol
