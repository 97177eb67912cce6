// A worker's script, in bytes and back.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

std::string refusal_of_bytes(const Message& message) {
  try {
    static_cast<void>(decode(encode(message, 0)));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

Hello hello_of_a_script() {
  return {.worker = WorkerId{3},
          .host = "node-3",
          .dataset_examples = 60'000,
          .manifest = {{{.name = "weight", .shape = {2, 3}}, {.name = "bias", .shape = {3}}}}};
}

TEST(ScriptCodec, GivesBackAScriptAsItWas) {
  Hello hello = hello_of_a_script();
  hello.script = {.groups = {{.method = Method::kAdamW,
                              .rate = 0.1,
                              .weight_decay = 0.01,
                              .momentum = 0.9,
                              .beta1 = 0.8,
                              .beta2 = 0.99,
                              .epsilon = 1e-8,
                              .rate_decay = 0.25,
                              .initial = 0.5},
                             {.method = Method::kAdadelta, .rate = 1.0},
                             {.method = Method::kAverage, .momentum = 0.5},
                             {.method = Method::kNewest}},
                  .group_of = std::vector<std::uint32_t>(hello.manifest.tensors.size(), 1),
                  .epochs = 50};
  const Frame frame = decode(encode(hello, 0));
  EXPECT_EQ(std::get<Hello>(frame.message), hello);
}

TEST(ScriptCodec, ChecksTheScript) {
  const std::size_t tensors = hello_of_a_script().manifest.tensors.size();
  const auto said = [&](const std::function<void(Script&)>& change) {
    Hello hello = hello_of_a_script();
    hello.script = {.groups = {{.method = Method::kSgd, .rate = 0.1}},
                    .group_of = std::vector<std::uint32_t>(tensors, 0),
                    .epochs = 0};
    change(hello.script);
    return refusal_of_bytes(hello);
  };
  EXPECT_EQ(said([](Script&) {}), "accepted");
  EXPECT_EQ(said([](Script& script) { script.groups[0].rate = std::nan(""); }),
            "hello.script.settings must be finite and at least 0");
  EXPECT_EQ(said([](Script& script) { script.groups[0].weight_decay = -1; }),
            "hello.script.settings must be finite and at least 0");
  EXPECT_EQ(said([](Script& script) { script.groups[0].method = static_cast<Method>(14); }),
            "hello.script.methods hold one that we do not know");
  EXPECT_EQ(said([](Script& script) { script.group_of[0] = 1; }),
            "hello.script.group_of names a group that is not there");
  EXPECT_EQ(said([](Script& script) { script.group_of.push_back(0); }),
            "hello.script.group_of must name a group for each tensor");
  EXPECT_EQ(said([](Script& script) { script.groups.clear(); }),
            "hello.script.group_of must name a group for each tensor");
  EXPECT_EQ(said([](Script& script) { script.groups.resize(kGroupsMax + 1); }),
            "hello.script has more than 4096 groups");
  EXPECT_EQ(refusal_of_bytes(Rates{.epoch = 1, .rates = {}}), "rates.rates must not be empty");
  EXPECT_EQ(refusal_of_bytes(Rates{.epoch = 1, .rates = {-0.5}}),
            "rates.rates must be finite and at least 0");
}

TEST(ScriptCodec, KeepsAndChecksWhichTensorsAGradientLacks) {
  Push push{.id = {.job = 1,
                   .generation = 1,
                   .worker = WorkerId{3},
                   .incarnation = 1,
                   .sequence = Sequence{1}},
            .examples = 8,
            .partial = false,
            .loss = 0.5,
            .compute_seconds = 0.1,
            .without = {0, 7}};
  const Frame frame = decode(encode(push, 0));
  EXPECT_EQ(std::get<Push>(frame.message), push);
  push.without = {0, 7, 7};
  EXPECT_EQ(refusal_of_bytes(push), "push.without must ascend");
}

}  // namespace
}  // namespace outpace::protocol
