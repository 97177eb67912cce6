// A worker's connection to the process that records a run without a server (host.h). The worker
// reports over it, learns when to begin and to end, and sends its weights on request. Gradients do
// not use it.
//
// The messages are those of the parameter server, with other payloads:
//
//   worker  Hello            it is there
//   host    Welcome          all have come, or the run goes on; the run's clock
//   host    Regroup          leave your group, and say where you stand; also before the first one.
//                            The key of the next group
//   worker  Standing         the answer, and where it waits for the others; unasked, that its group
//                            is broken
//   host    Group            form this group; where its members wait
//   worker  Push             it applied a gradient; the payload is in reported.h
//   host    Snapshot         send your weights; no payload
//   worker  Snapshot         the weights, on request or unprompted
//   host    Stop             compute no more
//   worker  Goodbye          it computes no more and waits for no other worker
//
// Then the host asks for the final weights and closes the connection. Which groups there are, the
// host decides (peer/formation.h).
//
// A worker that was counted as lost, or that lost the host, may come back by another object of this
// class: as a newcomer, which has nothing.
//
// Threads: the transport's thread delivers, another sends heartbeats, and the caller's thread
// computes. One mutex guards the state.

#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "collective/progress_watch.h"
#include "live/worker_session.h"
#include "peer/membership.h"
#include "protocol/messages.h"
#include "protocol/traffic.h"
#include "wire/peer_links.h"
#include "wire/transport.h"

namespace outpace::collective {

// Heartbeats in the time after which a silent worker counts as dead.
inline constexpr int kHeartbeats = 5;

// The run goes on without this worker, or the host is out of reach: it may come back.
class Lost : public Error {
 public:
  using Error::Error;
};

// The place of a worker in a group. REQUIRES: it is a member.
[[nodiscard]] std::uint32_t rank_of(WorkerId worker, const protocol::Group& group);

class Member {
 public:
  // Returns the weights to send when the host asks; called on a thread of the transport.
  using Weights = std::function<std::vector<float>()>;

  // Connects, and returns when the run begins, or at once if it goes on. Throws Error, of kDone if
  // the run is over. The initial weights of `offer` are not
  // requested. `progress_timeout` is as in server/stall.h. `journal`: called by any thread.
  Member(const live::SessionOptions& options,
         const live::Offer& offer,
         Weights weights,
         std::optional<Duration> progress_timeout = std::nullopt,
         peer::Journal journal = {});
  ~Member();
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // The time on the run's clock.
  [[nodiscard]] Time now() const;
  // How long another worker, or a link to it, may be silent until it counts as dead.
  [[nodiscard]] Duration silence_allowed() const { return kHeartbeats * welcome_->heartbeat; }
  // Whether the host said stop, or is gone.
  [[nodiscard]] bool stopping() const;
  // Sleeps until the run's clock shows `time` or the host says stop.
  void sleep_until(Time time);
  // The same, or the group is to be left.
  void sleep_in_group_until(Time time);

  // This worker waits for the others of its groups by these.
  void listen_by(std::shared_ptr<wire::PeerLinks> links);
  // It is a newcomer no more: it has what a member handed over.
  void has_everything();

  enum class Until : std::uint8_t { kOver, kStopped };
  // Says that this worker is in no group and has these weights, and waits for the next group.
  // Nothing after resign() or, if so wished, once the host said stop. Throws Error if the run goes
  // on without this worker, or the host is gone.
  [[nodiscard]] std::optional<protocol::Group> next_group(Version version, Until until);
  // No group is wanted any more.
  void resign();
  // `leave` is called when the present group is to be left, perhaps at once, on any thread. It must
  // not call this object. Null: there is no group.
  void set_leave(std::function<void()> leave);

  struct Report {
    Sequence sequence;       // Counts this worker's gradients: 1, 2, ...
    std::uint32_t examples;  // At least 1.
    double loss;             // Mean; may be infinite or NaN, although no message can carry that.
    double compute_seconds;
    double runtime;  // Seconds from receiving the weights to the gradient, including delays.
    protocol::Carried carried{};  // What this worker has sent to others since its last report.
  };
  void report(const Report& report);
  // Lives while a mini-batch is computed, by this worker alone: it waits for no other. While that
  // takes too long, no heartbeats are sent, so that the others go on without this worker.
  class Computing {
   public:
    explicit Computing(Member& member);
    ~Computing();
    Computing(const Computing&) = delete;
    Computing& operator=(const Computing&) = delete;

   private:
    Member& member_;
  };
  void bring(Version version, std::vector<float> weights);
  // Reports that this worker computes no more, and returns when the host has closed the connection.
  // Throws Error if the connection ended otherwise.
  void leave();
  // The same, but returns false as soon as the group is to be left: there may be more to compute.
  [[nodiscard]] bool leave_unless_regrouped();

 private:
  void receive(wire::ConnectionEvent event);
  void beat(const std::stop_token& stop);
  // How long the present mini-batch has taken, if that is too long.
  [[nodiscard]] std::optional<Duration> stalled_for() const;
  [[noreturn]] void throw_closed() const;
  // Whether the host ended more than the computing. REQUIRES: mutex_ is held, as for the next.
  [[nodiscard]] bool dismissed() const;
  [[nodiscard]] bool must_leave() const { return membership_.must_leave() || dismissed(); }

  // Constant after construction.
  const live::SessionOptions options_;
  const Weights weights_;
  std::shared_ptr<wire::PeerLinks> links_;    // Null: it is in no groups.
  std::optional<protocol::Welcome> welcome_;  // Set before the constructor returns.
  std::chrono::steady_clock::time_point began_{};
  // State below is guarded by mutex_.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<protocol::Stop> stop_;
  std::optional<wire::Closed> closed_;
  peer::Membership membership_;
  protocol::Regroup asked_{};  // The newest.
  bool newcomer_ = false;
  std::function<void()> leave_;
  bool resigned_ = false;
  ProgressWatch progress_;
  std::unique_ptr<wire::ClientTransport> transport_;
  std::mutex heart_mutex_;
  std::condition_variable_any heart_stopped_;
  std::jthread heart_;  // Last: stops first.
};

}  // namespace outpace::collective
