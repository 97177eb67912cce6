// Decides who may join a job, and what the run waits for before it begins and after it ends.
//
// A pure state machine. The live server, the host of a ring or gossip, and the simulated cluster
// drive it. It has four kinds of methods:
//
//   1. Events: hello() to close(). The driver calls one for each thing that happens, with the time,
//      and gets what is to be done appended to `out`.
//   2. settle(): what follows from where things stand now. Offers lapse whose peers are gone, and
//      workers join that waited.
//   3. Time: the driver calls tick() at next_deadline(), and waits_until() once the run has ended.
//   4. Questions, which change nothing.
//
// After every event and every tick() the driver carries the effects out in order, and then calls
// settle() and carries those out, until settle() has none. carry_out() of driver.h does that. The
// effects of one event may cause the next one: Leave and Join can begin or end the run, and the
// driver calls began() or ended() at once.
//
// The calls of a run in order: listens(); events and ticks; began(), and ended() or an End effect;
// trained(); waits_until() until it gives nothing; close(). Events may come at any time, and also
// after close().
//
// What holds:
//
//   - At most one connection is a worker's live incarnation, and each one is newer than the last
//     (roster.h). A newcomer takes the rank of a connection that has ended, that is its own older
//     one, or that was silent before it had joined. Otherwise it is refused.
//   - A peer whose terms differ from the job's is refused, and changes nothing (terms.h).
//   - Until the run begins an offer counts only while a peer that made it is connected: the network
//     while any worker or evaluator is there, the size of the data set and the script while any
//     worker is, the first weights while the worker that brought them is. The beginning of the run
//     fixes all of them. A network that the driver was given stays from the beginning.
//   - Workers join once there are weights and, if one is expected, an evaluator.
//   - One evaluator is served at a time, the first that came (evaluators.h).
//   - Once the run has ended no worker joins.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "admission/awaited.h"
#include "admission/earlier_run.h"
#include "admission/effects.h"
#include "admission/evaluators.h"
#include "admission/first_weights.h"
#include "admission/options.h"
#include "admission/roster.h"
#include "admission/seats.h"
#include "admission/terms.h"
#include "base/connection_id.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "protocol/messages.h"
#include "server/effects.h"

namespace outpace::admission {

class Admission {
 public:
  explicit Admission(Options options);

  // ---- Events before anybody comes ----

  // An earlier server's run goes on from this version. The driver has weights and a coordinator.
  void resume(Terms terms, Version version);
  // The driver hears connections from now on, at this address.
  void listens(Time now, std::string address);

  // ---- Events: what peers say ----

  // A connection without a role greets as a worker. `version`: that of the run at present.
  // REQUIRES: if in_the_way() names a connection that has ended, hung_up() was called for it.
  void hello(
      Time now, ConnectionId from, const protocol::Hello& worker, Version version, Effects& out);
  // The connection that holds this worker's rank, if hello() would refuse the worker for it. It may
  // have ended, which only the driver can see.
  [[nodiscard]] std::optional<ConnectionId> in_the_way(Time now,
                                                       const protocol::Hello& worker) const;
  // A connection without a role greets as an evaluator.
  void observe(ConnectionId from, const protocol::Observe& evaluator, Effects& out);
  void heard(Time now, ConnectionId from) { roster_.heard(now, from); }
  // The worker has brought first weights, and they are good. REQUIRES: needs_weights().
  void weights_came(ConnectionId from) { weights_.came(from); }
  // It leaves, and what it sends from now on counts no more.
  void goodbye(ConnectionId from, Effects& out);
  // A machine that came by this pass asks for numbers for its workers, before they say hello.
  // Nothing: the run is full.
  [[nodiscard]] std::optional<std::vector<WorkerId>> give_seats(const Seats::Pass& pass,
                                                                std::uint32_t workers);
  // The machine that came by this pass is gone.
  void gave_up_seats(const Seats::Pass& pass) { seats_.gave_up(pass); }
  // The pass under which this worker comes is worth nothing from now on: returns it, and its
  // numbers. Empty: the worker came by no pass.
  [[nodiscard]] Seats::Pass take_back_seats(WorkerId worker, std::vector<WorkerId>& workers);
  // A script evaluates.
  void ask_evaluator(Time now, Effects& out);

  // ---- Events: how connections end ----

  void closed(ConnectionId connection, const std::string& why, Effects& out);
  // It has ended, and its close is still to come, perhaps after messages that count no more.
  void hung_up(ConnectionId connection, Effects& out);
  // The driver cannot use what this connection has sent.
  void refuse(ConnectionId connection, const protocol::Stop& stop, Effects& out);
  // The same, of a worker, which leaves the run.
  void expel(ConnectionId worker, const protocol::Stop& stop, Effects& out);
  // The coordinator dismisses the worker. Nothing if it is gone already.
  [[nodiscard]] std::optional<Refuse> dismiss(WorkerId worker, const protocol::Stop& stop);

  // ---- Events: what the driver is told, and the run ----

  // The evaluator that was started has failed.
  void evaluator_failed() { evaluators_.failed(); }
  // No script will ask for an evaluator any more.
  void nobody_will_ask() { evaluators_.nobody_will_ask(); }
  // No worker will come any more. The driver tells the coordinator too, if there is one.
  void nobody_will_join(Effects& out);
  // The run is to end. The driver tells the coordinator too, if there is one.
  void stop(ExitCode code, const std::string& why, Effects& out);
  void began() { begun_ = true; }
  // Later ends than the first one are ignored.
  void ended(const server::Finish& finish);
  // The final weights are ready.
  void trained(Time now, Effects& out);
  // The driver is done with the run: from now on those that come hear that it is over.
  void close(Effects& out);

  // ---- What follows, and time ----

  void settle(Time now, Effects& out);
  void tick(Time now, Effects& out);
  // When tick() has something to do.
  [[nodiscard]] Time next_deadline() const;
  // Until when an ended run waits for the measurement of its final weights. Nothing: no longer, and
  // the effects say goodbye to the evaluators. `measuring`: the evaluator has weights that it has
  // not answered.
  [[nodiscard]] std::optional<Time> waits_until(Time now, bool measuring, Effects& out);

  // ---- Questions ----

  // Null if the peer has no role.
  [[nodiscard]] const Peer* find(ConnectionId peer) const { return roster_.find(peer); }
  // The connection of the worker, if it takes part.
  [[nodiscard]] std::optional<ConnectionId> member(WorkerId worker) const {
    return roster_.member(worker);
  }
  // The same, also before it has joined.
  [[nodiscard]] std::optional<ConnectionId> holder(WorkerId worker) const {
    return roster_.holder(worker);
  }
  // Why a peer with this pass, or with the token (empty), cannot be this worker; empty if it can.
  [[nodiscard]] std::string why_other_number(const Seats::Pass& pass, WorkerId worker) const {
    return seats_.why_not(pass, worker);
  }
  [[nodiscard]] std::optional<ConnectionId> evaluator() const { return evaluators_.served(); }
  [[nodiscard]] const Terms& terms() const { return terms_; }
  // How the run ended; nothing if it has not.
  [[nodiscard]] const std::optional<server::Finish>& end() const { return end_; }
  [[nodiscard]] bool needs_weights() const { return !weights_.there(); }
  // Whether what a script waits for will be measured: there is an evaluator, or one may come.
  [[nodiscard]] bool measurement_comes(bool measuring) const;

 private:
  // Makes room for the newcomer. False if it is refused.
  [[nodiscard]] bool clear_rank(Time now,
                                ConnectionId from,
                                const protocol::Hello& newcomer,
                                Effects& out);
  [[nodiscard]] bool silent_before_it_joined(Time now, const Peer& peer) const;
  // At what the worker had reached with an earlier server. False if the run must not begin.
  [[nodiscard]] bool look_back(const protocol::Hello& worker, Version version, Effects& out);
  void take_terms(const protocol::Hello& worker, Effects& out);
  void set_script(std::optional<protocol::Script> script, Effects& out);
  void lose_evaluator(const std::string& why, Effects& out);
  // The connection has ended: the worker or evaluator is gone.
  void lose(const Peer& peer, ConnectionId connection, const std::string& why, Effects& out);
  void lapse(Time now, ConnectionId gone, Effects& out);
  void join_waiting(Effects& out);
  // When any worker is asked for the first weights; nothing if none is to be.
  [[nodiscard]] std::optional<Time> asks_all_at() const;
  void welcome_all(Effects& out);
  void start_without_evaluator(Effects& out);
  void end_now(ExitCode code, const std::string& why, Effects& out);
  [[nodiscard]] Missing missing() const;
  // REQUIRES: the run has ended.
  void say_that_it_is_over(ConnectionId to, Effects& out);

  // Constant after construction, but for the address.
  const Options options_;
  std::string address_;
  // State.
  Terms terms_;
  Roster roster_;
  Seats seats_;
  Evaluators evaluators_;
  FirstWeights weights_;
  Awaited awaited_;
  EarlierRun earlier_;
  bool expects_evaluator_;
  bool open_ = false;     // There is a coordinator.
  Time gathers_since_{};  // Without a coordinator.
  bool begun_ = false;
  std::string refused_;             // Why a connection was refused last.
  std::vector<ConnectionId> gone_;  // Since the last settle().
  std::optional<server::Finish> end_;
  Time trained_at_{};
  bool hurries_ = false;  // A stop was asked for when the run had ended.
  bool closed_ = false;
};

}  // namespace outpace::admission
