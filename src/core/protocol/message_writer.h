// How each message is written into a frame. A part of codec.h.

#pragma once

#include <outpace.pb.h>

#include "protocol/messages.h"

namespace outpace::protocol {

// All but the size of the payload.
void write(const Message& message, pb::Frame& frame);

}  // namespace outpace::protocol
