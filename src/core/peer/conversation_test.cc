#include "peer/conversation.h"

#include <gtest/gtest.h>

namespace outpace::peer {
namespace {

TEST(Conversation, EachMessageHasItsWords) {
  for (std::uint8_t tag = 1; tag <= 10; ++tag) {
    const auto what = static_cast<Say>(tag);
    EXPECT_EQ(say_of(to_words(what)), what);
  }
  EXPECT_FALSE(say_of("hello"));
  EXPECT_EQ(to_words(Action{Send{3, Say::kAsk, true}}), "sends ask to 3, as invited");
  EXPECT_EQ(to_words(Action{Await{3, Say::kAnswer}}), "awaits answer from 3");
}

// So that nobody can wait in a circle: what is awaited of an answering worker is its answer alone.
TEST(Conversation, AWorkerAnswersWhileItWaitsItself) {
  for (const Averaging averaging : {Averaging::kPull, Averaging::kPush}) {
    const auto worker = make_conversation(averaging, 0);
    (void)worker->begin({}, [] { return 1U; });
    EXPECT_TRUE(worker->seeks());
    EXPECT_FALSE(worker->knock({2, worker->opening()}).empty());
  }
}

}  // namespace
}  // namespace outpace::peer
