#include "peer/conversation.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"
#include "base/rng.h"
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

class Noted final : public Conversation {
 public:
  Noted(std::unique_ptr<Conversation> conversation, Journal journal)
      : conversation_(std::move(conversation)), journal_(std::move(journal)) {}

  [[nodiscard]] Say opening() const override { return conversation_->opening(); }
  [[nodiscard]] bool seeks() const override { return conversation_->seeks(); }
  [[nodiscard]] Actions begin(const Meeting& meeting, const Draw& draw) override {
    const auto by = meeting.invited_by;
    return note(by ? "meet:by=" + std::to_string(*by) : "meet",
                conversation_->begin(meeting, draw));
  }
  [[nodiscard]] Actions knock(const Message& opening) override {
    return note(
        "knock:from=" + std::to_string(opening.from) + (opening.invited ? ",invited=1" : ""),
        conversation_->knock(opening));
  }
  [[nodiscard]] Actions came(const Message& message) override {
    return note("came:from=" + std::to_string(message.from) +
                    ",says=" + std::string(peer::to_words(message.what)),
                conversation_->came(message));
  }

 private:
  [[nodiscard]] Actions note(const std::string& event, Actions actions) const {
    journal_(event, all_in_words(actions));
    return actions;
  }

  const std::unique_ptr<Conversation> conversation_;
  const Journal journal_;
};

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

std::unique_ptr<Conversation> noted(std::unique_ptr<Conversation> conversation,
                                    const Place& place,
                                    Journal journal) {
  if (!journal) {
    return conversation;
  }
  journal("group:generation=" + std::to_string(place.generation) +
              ",size=" + std::to_string(place.size) + ",rank=" + std::to_string(place.rank),
          "");
  return std::make_unique<Noted>(std::move(conversation), std::move(journal));
}

worker::Neighbours neighbours_in(const Place& place,
                                 Averaging averaging,
                                 worker::Graph graph,
                                 std::uint64_t seed) {
  return {place.rank,
          worker::neighbours_of(place.rank, place.size, graph, both_move(averaging)),
          mix(seed) + place.generation};
}

}  // namespace outpace::peer
