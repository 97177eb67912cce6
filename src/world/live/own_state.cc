// Tested by test/program/local_steps_test.py (class Kept).

#include "live/own_state.h"

#include <cstdio>

namespace outpace::live {

std::string OwnState::name() const {
  return phase != nullptr ? phase->optimizer() : "what packing left behind";
}

void OwnState::keep(Archive& archive) const {
  if (phase != nullptr) {
    phase->keep(archive);
  }
  if (packing_remembers()) {
    archive.group("packing", [&] { packer->keep(archive); });
  }
}

void take_up(const StateKeeper& keeper,
             const protocol::Welcome& welcome,
             WorkerId worker,
             Version at,
             const OwnState& state) {
  if (count(at) == 0 || !state.remembers()) {
    return;
  }
  const std::optional<Version> kept =
      keeper.take_up ? keeper.take_up(welcome, at, state) : std::nullopt;
  const std::string since = kept ? " that it had at update " + std::to_string(count(*kept)) : "";
  const auto say = [&](const std::string& what) {
    std::fprintf(stderr,
                 "outpace: %s joins at update %s: %s\n",
                 outpace::name(worker).c_str(),
                 std::to_string(count(at)).c_str(),
                 what.c_str());
  };
  if (state.steps_remember()) {
    say("the " + state.name() + " of its local steps " +
        (kept ? "goes on with the state" + since : "begins anew, with nothing of earlier steps"));
  }
  if (state.packing_remembers() && kept) {
    say("what packing its earlier pushes left behind counts, as it was at update " +
        std::to_string(count(*kept)));
  } else if (state.packing_remembers()) {
    state.packer->say_lost(worker, at);
  }
}

}  // namespace outpace::live
