// The wire format of the messages between a job and a person. A part of codec.h.

#pragma once

#include <outpace.pb.h>

#include "protocol/messages.h"

namespace outpace::protocol {

void write(const SetPolicy& set, wire::Frame& frame);
void write(const AskStatus& ask, wire::Frame& frame);
void write(const Answer& answer, wire::Frame& frame);
void write(const Status& status, wire::Frame& frame);

// Each throws an Error if a field breaks a rule.
[[nodiscard]] Message read(const wire::SetPolicy& set);
[[nodiscard]] Message read(const wire::AskStatus& ask);
[[nodiscard]] Message read(const wire::Answer& answer);
[[nodiscard]] Message read(const wire::Status& status);

}  // namespace outpace::protocol
