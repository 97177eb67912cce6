// A cluster in virtual time: the admission, coordinator, shard, inboxes and policies of a live run,
// driven by a queue of events instead of sockets and processes.
//
// The cluster decides nothing. It does with effects and messages what the live server and the live
// worker's loop do, but at a virtual time. A run is a function of its options alone: the same
// options give the same events, the same decisions and the same hash of both.
//
// The model has the times at which workers finish (Timing), the times of messages on links that
// they share (Transfers) or without links, the server's time for a gradient, and faults of workers,
// links and messages. Decisions, evaluations and handing out weights take no time.
//
// Workers send heartbeats only if a fault can silence a live worker or let it hang, or if messages
// can be late. Otherwise heartbeats would be events that find out nothing. For the same reason, no
// worker counts as stalled unless a fault lets one hang.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/admission.h"
#include "admission/input.h"
#include "base/connection_id.h"
#include "base/digest.h"
#include "base/memory_archive.h"
#include "base/spec.h"
#include "base/time.h"
#include "policy/catalogue.h"
#include "protocol/messages.h"
#include "server/coordinator.h"
#include "server/driver.h"
#include "server/evaluations.h"
#include "server/shard.h"
#include "sim/cluster_observer.h"
#include "sim/event_queue.h"
#include "sim/expected_norms.h"
#include "sim/faults.h"
#include "sim/message_faults.h"
#include "sim/overlap.h"
#include "sim/packing.h"
#include "sim/timing.h"
#include "sim/transfers.h"
#include "sim/worker_gradients.h"
#include "worker/attack.h"
#include "worker/gradient_source.h"
#include "worker/inbox.h"

namespace outpace::sim {

// Real gradients on the weights of the right version. Both belong to the caller.
struct Learning {
  worker::GradientSource& gradients;
  worker::Evaluator* evaluator = nullptr;
};

struct ClusterOptions {
  Spec policy;
  policy::PolicyInputs policy_inputs;
  bool oracle = false;  // Decides in the place of the policy (oracle.h).
  // With local steps: a worker goes on with its next release while its push and the next weights
  // travel. REQUIRES: no `overlap`.
  bool steps_ahead = false;
  server::CoordinatorOptions coordinator;
  server::ShardOptions shard;
  server::Evaluations::Options target;
  Duration latency{};  // Each message's, each way; on top of what it takes over the links.
  Duration apply{};    // What the server needs for a gradient; they queue before it.
  std::vector<Fault> faults;
  std::vector<worker::Attack> attacks;  // Used only with learning.
  Packing packing;                      // How it packs what travels.
  // Without learning: policies that ask for norms hear those of gradients of this noise scale, in
  // gradients. Nothing: they hear of none.
  std::optional<double> noise_scale{};
  const Transfers::Options* links = nullptr;  // Belong to the caller.
  // Transfers overlap with computing; belongs to the caller. Its bytes are those of packed numbers.
  // REQUIRES: links tell weights in its pieces, and there are neither faults nor learning.
  const Overlap* overlap = nullptr;
  Performed performed;                  // Told of each operation; may be empty.
  ClusterObserver* observer = nullptr;  // Belongs to the caller.
};

// How often each kind of fault happened.
struct FaultCounts {
  std::uint64_t crashed = 0;  // Workers that were alive.
  std::uint64_t left = 0;
  std::uint64_t joined_late = 0;
  std::uint64_t slowed = 0;
  std::uint64_t paused = 0;
  std::uint64_t hung = 0;
  std::uint64_t stalled = 0;        // By the server: workers set aside.
  std::uint64_t presumed_dead = 0;  // By the server, of workers that lived.
  std::uint64_t servers = 0;        // Servers that died.
  std::uint64_t foreign = 0;        // Workers of another network that came.
  std::uint64_t doubles = 0;        // Processes that claimed the rank of a living worker.
  std::uint64_t evaluators = 0;
  MessageFaults::Counts messages;
};

struct ClusterResult {
  ExitCode code = ExitCode::kDone;
  std::string why;
  server::Statistics statistics;
  std::vector<server::Evaluation> evaluations;
  std::optional<Time> reached_target;
  std::vector<float> weights;  // The last version's; empty without learning.
  Time ended{};                // On the run's clock.
  std::uint64_t events = 0;    // Taken from the queue.
  std::uint64_t hash = 0;      // Over every event and decision, in order.
  FaultCounts faults;
};

// Large class: workers, links and the server share one queue of events and its clock.
class Cluster {
 public:
  using Decided = server::Coordinator::Observer;
  using Warned = std::function<void(const std::string&)>;

  // Throws a usage error if an option is wrong. `learning` may be null: then gradients have no
  // numbers, and only time and decisions are computed.
  Cluster(const ClusterOptions& options,
          Timing& timing,
          Learning* learning,
          Decided decided,
          Warned warned);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // All workers but those with a fault `join` do so at time 0, and the run goes to its end. Throws
  // a usage error if that takes more than a hundred years: times are 64 bits of nanoseconds.
  [[nodiscard]] ClusterResult run();

 private:
  using Weights = std::shared_ptr<const std::vector<float>>;

  // Unless a fault silences it, nobody is silent: a worker that stops is one that leaves.
  static constexpr Duration kNever = std::chrono::hours(24 * 365 * 100);
  // What a worker needs to notice that its connection broke, and for a new one.
  static constexpr Duration kReconnect = std::chrono::milliseconds(10);
  // What would end later never does.
  static constexpr Duration kTooLate = std::chrono::hours(24 * 365 * 100);

  enum class Kind : std::uint8_t {
    kJoin,
    kFinished,
    kAtServer,
    kServed,
    kAtWorker,
    kMeasured,
    kNorms,
    kFault,
    kGone,
    kDeadline,
    kTransfers,
    kHeartbeat,
    kServerBack,
    kPiece,
    kSlice
  };
  struct Event {
    Kind kind;
    std::uint32_t worker;
    std::uint64_t number;  // The slot of a message under way, or the index of a fault.
  };
  // An event that moves when its time changes.
  struct Timer {
    std::optional<EventId> event{};
    Time at = Time::max();
  };
  // A message on its way, with its payload.
  struct Mail {
    protocol::Message message;
    std::uint32_t incarnation;  // The incarnation of the worker that sent it, or that it is for.
    Weights weights{};
    std::vector<float> gradient{};
  };
  struct Worker {
    bool alive = false;
    bool computing = false;   // Its task: the release that it took last.
    bool keeps_part = false;  // It was cancelled, and pushes what it has.
    bool rejoins = false;     // Its connection broke, and it is about to join over a new one.
    std::uint32_t incarnation = 0;
    ConnectionId connection{};  // The newest.
    std::uint64_t process = 0;
    std::uint32_t examples = 0;  // It will push this many: all, or the part that it keeps.
    EventId done{};              // When it pushes.
    Time begun{};
    Time done_at{};
    double stretch = 1.0;  // The task's runtime is multiplied by this.
    std::uint64_t iteration = 0;
    Time slow_until{};
    worker::Inbox inbox;
    Weights weights;  // The task's, with learning.
    // Used only with faults or links.
    double slow_factor = 1.0;
    Time paused_until{};  // It computes and reads nothing before,
    Time silent_until{};  // and before this its heart does not beat.
    Time last_departure{};
    Time last_arrival{};
  };
  // What a worker knew at its last push.
  struct Ahead {
    protocol::Ranges next;    // The examples of its next release; empty: it did not know them.
    std::uint64_t epoch = 0;  // That it was in.
    Time pushed{};
  };
  // What a worker has for the server, in the order in which it goes out.
  struct Outgoing {
    std::optional<std::size_t> slot;  // The message's; nothing for a slice.
    double bytes = 0.0;
    std::size_t part = 0;  // The last slice that it has.
    Time begun{};          // When its first byte left.
  };
  // A worker whose transfers overlap with its computing (cluster_overlap.cc).
  struct Overlapped {
    std::deque<Outgoing> queue;  // The first one is under way.
    Time released{};             // When the server sent the newest weights.
    // The task: when its computing begins and how long it takes, without any wait for weights.
    Time from{};
    double seconds = 0.0;
    Duration waited{};             // For weights.
    std::vector<Time> arrived;     // The pieces.
    bool complete = false;         // All of them have arrived.
    std::size_t next_slice = 0;    // The next slice that is not computed yet.
    std::optional<EventId> slice;  // When it is.
    double sliced = 0.0;           // Bytes that slices have taken.
  };

  void schedule_beginning();
  [[nodiscard]] ClusterResult result();
  // Prefetches the state of the workers whose events come soon. With many workers it is not in the
  // processor's cache.
  void prepare() const;
  void handle(const Event& event);
  void handle_now(const Event& event);
  // `again`: over a new connection, because the old one broke.
  void join(std::uint32_t worker, bool again);
  void at_server(std::uint32_t worker, std::size_t slot);
  void serve(std::uint32_t worker, std::size_t slot);
  void serve_push(const protocol::Push& push, std::vector<float> gradient);
  // A verdict settles what its push has left behind.
  void judge(std::uint32_t worker, const protocol::Verdict& verdict);
  // The gradient becomes what the server gets of it.
  void pack(std::uint32_t worker, Sequence release, std::vector<float>& gradient);
  void at_worker(std::uint32_t worker, std::size_t slot);
  // Does what the messages in the inbox ask for. A task takes the weights.
  void read_inbox(std::uint32_t worker, Weights& weights);
  void begin(std::uint32_t worker, Weights& weights);
  // Since when it computes its task: since its last push, if it knew these examples then.
  [[nodiscard]] Time begun(std::uint32_t worker) const;
  void finish_at(std::uint32_t worker, Time time);
  // When the worker's gradient will be at the server, if it computes. Times on links and in queues
  // are not counted.
  [[nodiscard]] std::optional<Time> due(WorkerId worker) const;
  void give_up(std::uint32_t worker, worker::CancelMode mode);
  [[nodiscard]] std::uint32_t whole_steps(std::uint32_t worker, double done) const;
  static void end_task(Worker& worker);
  void befall(const Fault& fault);
  // A worker that hangs differs from a paused one in that its heart beats.
  void pause(std::uint32_t worker, Duration lasts, bool hangs);
  void beat(std::uint32_t worker, std::uint64_t incarnation);
  // Greetings: cluster_admission.cc.
  [[nodiscard]] std::unique_ptr<admission::Admission> make_admission() const;
  void greet(const admission::WorkerGreets& greeting);
  void close(ConnectionId connection);
  void tell_observer(const admission::Input& input);
  // Tells the admission of an event, and carries out its answer.
  template <typename Tell>
  void to_admission(const Tell& tell) {
    admission::Effects effects;
    tell(effects);
    admit(effects);
  }
  void admit(admission::Effects& effects);
  // A peer that is none of the cluster's workers greets the server.
  void befall_greeting(const Fault& fault);
  // After the end, for the observer.
  void greet_late();
  // The server's death, and another one in its place: cluster_server.cc.
  [[nodiscard]] server::CoordinatorOptions coordinator_options() const;
  [[nodiscard]] std::unique_ptr<server::Coordinator> make_coordinator();
  [[nodiscard]] std::optional<Packer> make_packer() const;
  void make_shard();
  void take_checkpoint();
  void keep(Archive& archive);
  void server_dies(Duration lasts);
  void server_back();
  // What comes for a server that is not there is lost.
  void lose(const Event& event);
  // Ends the worker's task. Messages to it are lost, and the server will hear of it.
  void cut_off(std::uint32_t worker, bool said_goodbye);
  // Breaks the worker's connection. The worker itself lives, and joins again.
  void lose_connection(std::uint32_t worker);
  // `how`: twice the connection, and one more if its worker said goodbye.
  void gone(std::uint64_t how);
  // Computes the task's gradient, or the part of it that is kept, and sends it off.
  void push(std::uint32_t worker);
  void to_server(std::uint32_t worker, Mail&& mail);

  // Transfers that overlap with computing: cluster_overlap.cc.
  void begin_overlapped(std::uint32_t worker, Time done, double share);
  void piece_arrived(std::uint32_t worker, std::size_t piece);
  void schedule_slice(std::uint32_t worker);
  void slice_computed(std::uint32_t worker);
  void give_up_overlapped(std::uint32_t worker);
  void enqueue(std::uint32_t worker, const Outgoing& outgoing);
  void send_first(std::uint32_t worker);
  // The first of the queue has arrived.
  void sent(std::uint32_t worker);
  void perform_passes(std::uint32_t worker) const;
  void perform(const Operation& operation) const {
    if (options_.performed) {
      options_.performed(operation);
    }
  }

  // Carries out effects_, the answer to `input`, and clears them. Nothing that it calls calls the
  // coordinator.
  template <typename Input = server::OtherInput>
  void carry_out(const Input& input = {}) {
    if (options_.observer != nullptr) {
      options_.observer->answered(now_, input, effects_);
    }
    carry_out_effects();
  }
  void carry_out_effects();
  void send(server::Send& send);
  void to_worker(std::uint32_t worker, protocol::Message message, Weights weights);
  void evaluate(Version version, std::uint64_t examples);
  void measured();
  void will_measure(const server::MeasuredNorms& norms);
  void measured_norms();
  // `next`: Time::max() for never.
  void schedule(Timer& timer, Time next, Kind kind);
  [[nodiscard]] protocol::GradientId identity(std::uint32_t worker) const;
  // Sends the message of the event on its way: over the links, if there are any, and then for the
  // latency, or longer if there are faults.
  // `payload`: its bytes; nothing: it has none.
  void post(const Event& event, std::optional<double> payload);
  void after_latency(const Event& event);
  void take_arrivals();
  // Loses the messages on the links to or from a worker whose connection broke.
  void lose_transfers(std::uint32_t worker);
  [[nodiscard]] std::size_t store(Mail&& mail);
  [[nodiscard]] Mail take_out(std::size_t slot);

  // Constant after construction.
  const ClusterOptions options_;
  Timing& timing_;
  Learning* const learning_;
  const bool hearts_beat_;
  const bool at_once_;  // Messages arrive at once.
  const Warned warned_;
  const Decided decided_;
  const protocol::Manifest network_;  // Empty without learning.
  std::vector<double> needed_after_;  // By piece, with overlap: the share of computing before it.
  std::vector<double> ready_before_;  // By slice: the share of computing behind it.
  // State.
  MessageFaults message_faults_;
  FaultCounts fault_counts_;
  Time now_{};
  EventQueue<Event> queue_;
  Timer deadline_;
  std::optional<Transfers> transfers_;
  Timer transfers_due_;
  std::vector<Transfers::Message> transfers_told_;  // Kept for its memory.
  Digest digest_;
  std::optional<server::Shard> shard_;
  std::unique_ptr<server::Coordinator> coordinator_;
  std::unique_ptr<admission::Admission> admission_;
  std::uint64_t connections_ = 0;  // So far, and so the next.
  std::uint64_t processes_ = 0;
  server::Evaluations evaluations_;
  std::deque<protocol::Measurement> measurements_;  // Not told to the coordinator yet.
  std::optional<ExpectedNorms> expected_norms_;     // Where gradients have no numbers.
  std::deque<server::MeasuredNorms> norms_;         // Not told to the coordinator yet.
  std::optional<WorkerGradients> gradients_;
  std::optional<Packer> packer_;  // If the size of a payload is known.
  std::vector<Worker> workers_;
  std::vector<Overlapped> overlapped_;  // By worker; empty without overlap.
  std::vector<Ahead> ahead_;            // By worker; empty without steps ahead.
  std::vector<Mail> mail_;
  std::vector<std::size_t> free_mail_;
  Time server_free_{};
  server::Effects effects_;                  // The current event's; kept for its memory.
  std::optional<MemoryArchive> checkpoint_;  // The newest, if servers die.
  std::optional<Time> server_back_;          // When there is one again.
  std::uint32_t generation_ = 1;
  std::uint64_t events_ = 0;
  std::optional<server::Finish> finish_;
};

}  // namespace outpace::sim
