// The wire format of the messages between a job and a person or a script, and of what an evaluator
// found. A part of codec.h.

#pragma once

#include <outpace.pb.h>

#include "protocol/messages.h"

namespace outpace::protocol {

void write(const SetPolicy& set, pb::Frame& frame);
void write(const AskStatus& ask, pb::Frame& frame);
void write(const SlowDown& slow, pb::Frame& frame);
void write(const Measurement& measurement, pb::Frame& frame);
void write(const EndRun& end, pb::Frame& frame);
void write(const AskEvaluated& ask, pb::Frame& frame);
void write(const AskSeats& ask, pb::Frame& frame);
void write(const Seats& seats, pb::Frame& frame);
void write(const Expel& expel, pb::Frame& frame);
void write(const AskCode& ask, pb::Frame& frame);
void write(const Evaluated& evaluated, pb::Frame& frame);
void write(const Answer& answer, pb::Frame& frame);
void write(const Status& status, pb::Frame& frame);

// Each throws an Error if a field breaks a rule.
[[nodiscard]] Message read(const pb::SetPolicy& set);
[[nodiscard]] Message read(const pb::AskStatus& ask);
[[nodiscard]] Message read(const pb::SlowDown& slow);
[[nodiscard]] Measurement read(const pb::Measurement& measurement);
[[nodiscard]] Message read(const pb::EndRun& end);
[[nodiscard]] Message read(const pb::AskEvaluated& ask);
[[nodiscard]] Message read(const pb::AskSeats& ask);
[[nodiscard]] Message read(const pb::Seats& seats);
[[nodiscard]] Message read(const pb::Expel& expel);
[[nodiscard]] Message read(const pb::AskCode& ask);
[[nodiscard]] Message read(const pb::Evaluated& evaluated);
[[nodiscard]] Message read(const pb::Answer& answer);
[[nodiscard]] Message read(const pb::Status& status);

// Any of these, but for a measurement.
[[nodiscard]] Message read_control(const pb::Frame& frame);

}  // namespace outpace::protocol
