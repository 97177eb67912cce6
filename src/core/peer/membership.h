// A worker's side of formation.h: which group it is in, and when to leave it.
//
// Pure. The host's words come to asked() and told(), at any time. A worker that is in a group looks
// at must_leave(). When it has left one, or before the first, it calls out(), and then answer() and
// joins() after each of the host's words, until joins() says which group is the next.

#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "peer/journal.h"
#include "protocol/messages.h"

namespace outpace::peer {

class Membership {
 public:
  explicit Membership(Journal journal = {}) : journal_(std::move(journal)) {}

  // The host asks all to leave the groups before this generation, and to say where they stand.
  void asked(const protocol::Regroup& regroup) {
    asked_ = std::max(asked_, regroup.generation);
    note("asked:generation=" + std::to_string(regroup.generation),
         must_leave() ? "leaves its group" : "stays");
  }
  // The host says who forms a group.
  void told(protocol::Group group) {
    group_ = std::move(group);
    note("told:generation=" + std::to_string(group_->generation), "");
  }

  // The present group is to be left.
  [[nodiscard]] bool must_leave() const { return asked_ > generation_; }
  // This worker is in no group.
  void out() {
    answered_.reset();
    note("out", "");
  }
  // The generation under which it now has to say where it stands, if it has. Unasked, it says that
  // its last group is broken. REQUIRES: it is in no group.
  [[nodiscard]] std::optional<std::uint32_t> answer() {
    const bool answers = !answered_ || asked_ > *answered_;
    answered_ = answers ? std::max(asked_, generation_) : *answered_;
    note("answer", answers ? "says where it stands: " + std::to_string(*answered_) : "waits");
    return answers ? answered_ : std::nullopt;
  }
  // The group that it now belongs to, if that was formed of the answers to the newest question.
  [[nodiscard]] std::optional<protocol::Group> joins() {
    const bool joins =
        answered_ && *answered_ > generation_ && group_ && group_->generation == *answered_;
    note("join", joins ? "joins group " + std::to_string(*answered_) : "waits");
    if (!joins) {
      return std::nullopt;
    }
    generation_ = *answered_;
    return std::exchange(group_, std::nullopt);
  }

 private:
  void note(const std::string& event, const std::string& decided) const {
    if (journal_) {
      journal_(event, decided);
    }
  }

  // Constant after construction.
  Journal journal_;
  // State.
  std::uint32_t asked_ = 0;                // The newest generation that the host began.
  std::uint32_t generation_ = 0;           // The present group's, or the last one's.
  std::optional<std::uint32_t> answered_;  // Since it is in no group.
  std::optional<protocol::Group> group_;   // The newest that came.
};

}  // namespace outpace::peer
