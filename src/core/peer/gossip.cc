#include "peer/gossip.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"

namespace outpace::peer {

Actions Gossip::join(const Place& place, const Draw& draw) {
  CHECK(!in_group());
  conversation_ = noted(make_conversation(averaging_, place.rank), place, journal_);
  turns_.connected();
  return go_on({}, draw);
}

void Gossip::leave() {
  conversation_.reset();
  turns_.disconnected();
}

Actions Gossip::begin_gradient(const Draw& draw) {
  turns_.begin_gradient();
  return in_group() ? go_on({}, draw) : Actions{};
}

Actions Gossip::knock(const Message& opening, const Draw& draw) {
  CHECK(in_group());
  return go_on(conversation_->knock(opening), draw);
}

Actions Gossip::came(const Message& message, const Draw& draw) {
  CHECK(in_group());
  return go_on(conversation_->came(message), draw);
}

Actions Gossip::go_on(Actions actions, const Draw& draw) {
  tell_turns(actions);
  while (!conversation_->seeks() && turns_.ready()) {
    const Actions more = conversation_->begin(turns_.begin(), draw);
    tell_turns(more);
    actions.insert(actions.end(), more.begin(), more.end());
  }
  return actions;
}

void Gossip::tell_turns(const Actions& actions) {
  for (const Action& action : actions) {
    std::visit(Overloaded{[&](const Invited& invited) { turns_.invited(invited.by); },
                          [&](const Average& average) {
                            if (average.over) {
                              turns_.over(average.own);
                            }
                          },
                          [&](const Skip& /*none*/) { turns_.skip(); },
                          Ignoring<Send, Await>{}},
               action);
  }
}

}  // namespace outpace::peer
