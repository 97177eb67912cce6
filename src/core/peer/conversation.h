// What one worker of a gossip says to its neighbours, in one group: the contract of coupled.h,
// pull.h, push.h and elastic.h.
//
// Pure. A driver (threads and sockets, or events of virtual time) calls
//
//   begin()  when turns.h begins a meeting of this worker, and seeks() is false
//   knock()  when opening() came from another worker, or is about to come if it has weights
//   came()   when a message came that an Await of this object names
//
// and carries out the actions that each returns, in their order. An Await is no obstacle to the
// actions after it: it only says which message came() is told of. Workers are named by their rank
// in the group. A group that breaks ends the conversations: the next group has new ones.
//
// A worker has at most two conversations at once: one that it began, and one that it answers. It
// answers one at a time, first come, first served. It answers whether or not it waits for the other
// conversation, so no waiting goes in a circle.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "peer/averaging.h"
#include "peer/journal.h"
#include "worker/neighbour.h"

namespace outpace::peer {

// The numbers are the tags of a pair's messages. A change of what is said needs another protocol
// version.
enum class Say : std::uint8_t {
  kOffer = 1,   // Weights, of the one that asks.
  kAnswer = 2,  // Weights.
  kInvite = 3,  // One number, as the next.
  kRequest = 4,
  kReply = 5,     // Weights.
  kPushed = 6,    // Weights.
  kToCentre = 7,  // Weights, as the next.
  kOfCentre = 8,
  kAsk = 9,    // One number: whether the other invited to it.
  kCame = 10,  // One number: the weights of a visit are there.
};
[[nodiscard]] bool carries_weights(Say what);
[[nodiscard]] std::string_view to_words(Say what);
[[nodiscard]] std::optional<Say> say_of(std::string_view words);

// ---- Actions ----

// Weights are sent as they are at this moment; kOfCentre is what the last Average returned.
struct Send {
  std::uint32_t to;
  Say what;
  bool invited = false;  // kAsk: the one that is asked had invited to it.
  bool operator==(const Send&) const = default;
};
// came() is to be told of this message.
struct Await {
  std::uint32_t from;
  Say what;
  bool operator==(const Await&) const = default;
};
// The other invited this worker: tell turns.h.
struct Invited {
  std::uint32_t by;
  bool operator==(const Invited&) const = default;
};
enum class How : std::uint8_t {
  kHalfway,     // By half of what came minus what was sent.
  kTowards,     // Halfway from the present weights to what came.
  kKeep,        // What came is kept for the next step.
  kNothing,     // The other averages.
  kCentreHere,  // With the centre, which this worker holds.
  kWithCentre,  // With the centre that came, by what was sent.
  kCentre,      // Only the centre moves; what it was is to be sent.
};
// Moves this worker's weights, or its centre, by those of `with`. `over`: a meeting of this worker
// is over with it: tell turns.h, at the same moment. `own`: it was its own, which its gradient may
// wait for.
struct Average {
  How how;
  std::uint32_t with;
  bool own = false;
  bool over = false;
  bool operator==(const Average&) const = default;
};
// There is no meeting of this worker's own to be had: tell turns.h.
struct Skip {
  bool operator==(const Skip&) const = default;
};
using Action = std::variant<Send, Await, Invited, Average, Skip>;
using Actions = std::vector<Action>;

// "sends ask to 1", for a worker that is named before.
[[nodiscard]] std::string to_words(const Action& action);

// ---- Events ----

struct Message {
  std::uint32_t from;
  Say what;
  bool invited = false;
};
// Begun by this worker for a gradient of its own, or because another invited it.
struct Meeting {
  std::optional<std::uint32_t> invited_by;
};
// Draws a neighbour. Called once for each meeting of one's own that has one.
using Draw = std::function<std::uint32_t()>;

class Conversation {
 public:
  virtual ~Conversation() = default;

  // The message that begins a conversation with this worker.
  [[nodiscard]] virtual Say opening() const = 0;
  // REQUIRES: !seeks().
  [[nodiscard]] virtual Actions begin(const Meeting& meeting, const Draw& draw) = 0;
  // REQUIRES: `opening` is opening().
  [[nodiscard]] virtual Actions knock(const Message& opening) = 0;
  // REQUIRES: an Await names it, which no call of this was told of yet.
  [[nodiscard]] virtual Actions came(const Message& message) = 0;
  // Whether this worker waits for the other one of a conversation that it began.
  [[nodiscard]] virtual bool seeks() const = 0;
};

// `rank`: of this worker in its group.
[[nodiscard]] std::unique_ptr<Conversation> make_conversation(Averaging averaging,
                                                              std::uint32_t rank);

// A worker's place in a group.
struct Place {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  // The group's.
  std::uint32_t generation = 0;
};
// The same conversation, which writes a journal; null: it does not.
[[nodiscard]] std::unique_ptr<Conversation> noted(std::unique_ptr<Conversation> conversation,
                                                  const Place& place,
                                                  Journal journal);

// What `draw` draws from, in this place. `seed`: the run's. REQUIRES: a group of two at least.
[[nodiscard]] worker::Neighbours neighbours_in(const Place& place,
                                               Averaging averaging,
                                               worker::Graph graph,
                                               std::uint64_t seed);

}  // namespace outpace::peer
