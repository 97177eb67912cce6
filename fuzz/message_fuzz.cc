// A message's bytes: what decodes encodes to bytes that decode to the same.

#include <optional>

#include <google/protobuf/stubs/logging.h>

#include "base/error.h"
#include "protocol/codec.h"
#include "targets.h"

namespace outpace::fuzz {

void message(Bytes bytes) {
  static const google::protobuf::LogSilencer silence;
  std::optional<protocol::Frame> frame;
  try {
    frame = protocol::decode(as_text(bytes));
  } catch (const Error& error) {
    const std::string why = error.what();
    hold(!why.empty() && why.find('\n') == std::string::npos, "a refusal is one line: " + why);
    return;
  }
  const std::string again = protocol::encode(frame->message, frame->payload_numbers);
  const protocol::Frame same = protocol::decode(again);
  const std::string name = protocol::name(frame->message);
  hold(same.message == frame->message, name + " is another after it was encoded");
  hold(same.payload_numbers == frame->payload_numbers, name + " has another payload");
  hold(protocol::encode(same.message, same.payload_numbers) == again, name + " has two encodings");
}

}  // namespace outpace::fuzz
