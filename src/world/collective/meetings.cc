#include "collective/meetings.h"

#include <array>
#include <cmath>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/overloaded.h"
#include "collective/parcel.h"
#include "compress/pack.h"
#include "update/gradient.h"

namespace outpace::collective {
namespace {

using peer::Say;

// A message without weights is one number.
constexpr std::array<float, 1> kNo{0.0F};
constexpr std::array<float, 1> kYes{1.0F};

bool is_broken(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const GroupBroken& /*why*/) {
    return true;
  } catch (...) {
    return false;
  }
}

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
      format_(options.format),
      group_(group),
      replica_(replica),
      seeking_{.theirs = std::vector<float>(replica.size())},
      listening_(seeking_),
      neighbours_(std::move(neighbours)),
      conversation_(peer::noted(
          peer::make_conversation(options.averaging, rank_), options.place, options.journal)) {
  if (packs()) {
    for (Sheets* sheets : {&seeking_, &listening_}) {
      sheets->sent.resize(parcel_bytes(format_, replica.size()));
      sheets->came.resize(parcel_bytes(format_, replica.size()));
    }
  }
}

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
    if (failure && !is_broken(failure)) {  // The other one is broken by it.
      std::rethrow_exception(failure);
    }
  }
  throw GroupBroken("the group is broken, or to be left");
}

void Meetings::seek() {
  while (const auto meeting = replica_.begin_meeting()) {
    carry_out(begin(*meeting), seeking_);
  }
}

void Meetings::listen() {
  const Say opening = conversation_->opening();  // The same at all times.
  while (const auto from = group_.receive_any(tag_of(opening), room(opening, listening_))) {
    unpack(*from, opening, listening_);
    const peer::Message message{*from, opening, listening_.word.front() != 0.0F};
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
    const std::span<std::byte> place = room(awaited->what, sheets);
    if (with_it) {  // Both at once, so that a link carries both ways.
      group_.exchange(awaited->from,
                      tag_of(with_it->what),
                      payload(*with_it, sheets),
                      tag_of(awaited->what),
                      place);
    } else {
      group_.receive(awaited->from, tag_of(awaited->what), place);
    }
    unpack(awaited->from, awaited->what, sheets);
    actions = came({awaited->from, awaited->what});
  }
}

std::span<const std::byte> Meetings::payload(const peer::Send& send, Sheets& sheets) {
  if (!peer::carries_weights(send.what)) {
    return std::as_bytes(std::span(send.invited ? kYes : kNo));
  }
  if (send.what != Say::kOfCentre) {  // What the centre was is there already, packed.
    replica_.copy_weights(sheets.then);
    if (packs()) {
      pack(sheets.then, sheets.sent);
    }
  }
  const std::span<const std::byte> bytes =
      packs() ? sheets.sent : std::as_bytes(std::span<const float>(sheets.then));
  replica_.carried(bytes.size());
  return bytes;
}

std::span<std::byte> Meetings::room(Say what, Sheets& sheets) const {
  sheets.word = {};
  if (!peer::carries_weights(what)) {
    return std::as_writable_bytes(std::span(sheets.word));
  }
  if (!packs()) {
    return std::as_writable_bytes(std::span(sheets.theirs));
  }
  clear(sheets.came);
  return sheets.came;
}

void Meetings::unpack(std::uint32_t from, Say what, Sheets& sheets) const {
  if (!packs() || !peer::carries_weights(what)) {
    return;
  }
  open(format_, from, sheets.came, sheets.theirs);
  if (!std::isfinite(update::squared_norm(sheets.theirs))) {
    throw Error(ExitCode::kFailure,
                "the worker in place " + std::to_string(from) +
                    " of the group sent weights that are not finite; try a smaller --lr");
  }
}

void Meetings::pack(std::vector<float>& weights, std::vector<std::byte>& parcel) const {
  compress::pack(format_, weights, packed_in(parcel));
  compress::unpack(format_, packed_in(parcel), weights);
  seal(parcel);
}

void Meetings::add_own_rounding(Sheets& sheets) {
  if (!packs()) {
    return;
  }
  replica_.copy_weights(sheets.then);
  for (std::size_t i = 0; i < sheets.then.size(); ++i) {
    sheets.theirs[i] += sheets.then[i];
  }
  pack(sheets.then, sheets.sent);
  for (std::size_t i = 0; i < sheets.then.size(); ++i) {
    sheets.theirs[i] -= sheets.then[i];
  }
}

void Meetings::average(const peer::Average& average, Sheets& sheets) {
  auto& then = sheets.then;
  auto& theirs = sheets.theirs;
  switch (average.how) {
    case peer::How::kHalfway:
      return replica_.meet_halfway(then, theirs, average.own);
    case peer::How::kTowards:
      add_own_rounding(sheets);
      return replica_.pulled(theirs);
    case peer::How::kKeep:
      add_own_rounding(sheets);
      return replica_.push_in(theirs);
    case peer::How::kNothing:
      return replica_.sent();
    case peer::How::kCentreHere:
      return replica_.meet_centre(alpha_);
    case peer::How::kWithCentre:
      return replica_.meet_centre(then, theirs, alpha_);
    case peer::How::kCentre:
      then = replica_.answer_of_centre(theirs, alpha_, [&](std::vector<float>& centre) {
        if (packs()) {
          pack(centre, sheets.sent);
        }
      });
      return;
  }
}

}  // namespace outpace::collective
