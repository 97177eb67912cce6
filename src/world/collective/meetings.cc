#include "collective/meetings.h"

#include <array>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/overloaded.h"

namespace outpace::collective {
namespace {

using peer::Say;

// A message without weights is one number.
constexpr std::array<float, 1> kNo{0.0F};
constexpr std::array<float, 1> kYes{1.0F};

constexpr std::uint32_t tag_of(Say what) {
  return static_cast<std::uint32_t>(what);
}

}  // namespace

Meetings::Meetings(const Options& options,
                   worker::Neighbours neighbours,
                   GlooGroup& group,
                   Replica& replica)
    : has_centre_(options.averaging == Averaging::kElastic),
      rank_(options.place.rank),
      alpha_(options.alpha),
      group_(group),
      replica_(replica),
      seeking_{.then = {}, .theirs = std::vector<float>(replica.size())},
      listening_(seeking_),
      neighbours_(std::move(neighbours)),
      conversation_(peer::noted(
          peer::make_conversation(options.averaging, rank_), options.place, options.journal)) {}

void Meetings::run() {
  replica_.hold_centre(has_centre_ && rank_ == peer::kCentre);
  std::exception_ptr heard;
  std::exception_ptr sought;
  {
    const std::jthread listening([this, &heard] {
      try {
        listen();
      } catch (...) {
        heard = std::current_exception();
      }
      group_.abort();  // The other thread may wait in it, or for its next meeting.
      replica_.leave_group();
    });
    try {
      seek();
    } catch (...) {
      sought = std::current_exception();
    }
    group_.abort();
  }
  for (const std::exception_ptr& failure : {sought, heard}) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
  throw GroupBroken("the group is to be left");
}

void Meetings::seek() {
  while (const auto meeting = replica_.begin_meeting()) {
    carry_out(begin(*meeting), seeking_);
  }
}

void Meetings::listen() {
  const Say opening = conversation_->opening();  // The same at all times.
  std::array<float, 1> number{};
  const std::span<float> room =
      peer::carries_weights(opening) ? std::span<float>(listening_.theirs) : std::span(number);
  while (const auto from = group_.receive_any(tag_of(opening), room)) {
    const peer::Message message{*from, opening, number.front() != 0.0F};
    peer::Actions actions = knock(message);
    // It awaits the weights of the one that it lets in, and these are here.
    carry_out(peer::carries_weights(opening) ? came(message) : std::move(actions), listening_);
  }
}

peer::Actions Meetings::begin(const peer::Meeting& meeting) {
  const std::lock_guard lock(mutex_);
  return conversation_->begin(meeting, [this] { return neighbours_.next(); });
}

peer::Actions Meetings::knock(const peer::Message& opening) {
  const std::lock_guard lock(mutex_);
  return conversation_->knock(opening);
}

peer::Actions Meetings::came(const peer::Message& message) {
  const std::lock_guard lock(mutex_);
  return conversation_->came(message);
}

void Meetings::carry_out(peer::Actions actions, Sheets& sheets) {
  while (!actions.empty()) {
    std::optional<peer::Await> awaited;  // The one that is sent to meanwhile is the same.
    std::optional<peer::Send> with_it;
    for (auto action = actions.begin(); action != actions.end(); ++action) {
      std::visit(Overloaded{[&](const peer::Send& send) {
                              const auto next = std::next(action);
                              const auto* then = next == actions.end()
                                                     ? nullptr
                                                     : std::get_if<peer::Await>(&*next);
                              if (then != nullptr && then->from == send.to) {
                                with_it = send;
                              } else {
                                group_.send(send.to, tag_of(send.what), payload(send, sheets));
                              }
                            },
                            [&](const peer::Await& await) { awaited = await; },
                            [&](const peer::Invited& by) { replica_.invited(by.by); },
                            [&](const peer::Average& how) { average(how, sheets); },
                            [&](const peer::Skip& /*none*/) { replica_.skip(); }},
                 *action);
    }
    if (!awaited) {
      return;
    }
    std::array<float, 1> number{};
    const std::span<float> room =
        peer::carries_weights(awaited->what) ? std::span<float>(sheets.theirs) : std::span(number);
    if (with_it) {  // Both at once, so that a link carries both ways.
      group_.exchange(awaited->from,
                      tag_of(with_it->what),
                      payload(*with_it, sheets),
                      tag_of(awaited->what),
                      room);
    } else {
      group_.receive(awaited->from, tag_of(awaited->what), room);
    }
    actions = came({awaited->from, awaited->what});
  }
}

std::span<const float> Meetings::payload(const peer::Send& send, Sheets& sheets) {
  if (!peer::carries_weights(send.what)) {
    return send.invited ? kYes : kNo;
  }
  if (send.what != Say::kOfCentre) {  // What the centre was is there already.
    replica_.copy_weights(sheets.then);
  }
  return sheets.then;
}

void Meetings::average(const peer::Average& average, Sheets& sheets) {
  auto& [then, theirs] = sheets;
  switch (average.how) {
    case peer::How::kHalfway:
      return replica_.meet_halfway(then, theirs, average.own);
    case peer::How::kTowards:
      return replica_.pulled(theirs);
    case peer::How::kKeep:
      return replica_.push_in(theirs);
    case peer::How::kNothing:
      return replica_.sent();
    case peer::How::kCentreHere:
      return replica_.meet_centre(alpha_);
    case peer::How::kWithCentre:
      return replica_.meet_centre(then, theirs, alpha_);
    case peer::How::kCentre:
      then = replica_.answer_of_centre(theirs, alpha_);
      return;
  }
}

}  // namespace outpace::collective
