#include "peer/conversation.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"
#include "peer/coupled.h"
#include "peer/elastic.h"
#include "peer/pull.h"
#include "peer/push.h"

namespace outpace::peer {
namespace {

struct Word {
  Say what;
  std::string_view words;
};
constexpr std::array<Word, 10> kWords{{{Say::kOffer, "offer"},
                                       {Say::kAnswer, "answer"},
                                       {Say::kInvite, "invite"},
                                       {Say::kRequest, "request"},
                                       {Say::kReply, "reply"},
                                       {Say::kPushed, "pushed"},
                                       {Say::kToCentre, "to-centre"},
                                       {Say::kOfCentre, "of-centre"},
                                       {Say::kAsk, "ask"},
                                       {Say::kCame, "came"}}};

std::string to_words(How how) {
  switch (how) {
    case How::kHalfway:
      return "moves halfway, by what was sent, to";
    case How::kTowards:
      return "moves halfway to";
    case How::kKeep:
      return "keeps, for its next step, the weights of";
    case How::kNothing:
      return "has pushed to";
    case How::kCentreHere:
      return "moves towards the centre, and it back, at";
    case How::kWithCentre:
      return "moves towards the centre that came from";
    case How::kCentre:
      return "moves the centre towards";
  }
  CHECK(false);
}

}  // namespace

bool carries_weights(Say what) {
  switch (what) {
    case Say::kOffer:
    case Say::kAnswer:
    case Say::kReply:
    case Say::kPushed:
    case Say::kToCentre:
    case Say::kOfCentre:
      return true;
    case Say::kInvite:
    case Say::kRequest:
    case Say::kAsk:
    case Say::kCame:
      return false;
  }
  CHECK(false);
}

std::string_view to_words(Say what) {
  return std::ranges::find(kWords, what, &Word::what)->words;
}

std::optional<Say> say_of(std::string_view words) {
  const auto* const found = std::ranges::find(kWords, words, &Word::words);
  return found == kWords.end() ? std::nullopt : std::optional(found->what);
}

std::string to_words(const Action& action) {
  return std::visit(
      Overloaded{
          [](const Send& send) {
            return "sends " + std::string(to_words(send.what)) + " to " + std::to_string(send.to) +
                   (send.invited ? ", as invited" : "");
          },
          [](const Await& await) {
            return "awaits " + std::string(to_words(await.what)) + " from " +
                   std::to_string(await.from);
          },
          [](const Invited& invited) { return "is invited by " + std::to_string(invited.by); },
          [](const Average& average) {
            return to_words(average.how) + " " + std::to_string(average.with) +
                   (average.own    ? "; its own meeting is over"
                    : average.over ? "; the meeting is over"
                                   : "");
          },
          [](const Skip& /*none*/) { return std::string("skips its meeting"); }},
      action);
}

std::unique_ptr<Conversation> make_conversation(Averaging averaging, std::uint32_t rank) {
  switch (averaging) {
    case Averaging::kCoupled:
    case Averaging::kFree:
      return std::make_unique<Coupled>(rank, averaging == Averaging::kFree);
    case Averaging::kPull:
      return std::make_unique<Pull>();
    case Averaging::kPush:
      return std::make_unique<Push>();
    case Averaging::kElastic:
      return std::make_unique<Elastic>(rank);
  }
  CHECK(false);
}

}  // namespace outpace::peer
