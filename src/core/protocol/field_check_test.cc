#include "protocol/field_check.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

TEST(FieldCheck, MakesTextsForPeoplePrintableAndLeavesNames) {
  const auto decoded = [](const Message& message) { return decode(encode(message, 0)).message; };
  const Hello hello{.worker = WorkerId{0},
                    .process = 1,
                    .host = "\x1b[2Jevil\n:1",
                    .dataset_examples = 1,
                    .manifest = {.tensors = {{.name = "w\t1", .shape = {2}}}}};
  const auto host = std::get<Hello>(decoded(hello));
  EXPECT_EQ(host.host, "?[2Jevil?:1");
  EXPECT_EQ(host.manifest, hello.manifest);  // A name is compared and stays as it is.
  const Verdict verdict{
      .sequence = Sequence{1}, .outcome = Outcome::kRefused, .why = "no\x1b]0;title\x07"};
  EXPECT_EQ(std::get<Verdict>(decoded(verdict)).why, "no?]0;title?");
  EXPECT_EQ(std::get<Stop>(decoded(Stop{Farewell::kFailed, "bye\rhello"})).why, "bye?hello");
  EXPECT_EQ(std::get<Answer>(decoded(Answer{ExitCode::kDone, "a\u009b1m"})).text, "a?1m");
}

}  // namespace
}  // namespace outpace::protocol
