// The journal of a run without a server: each event that a machine of this folder was told, and
// what it decided, in words. The machines write it themselves, under whatever lock guards them, so
// it is the same from every driver. replayed.h tells them the events again.
//
// An event is a spec (base/spec.h), as "came:from=1,says=answer"; several workers are "0+1+3".

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace outpace::peer {

// Null: nobody reads it.
using Journal = std::function<void(const std::string& event, const std::string& decided)>;

template <typename Workers>
[[nodiscard]] std::string in_words(const Workers& workers, const char* between = "+") {
  std::string text;
  for (const WorkerId worker : workers) {
    text += (text.empty() ? "" : between) + std::to_string(index(worker));
  }
  return text;
}

// Each in the words of its own to_words().
template <typename Action>
[[nodiscard]] std::string all_in_words(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) {
    text += (text.empty() ? "" : ", then ") + to_words(action);
  }
  return text;
}

}  // namespace outpace::peer
