// The live parameter server: owns the coordinator and the shard.
//
// Threads: everything happens on one strand. The transport's threads post to it what they receive,
// and so does a thread that calls stop() or nobody_will_join(). The posting thread mostly handles
// its post at once. run(), on its caller's thread, handles timers that are due when nobody posts.
//
// The server decides nothing. The admission decides which peers join, what the run waits for and
// which evaluator is served (admission/admission.h). The coordinator decides the rest.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "admission/admission.h"
#include "base/archive.h"
#include "base/error.h"
#include "base/spec.h"
#include "compress/format.h"
#include "compress/reference.h"
#include "live/above.h"
#include "live/brought.h"
#include "live/guests.h"
#include "live/keyring.h"
#include "live/left_out.h"
#include "live/policy_change.h"
#include "live/put_off.h"
#include "live/strand.h"
#include "policy/catalogue.h"
#include "server/coordinator.h"
#include "server/evaluations.h"
#include "server/shard.h"
#include "wire/address.h"
#include "wire/tls_files.h"
#include "wire/transport.h"

namespace outpace::live {

// The part of a script (protocol::Script) that counts beside the server's own options.
struct ScriptTerms {
  // The option that stands against an optimizer of the script, such as "--optimizer adam"; empty:
  // the script's counts.
  std::string conflict = "its own";
  bool epochs = false;  // The script's number of epochs ends the run.
};

struct ServerOptions {
  std::string listen = "127.0.0.1:0";
  wire::Reach reach = wire::Reach::kAddress;
  std::string token;
  wire::TlsFiles tls;  // The server's; empty: no TLS.
  // A second address, of TCP, where `listen` is a Unix socket; empty: none.
  std::string listen_beyond = {};
  // Null: nobody joins by a code. The numbers of those who do begin at `seats_from`, and `seats`
  // says what they are told beside.
  std::shared_ptr<Keyring> keyring = nullptr;
  std::uint32_t seats_from = 0;
  protocol::Seats seats = {};
  server::CoordinatorOptions coordinator;  // `examples` comes from the first worker.
  Spec policy;
  policy::PolicyInputs policy_inputs;
  server::ShardOptions shard;
  compress::Compression compress;  // What workers push, unless they were told otherwise.
  compress::WeightsKind compress_weights = compress::WeightsKind::kNone;
  server::Evaluations::Options target;
  bool expects_evaluator = false;  // The run starts when one is there, or after `patience`.
  bool needs_evaluator = false;    // Without one it does not start at all.
  bool starts_evaluator = false;   // `wants_evaluator` brings one.
  ScriptTerms script;
  // To begin with. Without them the workers bring both.
  std::optional<protocol::Manifest> manifest;
  std::vector<float> weights;
  // What an earlier server of this run kept (keep()), to go on with; null: the run begins.
  std::shared_ptr<Archive> resumed;
  // The run's earlier server died before its first checkpoint: what workers had reached is lost.
  bool begins_again = false;
  // Its workers are those of one machine, which hand in one gradient to this session's server.
  std::optional<WorkerOptions> above;
};

// Shows the run to others while it goes on; called on one thread at a time.
struct ServerCallbacks {
  server::Coordinator::Observer decided;
  std::function<void(const server::Evaluation&)> evaluated;
  // Some ten times a second, from the start of the run on.
  std::function<void(Time, const server::Coordinator&, const server::Evaluations&)> status;
  // The run begins, with this network: once, before a worker has its first mini-batch.
  std::function<void(const protocol::Manifest&)> begins{};
  std::function<void(const std::string&)> warned;
  // Another policy decides from here on, which the decisions tell too.
  std::function<void(const std::string&)> policy_changed{};
  // Before the run begins: what it waits for, when that changes, and now and then.
  std::function<void(const std::string&)> awaits{};
  // What the workers keep beside the weights, when it comes; not if there is nothing.
  std::function<void(std::string_view)> constants{};
  // These examples are left out.
  LeftOutTold left_out{};
  // A worker's script evaluates: once.
  std::function<void()> wants_evaluator;
  // The run is about to end: before any worker hears of it.
  std::function<void(const server::Finish&)> finishes;
  // The final weights, once training is over: before the evaluator is waited for, which may hang.
  std::function<void(const protocol::Manifest&, std::span<const float> weights, Version)> trained;
  // `keep` writes all that decides what comes next, as it is now, during the call alone.
  std::function<void(Version, const std::function<void(Archive&)>& keep)> checkpoint;
};

struct RunResult {
  ExitCode code = ExitCode::kDone;
  std::string why;
  server::Statistics statistics;
  std::vector<server::Evaluation> evaluations;
  std::optional<Time> reached_target;
  // A script has ended it, for this reason, or its loop has ended: empty.
  std::optional<std::string> ended_by_script;
  protocol::Script script;  // As the workers brought it.
  protocol::Manifest manifest;
  std::vector<float> weights;
};

// Large class: each message of a peer may touch the admission, the coordinator and the shard.
class Server {
 public:
  // Listens at once. Throws Error if it cannot, or if an option is wrong.
  Server(ServerOptions options, ServerCallbacks callbacks);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where workers connect to.
  [[nodiscard]] std::string address() const { return transport_->address(); }
  // The second one; empty without.
  [[nodiscard]] std::string beyond() const { return transport_->beyond(); }

  // Replaces the callbacks. REQUIRES: run() has not been called, which is the first to use them.
  void watch(ServerCallbacks callbacks) { callbacks_ = std::move(callbacks); }

  // Serves until the run is over. From then on, until the server is destroyed, those that come hear
  // that it is, and no callback is called.
  [[nodiscard]] RunResult run();

  // From any thread: end the run with this code and reason.
  void stop(ExitCode code, const std::string& why);
  // From any thread: every worker process has ended and none will be started again.
  void nobody_will_join();
  // From any thread: the evaluator that `wants_evaluator` brought has failed; the end of the run
  // does not wait for it.
  void evaluator_failed();
  // From any thread: the workers of `outpace run` have ended, so none will ask for an evaluator;
  // the end of the run does not wait for that.
  void nobody_will_ask();

 private:
  struct FromConnection {
    wire::ConnectionId connection;
    wire::ConnectionEvent event;
  };
  struct StopAsked {
    ExitCode code;
    std::string why;
  };
  struct NobodyWillJoin {};
  struct EvaluatorFailed {};
  struct NobodyWillAsk {};
  struct TransportWarned {
    std::string text;
  };
  struct FromAbove {
    Above::News news;
  };
  using Post = std::variant<FromConnection,
                            StopAsked,
                            NobodyWillJoin,
                            EvaluatorFailed,
                            NobodyWillAsk,
                            TransportWarned,
                            FromAbove>;

  using Peer = admission::Peer;

  void take(Post post);
  // Nothing more has arrived, for now: does what is due.
  void rest();
  void handle(Time now, Post post);
  void stop_asked(Time now, const StopAsked& asked);
  void nobody_joins(Time now);
  // What peers say: server_messages.cc.
  void receive(Time now, wire::ConnectionId from, wire::Received received);
  void receive_first(Time now, wire::ConnectionId from, const protocol::Message& message);
  void receive_from_evaluator(Time now, const protocol::Message& message);
  void receive_from_worker(Time now,
                           wire::ConnectionId from,
                           const Peer& peer,
                           wire::Received received);
  // What the admission decides: server_admission.cc.
  void greet(Time now, wire::ConnectionId from, const protocol::Hello& said);
  void observe(Time now, wire::ConnectionId from, const protocol::Observe& evaluator);
  // Carries out what the admission has decided.
  void admit(Time now, admission::Effects effects);
  void refuse(const admission::Refuse& refused);
  void refuse(Time now, wire::ConnectionId peer, protocol::Farewell how, const std::string& why);
  void make_coordinator(Time now);
  void join(Time now, const admission::Join& join);
  void leave(Time now, const admission::Leave& leave);
  // The script is another one. `groups`: its parameter groups, too.
  void script_changed(bool groups);
  // With the optimizer of the script.
  [[nodiscard]] server::ShardOptions shard_options(const protocol::Script& script) const;
  [[nodiscard]] server::CoordinatorOptions coordinator_options(const admission::Terms& terms) const;
  void take_rates(Time now, wire::ConnectionId from, const protocol::Rates& rates);
  void ask_for_evaluator(Time now);
  [[nodiscard]] bool begun() const { return coordinator_ && coordinator_->started(); }
  void take_initial_weights(Time now, wire::ConnectionId from, std::vector<float> weights);
  void take_push(Time now,
                 wire::ConnectionId from,
                 const Peer& peer,
                 const protocol::Push& push,
                 wire::Received&& received);
  // Ends the connection of a worker that broke the protocol, so that it does not wait.
  void expel(Time now,
             wire::ConnectionId from,
             const std::string& why,
             protocol::Farewell how = protocol::Farewell::kFailed);
  void take_measurement(Time now, const protocol::Measurement& measurement);
  // Commands and questions about the running job: server_control.cc.
  void set_policy(Time now, wire::ConnectionId from, const protocol::SetPolicy& set);
  // Why this policy cannot be set now; empty if it can. Throws a usage error if no such policy
  // exists.
  [[nodiscard]] std::string why_not(const Spec& policy) const;
  void slow_down(wire::ConnectionId from, const protocol::SlowDown& slow);
  void tell_status(Time now, wire::ConnectionId from, std::uint32_t protocol);
  // REQUIRES: begun().
  [[nodiscard]] protocol::Status status(Time now) const;
  // Machines that join by a code: server_guests.cc.
  [[nodiscard]] static Guests::Options guest_options(const ServerOptions& options);
  [[nodiscard]] Guests::Calls guest_calls();
  void tell_guests(Time now);
  // The run has ended: they hear how, and what their workers did.
  void end_guests(Time now);
  // What scripts ask for over connections of their own: server_asked.cc.
  void end_run(Time now, wire::ConnectionId from, const protocol::EndRun& end);
  void tell_evaluated(Time now, wire::ConnectionId from, const protocol::AskEvaluated& ask);
  void answer(wire::ConnectionId asker, ExitCode code, const std::string& text);
  // The run's; 0 without a coordinator.
  [[nodiscard]] Version version() const {
    return coordinator_ ? coordinator_->version() : Version{0};
  }
  // Another policy decides now: tells the record, and the connection that asked for it.
  void policy_switched(const server::Switched& seam);
  // Answers that the requested policy will not take over any more.
  void give_up_asked(const std::string& why);
  void closed(Time now, wire::ConnectionId from, const wire::Closed& closed);
  // A machine's server, with another one above it: server_above.cc.
  void hear_above(Time now, Above::News news);
  void welcomed_above(Time now, const protocol::Welcome& welcome);
  void released_above(Time now, Above::Released released);
  void closing_above(Time now, bool keep_part);
  // The verdicts that waited for this one.
  void judged_above(const std::optional<protocol::Verdict>& verdict);
  // Until the server above has welcomed the machine, its workers wait. True if this one does.
  [[nodiscard]] bool wait_for_above(wire::ConnectionId from, const protocol::Hello& worker);
  // A verdict that waits for the one from above. True if it does.
  [[nodiscard]] bool hold_verdict(wire::ConnectionId to, const server::Send& send);
  void hand_in(Time now, const server::HandIn& handed);
  void note_left_out(const server::LeaveOut& left_out);
  // What follows from where things stand.
  void look_above(Time now);
  // Asks a worker for the first weights that the server above wants.
  void ask_for_weights();
  void bring_above(wire::ConnectionId from, std::vector<float> weights);
  [[nodiscard]] bool wants_weights() const {
    return above_ ? asks_for_weights_ : admission_.needs_weights();
  }
  // The run's state: server_state.cc.
  void keep(Time now, Archive& archive);
  // As it was read. Throws Error if its parts do not fit each other.
  void go_on(Time now, const admission::Terms& terms);
  void take_checkpoint(Time now);
  void take_constants(Time now, wire::ConnectionId from, protocol::Constants part);
  void take_state(Time now,
                  wire::ConnectionId from,
                  protocol::OptimizerState part,
                  std::vector<float> numbers);
  void tell_constants() const;
  void send_constants(wire::ConnectionId to);
  // To the evaluator. REQUIRES: there is one.
  void send_weights(Version version);
  void warn(const std::string& text) const;

  void carry_out(Time now, server::Effects& effects);
  // Tells the admission, or the coordinator, of an event, and carries out its answer.
  template <typename Tell>
  void to_admission(Time now, const Tell& tell) {
    admission::Effects effects;
    tell(effects);
    admit(now, std::move(effects));
  }
  template <typename Tell>
  void to_coordinator(Time now, const Tell& tell) {
    server::Effects effects;
    tell(effects);
    carry_out(now, effects);
  }
  // Once the run has begun.
  void tell_begin();
  // Finds the last message to each worker in `effects`, and whether the run ends with them.
  void look_ahead(const server::Effects& effects);
  void send(const server::Send& send, wire::More more);
  void send_snapshot(Version version, Time committed, std::uint64_t examples);
  void disconnect(const server::Disconnect& disconnect);
  // Does what is due at `now`.
  void tick(Time now);
  [[nodiscard]] Time next_tick() const;
  [[nodiscard]] Time due() const;
  [[nodiscard]] Time now() const;
  void hand_over_weights();
  // Once a second or less often: weights that are not finite end the run.
  void look_at_weights(Time now);
  // Waits after the end for the last version's evaluation.
  void await_evaluations();
  void send_last_snapshot();
  // run() returns: peers that never joined hear of the end, and the callbacks are not called again.
  void close_the_run();
  // What comes in after that.
  void take_late(const Post& post);
  [[nodiscard]] RunResult result();

  // Constant after construction.
  ServerOptions options_;
  ServerCallbacks callbacks_;  // From the call of run() to its return.
  // State of the strand.
  admission::Admission admission_;
  std::map<wire::ConnectionId, Brought> brought_;
  Guests guests_;
  std::set<wire::ConnectionId> has_constants_;  // Evaluators, and workers, that were sent them.
  std::optional<protocol::Rates> rates_;        // The rates that a worker reported last.
  std::optional<server::Shard> shard_;          // Once there are initial weights.
  std::string constants_;                       // The constants that came with them.
  std::optional<server::Coordinator> coordinator_;
  server::Evaluations evaluations_;
  std::vector<const server::Send*> last_send_;  // By worker; of the current effects.
  bool over_ = false;                           // run() has returned.
  std::optional<std::string> ended_by_script_;
  bool warned_of_skipping_ = false;
  bool warned_of_no_loss_ = false;
  Time last_status_{};
  Time next_weights_look_{};
  PolicyChange policy_;
  Time wake_at_{};          // When run() looks again.
  bool news_ = false;       // Something came since the last rest.
  bool knows_end_ = false;  // run() has seen that the run is over.
  PutOff put_off_;
  Strand<Post> strand_;
  // In a machine's server:
  std::optional<protocol::Hello> offered_;                 // To the server above.
  std::map<wire::ConnectionId, protocol::Hello> waiting_;  // Until it has welcomed the machine.
  std::optional<protocol::Welcome> welcome_;
  bool asks_for_weights_ = false;
  std::optional<wire::ConnectionId> asked_for_weights_;
  std::optional<Above::Released> released_;  // By it, and not fed yet.
  struct FedRelease {
    std::uint64_t number;
    std::uint64_t examples;
    Time at;
    std::uint64_t left_out = 0;  // Examples,
    protocol::GivenUp why = protocol::GivenUp::kUnwanted;
  };
  std::optional<FedRelease> fed_;  // By it, and not handed in or given up yet.
  std::vector<std::pair<wire::ConnectionId, protocol::Verdict>> held_;  // Verdicts.
  // Last, and none of the strand's state after them: their threads post to the strand, and handle
  // what is posted, until they are destroyed.
  std::unique_ptr<wire::ServerTransport> transport_;
  std::unique_ptr<Above> above_;
};

}  // namespace outpace::live
