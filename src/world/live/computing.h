// What a worker computes with, and how it waits as its delays say.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "live/lasting_session.h"
#include "live/worker_loop.h"
#include "worker/attack.h"
#include "worker/gradient_source.h"
#include "worker/pace.h"

namespace outpace::live {

class Computing {
 public:
  Computing(LastingSession& lasting,
            worker::GradientSource& source,
            const worker::Pace& pace,
            std::optional<worker::Attacker> attacker,
            WorkerObserver* observer)
      : source(source), pace(pace), attacker(attacker), lasting_(lasting), observer_(observer) {}

  worker::GradientSource& source;
  const worker::Pace& pace;
  std::optional<worker::Attacker> attacker;

  [[nodiscard]] WorkerSession& session() { return lasting_.session(); }
  [[nodiscard]] WorkerId worker() const { return lasting_.worker(); }

  // Sleeps as long as the delays say that the next mini-batch of `examples` takes, where a whole
  // one has `nominal`. How many are done then: all, or with a cancel the part that this slow
  // machine would have had.
  std::size_t wait_for_pace(std::uint32_t nominal, std::size_t examples);

  // Pushes what is in the session's gradient, and waits for the verdict.
  std::optional<protocol::Verdict> push(const WorkerSession::Result& result);
  // The same in two steps.
  void start_push(const WorkerSession::Result& result);
  std::optional<protocol::Verdict> finish_push();
  // take_up(): before the first push of this process, at a release of version `at`. keep(): at each
  // release that the server keeps a checkpoint of, and after each push. `phase` may be null.
  void take_up(Version at, update::LocalPhase* phase);
  void keep(Version at, StateKeeper::When when, update::LocalPhase* phase);

 private:
  [[nodiscard]] OwnState own(update::LocalPhase* phase) {
    return {.phase = phase, .packer = &lasting_.packer()};
  }

  LastingSession& lasting_;
  WorkerObserver* observer_;  // Null: none.
  std::uint64_t iteration_ = 0;
};

}  // namespace outpace::live
