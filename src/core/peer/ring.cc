#include "peer/ring.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"

namespace outpace::peer {

Ring::Ring(const Options& options, Journal journal)
    : options_(options),
      journal_(std::move(journal)),
      plan_(options.batches),
      snapshot_due_(next_snapshot(0, options.evaluate_every)) {}

bool Ring::can_form(const protocol::Group& group) const {
  // A sum is complete on one worker only if all took part in it.
  return phase_ == Phase::kOut && (count(group.version) == version_ ||
                                   (count(group.version) == version_ + 1 && open_.has_value()));
}

Ring::Actions Ring::formed(const protocol::Group& group) {
  Actions actions = form(group);
  if (journal_) {
    const std::string behind = in_words(group.behind);
    journal_("formed:generation=" + std::to_string(group.generation) + ",version=" +
                 std::to_string(count(group.version)) + ",members=" + in_words(group.members) +
                 ",ahead=" + std::to_string(index(group.ahead)) +
                 (behind.empty() ? "" : ",behind=" + behind),
             all_in_words(actions));
  }
  return actions;
}

Ring::Actions Ring::form(const protocol::Group& group) {
  CHECK(can_form(group));
  if (count(group.version) != version_) {
    phase_ = Phase::kCatchesUp;
    members_ = group.members;
    return {CatchUp{group.ahead}};
  }
  Actions actions;
  if (group.ahead == options_.worker) {
    for (const WorkerId behind : group.behind) {
      actions.emplace_back(HandOn{behind});
    }
  }
  if (open_) {
    plan_.put_back();
    open_.reset();
  }
  plan_.set_workers(group.members);
  actions.push_back(go_on());
  return actions;
}

Ring::Actions Ring::summed(bool votes) {
  CHECK(awaits_sum());
  Actions actions{apply(votes)};
  if (phase_ == Phase::kCatchesUp) {
    plan_.set_workers(members_);
  }
  actions.push_back(go_on());
  if (journal_) {
    journal_(votes ? "summed:votes=1" : "summed", all_in_words(actions));
  }
  return actions;
}

void Ring::broken() {
  phase_ = Phase::kOut;
  if (journal_) {
    journal_("broken", "");
  }
}

Ring::Apply Ring::apply(bool votes) {
  ++version_;
  applied_ += open_->examples;
  const bool due = applied_ >= snapshot_due_;
  if (due) {
    snapshot_due_ = next_snapshot(applied_, options_.evaluate_every);
  }
  const Apply step{.examples = open_->examples,
                   .applied = applied_,
                   .version = version(),
                   .brings = due && plan_.workers().front() == options_.worker};
  open_.reset();
  ended_ = votes;  // All see the same votes, so all end with the same update.
  return step;
}

Ring::Action Ring::go_on() {
  open_ = ended_ ? std::nullopt : plan_.next(options_.worker);
  if (!open_) {
    phase_ = Phase::kFinished;
    return Finish{};
  }
  phase_ = Phase::kComputes;
  return Compute{.update = *open_, .sequence = Sequence{version_ + 1}};
}

std::string to_words(const Ring::Action& action) {
  return std::visit(
      Overloaded{
          [](const Ring::HandOn& hand) {
            return "hands its newest sum to " + std::to_string(index(hand.to));
          },
          [](const Ring::CatchUp& with) {
            return "gets the open sum from " + std::to_string(index(with.from));
          },
          [](const Ring::Compute& term) {
            std::string ranges;
            for (const protocol::Range& range : term.update.own) {
              ranges += " " + std::to_string(range.epoch) + ":" + std::to_string(range.begin) +
                        "-" + std::to_string(range.end);
            }
            return "computes" + (ranges.empty() ? " nothing" : ranges) + " of " +
                   std::to_string(term.update.examples) + " examples for version " +
                   std::to_string(number(term.sequence));
          },
          [](const Ring::Apply& step) {
            return "applies " + std::to_string(step.examples) + " examples: version " +
                   std::to_string(count(step.version)) + ", " + std::to_string(step.applied) +
                   " in all" + (step.brings ? "; sends its weights to the evaluator" : "");
          },
          [](const Ring::Finish& /*none left*/) { return std::string("has no update left"); }},
      action);
}

}  // namespace outpace::peer
