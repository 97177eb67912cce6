// The server above a machine's own server: to it the machine is one worker (docs/two-levels.md).
//
// A thread of its own keeps the session: it takes a release, waits until the machine's workers have
// computed it, and hands in their gradient. All that it hears it tells the machine's server, which
// answers from its strand.
// Tested by test/program/two_levels_test.py.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/error.h"
#include "live/lasting_session.h"
#include "live/leaving.h"
#include "live/worker_session.h"
#include "protocol/messages.h"

namespace outpace::live {

// What a machine's worker brings to a run beside its data.
struct BroughtWeights {
  std::vector<float> weights;
  std::string constants;
  std::vector<BroughtState> state;
};

class Above {
 public:
  // ---- What it tells ----
  struct Welcomed {
    protocol::Welcome welcome;
  };
  struct NeedsWeights {};  // bring() them.
  struct CameConstants {
    std::string constants;
  };
  // Answer it by hand_in() or give_up(), with this number.
  struct Released {
    std::uint64_t number;
    protocol::Release release;
    std::vector<float> weights;
  };
  // As to the release that is open, the server above wants what is there by now, or nothing more.
  struct Closing {
    bool keep_part;
  };
  // What was handed in. Nothing: the run or the connection ended before the verdict came.
  struct Judged {
    std::optional<protocol::Verdict> verdict;
  };
  struct Over {
    ExitCode code;
    std::string why;
  };
  using News = std::variant<Welcomed, NeedsWeights, CameConstants, Released, Closing, Judged, Over>;

  // `tell` is called on threads of its own.
  Above(WorkerOptions options, std::function<void(News)> tell);
  // Leaves the run, if that goes on.
  ~Above();
  Above(const Above&) = delete;
  Above& operator=(const Above&) = delete;

  // All from any thread.

  // Connects, with what the machine's workers bring. Only the first call counts.
  void greet(Offer offer);
  // How many workers are here. Without any it leaves the run, and comes back with the next one.
  void set_here(std::uint32_t workers);
  void bring(BroughtWeights brought);
  void hand_in(std::uint64_t number,
               const WorkerSession::Result& result,
               std::vector<float> gradient);
  void give_up(std::uint64_t number, protocol::GivenUp why);
  // Before what is handed in next.
  void tell_rates(const protocol::Rates& rates);
  void ask_for_evaluator();

 private:
  struct HandedIn {
    WorkerSession::Result result;
    std::vector<float> gradient;
  };
  using Answer = std::variant<HandedIn, protocol::GivenUp>;

  void work(const std::stop_token& stop);
  // Until the run is over, or nobody is here. False if it is over.
  bool take_part(const std::stop_token& stop);
  void answer(LastingSession& session, LastingSession::Task task);
  void say_what_waits(WorkerSession& session);
  void wake();
  [[nodiscard]] Offer offer();
  // Waits until the weights are here.
  [[nodiscard]] std::string bring_constants();

  // Constant after construction.
  WorkerOptions options_;
  const std::function<void(News)> tell_;
  // State below is guarded by mutex_.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Offer> offer_;
  std::uint32_t here_ = 0;
  std::optional<BroughtWeights> brought_;
  std::uint64_t number_ = 0;  // The open release's, or the last one's.
  bool open_ = false;
  std::optional<Answer> answer_;
  std::optional<protocol::Rates> rates_;
  bool wants_evaluator_ = false;
  // The thread's own.
  BroughtWeights bringing_;
  Leaving leaving_;      // The session's: it outlives that.
  std::jthread thread_;  // Last: stops first.
};

}  // namespace outpace::live
