#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

TEST(OptimizerState, IsReadAsItWasWritten) {
  const OptimizerState state{.tensor = 3, .updates = std::uint64_t{1} << 60U, .part = "velocity"};
  const Frame frame = decode(encode(state, 7));
  EXPECT_EQ(std::get<OptimizerState>(frame.message), state);
  EXPECT_EQ(frame.payload_numbers, 7);
}

TEST(OptimizerState, HasAShortName) {
  const auto refusal = [](const std::string& part) -> std::string {
    try {
      static_cast<void>(decode(encode(OptimizerState{.part = part}, 7)));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string why = "optimizer_state.part must have 1 to 32 characters";
  EXPECT_EQ(refusal(""), why);
  EXPECT_EQ(refusal(std::string(kStatePartNameMax + 1, 'a')), why);
  EXPECT_EQ(refusal(std::string(kStatePartNameMax, 'a')), "");
}

}  // namespace
}  // namespace outpace::protocol
