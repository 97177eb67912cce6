// The process that starts a run without a server, and keeps its record: it hears what the workers
// report (member.h), has weights evaluated now and then, says when it is time to end, and gathers
// the last weights. It sees no gradient, and a ring does not wait for it. A worker that dies or is
// silent is out, and the host has the others form a new group (peer/formation.h). The admission
// decides which workers fit and which evaluator is served (admission/admission.h).
//
// Threads: the transport's threads post messages to a mailbox, and so does a thread that calls
// stop(). run() does all the rest, on its caller's thread.
//
// Machines may join by a code (live/guests.h): their workers are told what to do by the host. A
// worker that is lost may come back; while there are too few, the others wait for it.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "admission/admission.h"
#include "base/error.h"
#include "base/time.h"
#include "collective/reported.h"
#include "collective/tally.h"
#include "live/guests.h"
#include "live/keyring.h"
#include "live/mailbox.h"
#include "peer/formation.h"
#include "peer/journal.h"
#include "server/coordinator.h"
#include "server/evaluations.h"
#include "wire/tls_files.h"
#include "wire/transport.h"

namespace outpace::collective {

struct HostOptions {
  Topology topology = Topology::kRing;
  bool centre = false;  // In a gossip: the first worker that is left brings the weights of the run.
  std::uint32_t workers = 1;
  std::uint32_t batch = 32;
  // With fewer live workers the run ends; a ring or gossip of several needs two in any case.
  std::uint32_t min_workers = 1;
  std::string listen;
  std::string token;
  // A second address, by TLS, for machines that join by a code; empty: none.
  std::string listen_beyond = {};
  wire::TlsFiles tls = {};
  std::shared_ptr<live::Keyring> keyring = nullptr;
  std::uint32_t seats_from = 0;  // The first number that a machine is given.
  protocol::Seats seats = {};    // What it is told beside.
  std::uint64_t seed = 1;
  bool with_replacement = false;
  // A ring's workers see to all but `seconds` by themselves too (peer/batch_plan.h).
  server::Limits limits;
  std::uint64_t evaluate_every = 5120;  // Applied examples; a ring's worker 0 sees to it.
  server::Evaluations::Options target;
  bool expects_evaluator = true;                         // The run begins when it is there too.
  Duration heartbeat_timeout = std::chrono::seconds(5);  // A worker silent for this is dead.
  Duration patience = std::chrono::seconds(60);          // For all workers to come.
  Duration patience_to_return{};                         // When too few are left; 0: the run ends.
  // For the end of a run whose workers cannot reach each other.
  Duration patience_if_broken = std::chrono::seconds(10);
};

// Called on run()'s thread.
struct HostCallbacks {
  std::function<void(const server::Evaluation&)> evaluated;
  // Some ten times a second, from the start of the run on.
  std::function<void(Time, const Tally&, std::uint64_t dataset, const server::Evaluations&)> status;
  // A worker is in, or out. Times are of the run.
  std::function<void(Time, WorkerId)> joined;
  std::function<void(Time, WorkerId, bool dead)> left;
  // What a worker reported, after it was counted.
  std::function<void(Time, const protocol::Push&, float runtime, const Tally&)> reported;
  // What was decided of the groups (peer/journal.h).
  peer::Journal decided;
  // The workers' connections to each other are broken, or whole again.
  std::function<void(Time, bool broken, const std::string& words)> links;
  std::function<void(const std::string&)> warned;
  // The final weights, before the evaluator is waited for, which may hang.
  std::function<void(const protocol::Manifest&, std::span<const float> weights, Version)> trained;
};

struct HostResult {
  ExitCode code = ExitCode::kDone;
  std::string why;
  server::Statistics statistics;
  std::vector<server::Evaluation> evaluations;
  std::optional<Time> reached_target;
  std::optional<double> worst_replica;  // Accuracy of the worst worker's own weights, at the end.
  protocol::Manifest manifest;
  std::vector<float> weights;  // In a gossip, the mean of all workers'; empty if they never came.
};

// Large class: a lost worker changes the group, the record and the end of the run together.
class Host {
 public:
  // Listens at once. Throws Error if it cannot.
  Host(HostOptions options, HostCallbacks callbacks);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] std::string address() const { return transport_->address(); }
  // The second one; empty without.
  [[nodiscard]] std::string beyond() const { return transport_->beyond(); }

  // Replaces the callbacks. REQUIRES: run() has not been called, which is the first to use them.
  void watch(HostCallbacks callbacks) { callbacks_ = std::move(callbacks); }

  // Until the run is over.
  [[nodiscard]] HostResult run();

  // From any thread. In order: the workers end, and bring their weights.
  void stop(ExitCode code, const std::string& why);
  // From any thread. At once: nothing is to be expected of the workers.
  void fail(ExitCode code, const std::string& why);
  // From any thread. The process of that worker ended, as `how` says; it is not started again.
  void worker_ended(const std::string& worker, const std::string& how);

 private:
  struct FromConnection {
    wire::ConnectionId connection;
    wire::ConnectionEvent event;
  };
  struct StopAsked {
    ExitCode code;
    std::string why;
    bool at_once;
  };
  struct StrangerRefused {
    std::string text;
  };
  struct WorkerEnded {
    std::string worker;
    std::string how;
  };
  using Post = std::variant<FromConnection, StopAsked, StrangerRefused, WorkerEnded>;

  // In this order, but for a run that fails, which is over at once.
  enum class Phase : std::uint8_t {
    kGathering,  // Workers and evaluator come.
    kRunning,
    kStopping,    // Workers were told to end, and say goodbye.
    kCollecting,  // The last weights were asked for.
    kEvaluating,
    kOver,
  };
  struct Peer {
    WorkerId worker{};
    std::string host;
    Time last_heard{};
    bool quiet = false;  // It has said goodbye.
  };
  // Weights that were asked of all workers, and have come.
  struct Gathered {
    Time asked{};  // On the run's clock.
    std::uint64_t examples = 0;
    std::map<WorkerId, std::vector<float>> weights;
  };

  // ---- What came: host.cc ----
  void handle(Time now, Post post);
  void receive(Time now, wire::ConnectionId from, wire::Received received);
  void receive_first(Time now, wire::ConnectionId from, const protocol::Message& message);
  void receive_from_evaluator(Time now, const protocol::Message& message);
  void receive_from_worker(Time now, Peer& peer, wire::Received received);
  // Carries out what the admission has decided.
  void admit(Time now, admission::Effects effects);
  // Makes room for a worker that takes the place of another connection of its own.
  void greet(Time now, wire::ConnectionId from, const protocol::Hello& worker);
  void begin_when_all_are_there(Time now);
  void welcome(Time now, wire::ConnectionId connection, bool newcomer);
  void closed(Time now, wire::ConnectionId from, const wire::Closed& closed);
  void stop_asked(Time now, const StopAsked& asked);
  void ended(Time now, const WorkerEnded& ended);
  void say(const std::string& line) const;

  // ---- While it runs, and how it ends: host_course.cc ----
  void take_report(Time now, const protocol::Push& report, const Reported& told);
  void take_weights(Time now, WorkerId worker, Version version, std::vector<float> weights);
  void take_measurement(Time now, const protocol::Measurement& measurement);
  void ask_for_weights(Version version);
  void evaluate_gathered();
  // The run's weights: the centre, or else the mean of all.
  [[nodiscard]] std::vector<float> of_run(
      const std::map<WorkerId, std::vector<float>>& weights) const;
  void evaluate(Version version, Time committed, std::uint64_t examples);
  void send_to_evaluator(Version version, const std::vector<float>& weights);
  // Why the run should end; null if it should not.
  [[nodiscard]] const char* limit_reached(Time now) const;
  void check_silence(Time now);

  // ---- Who is in: host_losses.cc ----
  // The worker is gone, as `why` says, and the others go on, if they are enough.
  void lose(Time now, wire::ConnectionId connection, const std::string& why);
  void order(Time now, const std::optional<peer::Formation::Order>& order);
  // A worker says where it stands: perhaps that its connections broke.
  void stands(Time now, WorkerId worker, const protocol::Standing& standing);
  // Says so while connections are broken although nobody is gone.
  void check_connections(Time now);
  // They are whole again, or a worker was lost.
  void links_are_whole(Time now);
  [[nodiscard]] std::uint32_t workers_needed() const;
  [[nodiscard]] bool too_few() const;
  // There are too few, and as many as are needed will not come.
  [[nodiscard]] bool too_few_for_good() const;
  // Too few are left: waits for those that may come back, or ends the run.
  void wait_for_more(Time now, WorkerId worker, const std::string& gone);
  // A worker comes while the run goes on.
  void came(Time now, wire::ConnectionId connection);

  // ---- Machines that join, and people who ask: host_guests.cc ----
  [[nodiscard]] static live::Guests::Options guest_options(const HostOptions& options);
  [[nodiscard]] live::Guests::Calls guest_calls();
  void tell_status(Time now, wire::ConnectionId from, const protocol::AskStatus& ask);
  void refuse_command(wire::ConnectionId from, std::uint32_t protocol);
  [[nodiscard]] protocol::Status status(Time now) const;
  void tell_guests(Time now);
  void end_guests(Time now);
  [[nodiscard]] bool is_guest(wire::ConnectionId connection) const;

  // In order.
  void end(Time now, ExitCode code, const std::string& why);
  // Out of order.
  void give_up(ExitCode code, const std::string& why);
  // To the next phase, if what this one waits for is there.
  void go_on(Time now);
  void miss_deadline();
  void collect(Time now);
  void evaluate_last(Time now);
  void dismiss_all();
  [[nodiscard]] Time run_time(Time now) const { return Time{now - began_}; }
  [[nodiscard]] Time now() const;  // Since construction.
  [[nodiscard]] HostResult result() const;

  // Constant after construction.
  const HostOptions options_;
  HostCallbacks callbacks_;  // Once run() is called.
  const std::chrono::steady_clock::time_point created_ = std::chrono::steady_clock::now();
  // State of run()'s thread.
  Phase phase_ = Phase::kGathering;
  admission::Admission admission_;
  std::map<wire::ConnectionId, Peer> peers_;  // The workers.
  std::set<WorkerId> awaited_;                // Among those, and those that may still come.
  std::set<WorkerId> may_return_;             // Those that were lost, and may come back.
  std::set<WorkerId> gone_untold_;            // Lost while too few are left: told with the next.
  live::Guests guests_;
  peer::Formation formation_;
  std::map<WorkerId, protocol::PeerPlace> places_;  // Where workers wait for each other.
  Time last_looked_{};                              // For silence.
  // Since when connections are broken, with nobody lost and no gradient reported from then on.
  std::optional<Time> broken_since_;
  Time broken_said_{};         // When it is to be said next.
  bool broken_alarm_ = false;  // It was said.
  Time began_{};
  std::optional<Tally> tally_;
  server::Evaluations evaluations_;
  std::uint64_t next_snapshot_ = 0;
  std::map<Version, Gathered> gathering_;  // By the version at which they were asked for.
  std::map<WorkerId, std::vector<float>> last_weights_;  // Once the run is over.
  std::vector<float> weights_;                           // The run's: the newest that came.
  std::vector<double> replicas_;                         // Accuracy of each of the last weights.
  std::map<std::string, std::string> ended_;             // By worker: how its process ended.
  std::string gone_;                                     // Why there are too few workers.
  Time deadline_ = Time::max();                          // The phase's.
  ExitCode code_ = ExitCode::kDone;
  std::string why_;
  // Constant, but for what is inside.
  live::Mailbox<Post> mailbox_;
  std::unique_ptr<wire::ServerTransport> transport_;  // Last: its threads post to the mailbox.
};

}  // namespace outpace::collective
