// What every driver of an admission does in the same way: the live server, the host of a ring or
// gossip, the simulated cluster, and the tests.
//
//   admission::Effects effects;
//   admission.hello(now, from, hello, version, effects);   // Or another event.
//   admission::carry_out(admission, now, effects, driver's functions);
//
// The driver gives one function for each effect, and one that lacks a function does not compile.

#pragma once

#include <variant>

#include "admission/admission.h"
#include "admission/effects.h"
#include "base/time.h"

namespace outpace::admission {

// Carries the effects out in order, and then what follows from them.
template <typename Driver>
void carry_out(Admission& admission, Time now, Effects& effects, const Driver& driver) {
  do {
    for (const Effect& effect : effects) {
      std::visit(driver, effect);
    }
    effects.clear();
    admission.settle(now, effects);
  } while (!effects.empty());
}

}  // namespace outpace::admission
