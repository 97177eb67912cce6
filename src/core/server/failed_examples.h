// Examples whose mini-batches came to nothing by their own fault: the gradient was not finite, or
// the worker said that it cannot compute them. After three tries, of three workers if as many are
// there, they are left out. Fewer workers might be at fault themselves.
//
// Tries are counted by position, because a mini-batch that was given back may go out in pieces.

#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <absl/container/inlined_vector.h>

#include "base/ids.h"
#include "protocol/messages.h"

namespace outpace::server {

class FailedExamples {
 public:
  static constexpr std::uint32_t kTries = 3;        // By as many workers.
  static constexpr std::uint32_t kTriesMost = 100;  // With fewer workers: the others do not come.

  struct Outcome {
    protocol::Ranges again;     // The ranges to be tried again.
    protocol::Ranges left_out;  // What has failed often enough, and is forgotten here.
    bool fresh = false;         // Some of them had not failed before.
  };
  // A try of `worker` at these ranges has failed; `live` workers take part.
  [[nodiscard]] Outcome fail(WorkerId worker, const protocol::Ranges& ranges, std::uint32_t live);
  // These ranges were used: their failures were not their own fault.
  void forget(const protocol::Ranges& ranges) {
    if (!tries_.empty()) {  // It nearly always is.
      erase(ranges);
    }
  }
  [[nodiscard]] bool empty() const { return tries_.empty(); }

 private:
  struct Tries {
    std::uint64_t end = 0;
    std::uint32_t count = 0;
    absl::InlinedVector<WorkerId, kTries> workers{};  // Some that failed, each once.

    // Says whether it was the last one.
    bool add(WorkerId worker, std::uint32_t live);
  };
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // Epoch, begin.

  void erase(const protocol::Ranges& ranges);
  // Makes an interval that contains `position` inside two, which meet there.
  void cut(std::uint64_t epoch, std::uint64_t position);

  std::map<Key, Tries> tries_;  // Intervals that do not overlap.
};

}  // namespace outpace::server
