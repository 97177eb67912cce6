#include "peer/replayed.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/spec.h"
#include "base/text.h"

namespace outpace::peer {
namespace {

using worker::Topology;

constexpr std::uint32_t kWorkersMost = 1'000'000;
// By the numbers of Averaging and Graph.
const std::array<std::string, 5> kAveragings{"coupled", "free", "pull", "push", "easgd"};
const std::array<std::string, 4> kGraphs{"complete", "bipartite", "ring", "exponential"};

template <typename Choice, std::size_t kWords>
Choice choice_of(SpecReader& reader,
                 const std::string& key,
                 const std::array<std::string, kWords>& words) {
  const std::string word = reader.word(key, words, words.front());
  return static_cast<Choice>(std::ranges::find(words, word) - words.begin());
}

}  // namespace

std::string Setting::words() const {
  std::string text = topology == Topology::kRing ? "ring" : "gossip";
  const auto add = [&text](const std::string& key, std::uint64_t value) {
    text += (text.find(':') == std::string::npos ? ":" : ",") + key + "=" + std::to_string(value);
  };
  add("workers", batches.workers);
  if (topology == Topology::kGossip) {
    text += ",averaging=" + kAveragings.at(static_cast<std::size_t>(averaging)) +
            ",graph=" + kGraphs.at(static_cast<std::size_t>(graph));
    add("every", average_every);
    add("seed", seed);
    return text;
  }
  add("batch", batches.batch);
  if (batches.examples > 0) {
    add("examples", batches.examples);
  }
  add("updates", batches.updates);
  add("iterations", batches.iterations);
  add("epochs", batches.epochs);
  add("evaluate", evaluate_every);
  return text;
}

Setting Setting::parse(const std::string& words) {
  const Spec spec = Spec::parse(words);
  if (spec.name != "ring" && spec.name != "gossip") {
    throw usage_error("'" + spec.name + "' is neither a ring nor a gossip");
  }
  SpecReader reader("run", spec);
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  const auto small = [&](const char* key, std::uint64_t most) {
    return static_cast<std::uint32_t>(reader.count(key, 1, 1, most));
  };
  Setting found{.topology = spec.name == "ring" ? Topology::kRing : Topology::kGossip};
  found.batches.workers = small("workers", kWorkersMost);
  if (found.topology == Topology::kRing) {
    found.batches.batch = small("batch", kMost);
    found.batches.examples = reader.count("examples", 1, 1);
    found.batches.updates = reader.count("updates", 0);
    found.batches.iterations = reader.count("iterations", 0);
    found.batches.epochs = reader.count("epochs", 0);
    found.evaluate_every = reader.count("evaluate", 1, 1);
  } else {
    found.averaging = choice_of<Averaging>(reader, "averaging", kAveragings);
    found.graph = choice_of<worker::Graph>(reader, "graph", kGraphs);
    found.average_every = small("every", kMost);
    found.seed = reader.count("seed", 1);
  }
  reader.finish();
  return found;
}

// An event, whose fields are checked as they are asked for.
struct Replayed::Told {
  Told(const std::string& text, std::uint32_t workers)
      : spec(Spec::parse(text)), reader("event", spec), workers_(workers) {}

  [[nodiscard]] bool is(std::string_view name) const { return spec.name == name; }
  [[nodiscard]] std::uint32_t number(const char* key,
                                     std::optional<std::uint64_t> otherwise = std::nullopt) {
    return static_cast<std::uint32_t>(
        reader.count(key, otherwise, 0, std::numeric_limits<std::uint32_t>::max()));
  }
  [[nodiscard]] WorkerId worker(const char* key) {
    return WorkerId{static_cast<std::uint32_t>(reader.count(key, std::nullopt, 0, workers_ - 1))};
  }
  // In order, each once.
  [[nodiscard]] std::vector<WorkerId> workers(const char* key) {
    std::vector<WorkerId> found;
    const std::string text = reader.text(key, "workers");  // The parts are views of it.
    for (const std::string_view one : split(text, '+')) {
      const auto id = parse_count(one);
      can_come(id && *id < workers_ && (found.empty() || *id > index(found.back())));
      found.push_back(WorkerId{static_cast<std::uint32_t>(*id)});
    }
    return found;
  }
  [[nodiscard]] bool has(std::string_view key) const {
    return std::ranges::any_of(spec.options, [&](const auto& one) { return one.first == key; });
  }
  // A machine must not be told what is a bug in a driver.
  void can_come(bool can) const {
    if (!can) {
      throw usage_error("event '" + spec.text + "' cannot come after those before it");
    }
  }

  const Spec spec;
  SpecReader reader;

 private:
  std::uint32_t workers_;
};

Replayed::Replayed(const Setting& setting, std::optional<WorkerId> worker)
    : setting_(setting),
      worker_(worker),
      journal_(
          [this](const std::string& /*event*/, const std::string& decided) { decided_ = decided; }),
      formation_(journal_),
      machines_(make_machines()) {}

std::unique_ptr<Replayed::Machines> Replayed::make_machines() const {
  return std::unique_ptr<Machines>(
      new Machines{.membership = Membership(journal_),
                   .ring = Ring({.worker = worker_.value_or(WorkerId{}),
                                 .batches = setting_.batches,
                                 .evaluate_every = setting_.evaluate_every},
                                journal_),
                   .turns = Turns(setting_.averaging, setting_.average_every, journal_)});
}

std::string Replayed::decide(const std::string& text) {
  Told event(text, setting_.batches.workers);
  const bool told =
      worker_ ? tell_member(event) || (setting_.topology == Topology::kRing
                                           ? tell_ring(event)
                                           : tell_turns(event) || tell_conversation(event))
              : tell_host(event);
  if (!told) {
    throw usage_error("event '" + text + "' is none of this process");
  }
  event.reader.finish();
  return std::move(decided_);
}

bool Replayed::tell_host(Told& event) {
  if (event.is("begin")) {
    event.can_come(!std::exchange(begun_, true));
    const std::vector<WorkerId> all = event.workers("workers");
    (void)formation_.begin({all.begin(), all.end()});
  } else if (event.is("lost")) {
    (void)formation_.lost(event.worker("worker"));
  } else if (event.is("came")) {
    const WorkerId worker = event.worker("worker");
    event.can_come(formation_.generation() > 0 && !formation_.workers().contains(worker));
    (void)formation_.came(worker);
  } else if (event.is("stands")) {
    const WorkerId worker = event.worker("worker");
    (void)formation_.stands(worker,
                            {.generation = event.number("generation"),
                             .version = Version{event.reader.count("version", std::nullopt)},
                             .newcomer = event.number("newcomer", 0) != 0});
  } else {
    return false;
  }
  return true;
}

bool Replayed::tell_member(Told& event) {
  if (event.is("anew")) {  // The worker was lost, and comes back.
    machines_ = make_machines();
    conversation_.reset();
    awaits_.clear();
  } else if (event.is("asked")) {
    machines_->membership.asked({event.number("generation")});
  } else if (event.is("told")) {
    machines_->membership.told({.generation = event.number("generation"),
                                .version = {},
                                .members = {},
                                .ahead = {},
                                .behind = {}});
  } else if (event.is("out")) {
    machines_->membership.out();
  } else if (event.is("answer")) {
    (void)machines_->membership.answer();
  } else if (event.is("join")) {
    (void)machines_->membership.joins();
  } else {
    return false;
  }
  return true;
}

bool Replayed::tell_ring(Told& event) {
  if (event.is("formed")) {
    protocol::Group group{.generation = event.number("generation"),
                          .version = Version{event.reader.count("version", std::nullopt)},
                          .members = event.workers("members"),
                          .ahead = event.worker("ahead"),
                          .behind = {}};
    if (event.has("behind")) {
      group.behind = event.workers("behind");
    }
    if (event.has("newcomers")) {
      group.newcomers = event.workers("newcomers");
    }
    event.can_come(machines_->ring.can_form(group) &&
                   std::ranges::find(group.members, *worker_) != group.members.end());
    (void)machines_->ring.formed(group);
  } else if (event.is("summed")) {
    event.can_come(machines_->ring.awaits_sum());
    (void)machines_->ring.summed(event.number("votes", 0) != 0);
  } else if (event.is("took")) {
    event.can_come(machines_->ring.takes_over());
    peer::Ring::Come come;
    come.made = {.updates = event.reader.count("updates", std::nullopt),
                 .gradients = event.reader.count("gradients", std::nullopt),
                 .examples = event.reader.count("examples", std::nullopt)};
    come.ended = event.number("ended", 0) != 0;
    (void)machines_->ring.took(come);
  } else if (event.is("broken")) {
    machines_->ring.broken();
  } else {
    return false;
  }
  return true;
}

bool Replayed::tell_turns(Told& event) {
  if (event.is("gradient")) {
    machines_->turns.begin_gradient();
  } else if (event.is("apply")) {
    event.can_come(!machines_->turns.waits());
    machines_->turns.apply();
  } else if (event.is("invited")) {
    machines_->turns.invited(event.number("by"));
  } else if (event.is("end")) {
    machines_->turns.end();
  } else if (event.is("connected")) {
    machines_->turns.connected();
  } else if (event.is("disconnected")) {
    machines_->turns.disconnected();
  } else if (event.is("turn")) {
    event.can_come(machines_->turns.ready());
    (void)machines_->turns.begin();
  } else if (event.is("over")) {
    machines_->turns.over(event.number("own", 0) != 0);
  } else if (event.is("skip")) {
    machines_->turns.skip();
  } else {
    return false;
  }
  return true;
}

bool Replayed::tell_conversation(Told& event) {
  if (event.is("group")) {
    place_ = {.rank = event.number("rank"),
              .size = event.number("size"),
              .generation = event.number("generation")};
    event.can_come(place_.size >= 2 && place_.size <= setting_.batches.workers &&
                   place_.rank < place_.size);
    conversation_ = noted(make_conversation(setting_.averaging, place_.rank), place_, journal_);
    neighbours_.emplace(neighbours_in(place_, setting_.averaging, setting_.graph, setting_.seed));
    awaits_.clear();
    return true;
  }
  event.can_come(conversation_ != nullptr);
  const auto other = [&](const char* key) {
    const std::uint32_t rank = event.number(key);
    event.can_come(rank < place_.size);
    return rank;
  };
  if (event.is("meet")) {
    Meeting meeting;
    if (event.has("by")) {
      meeting.invited_by = other("by");
    }
    event.can_come(!conversation_->seeks() &&
                   (!meeting.invited_by || both_move(setting_.averaging)));
    follow(conversation_->begin(meeting, [this] { return neighbours_->next(); }));
  } else if (event.is("knock")) {
    const std::uint32_t from = other("from");
    event.can_come(setting_.averaging != Averaging::kElastic || place_.rank == kCentre);
    follow(conversation_->knock({from, conversation_->opening(), event.number("invited", 0) != 0}));
  } else if (event.is("came")) {
    const Await message{other("from"),
                        say_of(event.reader.text("says", "a word")).value_or(Say::kInvite)};
    const auto awaited = std::ranges::find(awaits_, message);
    event.can_come(awaited != awaits_.end());
    awaits_.erase(awaited);
    follow(conversation_->came({message.from, message.what}));
  } else {
    return false;
  }
  return true;
}

void Replayed::follow(const Actions& actions) {
  for (const Action& action : actions) {
    if (const auto* awaited = std::get_if<Await>(&action)) {
      awaits_.push_back(*awaited);
    }
  }
}

}  // namespace outpace::peer
