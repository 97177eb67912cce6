#include "peer/ring.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/overloaded.h"

namespace outpace::peer {

namespace {

bool contains(const std::vector<WorkerId>& workers, WorkerId worker) {
  return std::ranges::find(workers, worker) != workers.end();
}

}  // namespace

Ring::Ring(const Options& options, Journal journal)
    : options_(options),
      journal_(std::move(journal)),
      plan_(options.batches),
      snapshot_due_(next_snapshot(0, options.evaluate_every)) {}

bool Ring::can_form(const protocol::Group& group) const {
  // A sum is complete on one worker only if all took part in it.
  return phase_ == Phase::kOut &&
         (contains(group.newcomers, options_.worker) || count(group.version) == version_ ||
          (count(group.version) == version_ + 1 && open_.has_value()));
}

Ring::Actions Ring::formed(const protocol::Group& group) {
  Actions actions = form(group);
  if (journal_) {
    const std::string behind = in_words(group.behind);
    const std::string newcomers = in_words(group.newcomers);
    journal_("formed:generation=" + std::to_string(group.generation) + ",version=" +
                 std::to_string(count(group.version)) + ",members=" + in_words(group.members) +
                 ",ahead=" + std::to_string(index(group.ahead)) +
                 (behind.empty() ? "" : ",behind=" + behind) +
                 (newcomers.empty() ? "" : ",newcomers=" + newcomers),
             all_in_words(actions));
  }
  return actions;
}

Ring::Actions Ring::form(const protocol::Group& group) {
  CHECK(can_form(group));
  if (contains(group.newcomers, options_.worker)) {
    phase_ = Phase::kTakesOver;
    members_ = group.members;
    open_.reset();
    return {TakeOver{group.ahead}};
  }
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
  if (group.ahead == options_.worker) {
    const Come come{
        .made = {.updates = version_, .gradients = plan_.gradients(), .examples = applied_},
        .ended = ended_};
    for (const WorkerId newcomer : group.newcomers) {
      actions.emplace_back(HandOver{.to = newcomer, .come = come});
    }
  }
  actions.push_back(go_on());
  return actions;
}

Ring::Actions Ring::took(const Come& come) {
  CHECK(takes_over());
  version_ = come.made.updates;
  applied_ = come.made.examples;
  ended_ = come.ended;
  snapshot_due_ = next_snapshot(applied_, options_.evaluate_every);
  plan_.go_on_from(come.made);
  plan_.set_workers(members_);
  Actions actions{go_on()};
  if (journal_) {
    journal_("took:updates=" + std::to_string(come.made.updates) +
                 ",gradients=" + std::to_string(come.made.gradients) +
                 ",examples=" + std::to_string(come.made.examples) + (come.ended ? ",ended=1" : ""),
             all_in_words(actions));
  }
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
          [](const Ring::HandOver& all) {
            return "hands everything, at version " + std::to_string(all.come.made.updates) +
                   ", to " + std::to_string(index(all.to));
          },
          [](const Ring::TakeOver& from) {
            return "gets everything from " + std::to_string(index(from.from));
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
