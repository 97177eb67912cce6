// For tests: a board that is told of rounds of three workers. The last one is cut off.

#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "watch/board.h"

namespace outpace::watch {

using namespace std::chrono_literals;
using policy::Action;

inline constexpr std::uint32_t kBatch = 10;

// Rounds of three workers that take 100, 100 and 400 ms. The last one is cut off.
class Rounds {
 public:
  // `past`: of an earlier board, with which this one goes on.
  explicit Rounds(About about = {.name = "backup:cutoff=2",
                                 .workers = 3,
                                 .policy = "backup:cutoff=2"},
                  const std::string& past = "")
      : board(std::move(about)) {
    if (!past.empty()) {
      board.remember(past);
      now = board.now();
      version = board.sums().version;
      board.goes_on(now, version);
    }
    for (std::uint32_t worker = 0; worker < 3; ++worker) {
      tell(policy::WorkerJoined{WorkerId{worker}}, {policy::Release{WorkerId{worker}}});
    }
  }
  void tell(const policy::Event& event, const std::vector<Action>& actions) {
    board.decided(now, event, actions, {.reason = {}, .words = "because"});
  }
  policy::GradientArrived arrived(std::uint32_t worker, Duration runtime) const {
    return {.worker = WorkerId{worker},
            .release = Sequence{1},
            .computed_on = Version{version},
            .examples = kBatch,
            .nominal = kBatch,
            .partial = false,
            .runtime = runtime};
  }
  void round() {
    now += 90ms;
    tell(arrived(0, 90ms), {policy::Accept{WorkerId{0}, Sequence{1}, 1.0}});
    now += 10ms;
    tell(arrived(1, 100ms),
         {policy::Accept{WorkerId{1}, Sequence{1}, 1.0},
          policy::Commit{},
          policy::Cancel{WorkerId{2}, false},
          policy::Release{WorkerId{0}},
          policy::Release{WorkerId{1}}});
    ++version;
    tell(policy::ReleaseEnded{WorkerId{2}, Sequence{1}, policy::Ending::kAbandoned},
         {policy::Release{WorkerId{2}}});
  }
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      round();
    }
  }

  Board board;
  Time now{};
  std::uint64_t version = 0;
};

}  // namespace outpace::watch
