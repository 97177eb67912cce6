// What messages say of local steps, in bytes and back.

#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/error.h"
#include "protocol/codec.h"

namespace outpace::protocol {
namespace {

template <typename One>
One there_and_back(const One& message) {
  return std::get<One>(decode(encode(message, 0)).message);
}

std::string why_refused(const Message& message) {
  try {
    static_cast<void>(decode(encode(message, 0)));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LocalStepsCodec, GivesBackWhatIsSaidOfThem) {
  const Hello hello{.worker = WorkerId{1},
                    .host = "a",
                    .dataset_examples = 8,
                    .manifest = {{{.name = "w", .shape = {1}}}},
                    .steps_locally = true,
                    .local_steps = 50};
  EXPECT_EQ(there_and_back(hello), hello);
  const Welcome welcome{.job = 1,
                        .generation = 1,
                        .needs_weights = false,
                        .heartbeat = std::chrono::seconds(1),
                        .seed = 1,
                        .with_replacement = false,
                        .inner_optimizer = "adam:beta1=0.8",
                        .inner_weight_decay = 0.25};
  EXPECT_EQ(there_and_back(welcome), welcome);
  const Release release{.sequence = Sequence{1},
                        .version = Version{2},
                        .nominal = 4,
                        .may_keep_part = true,
                        .now = Time{},
                        .ranges = {{.epoch = 0, .begin = 0, .end = 12}},
                        .inner_rate = 0.5,
                        .kept = true};
  EXPECT_EQ(there_and_back(release), release);
}

TEST(LocalStepsCodec, ALossMayBeUnknown) {
  Push push{.id = {.job = 1,
                   .generation = 1,
                   .worker = WorkerId{0},
                   .incarnation = 1,
                   .sequence = Sequence{1}},
            .examples = 4,
            .partial = false,
            .loss = std::nullopt,
            .compute_seconds = 0.5};
  EXPECT_EQ(there_and_back(push), push);
  push.loss = 0.0;
  EXPECT_EQ(there_and_back(push), push) << "0 is a loss";
}

TEST(LocalStepsCodec, RefusesNumbersThatAreNone) {
  EXPECT_EQ(why_refused(Welcome{.heartbeat = std::chrono::seconds(1), .inner_weight_decay = -1.0}),
            "welcome.inner_weight_decay must be finite and at least 0");
  EXPECT_EQ(why_refused(Release{.sequence = Sequence{1},
                                .version = Version{2},
                                .nominal = 4,
                                .may_keep_part = true,
                                .now = Time{},
                                .ranges = {{.epoch = 0, .begin = 0, .end = 12}},
                                .inner_rate = NAN}),
            "release.inner_rate must be finite and at least 0");
}

}  // namespace
}  // namespace outpace::protocol
