// A worker of an Outpace job, for a trainer that computes its gradients itself. Needs no libtorch;
// outpace/torch.h does the same for a torch::nn::Module.
//
//   auto worker = outpace::Worker::from_environment();
//   worker.join(parameters, initial_weights, examples);
//   while (const auto minibatch = worker.next()) {
//     worker.push(mean_gradient(*minibatch), loss);
//   }
//
// next_view() and gradient() do the same without copies.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace outpace::live {
struct WorkerSteps;
}

namespace outpace {

// An error of one line, and the exit code with which Outpace's own programs end: 2 usage or
// configuration, 3 the token was refused, 4 incompatible with the job, 1 anything else.
class WorkerError : public std::runtime_error {
 public:
  WorkerError(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}

  [[nodiscard]] int exit_code() const noexcept { return exit_code_; }

 private:
  int exit_code_;
};

// What this process does in its job.
enum class Role : std::uint8_t {
  kAlone,      // There is no job: nobody started this process as a part of one.
  kWorker,     // Use Worker::from_environment().
  kEvaluator,  // Use Evaluator::from_environment() of outpace/evaluator.h.
};
// OUTPACE_ROLE says worker or evaluator. Without it a process is a worker if OUTPACE_SERVER or
// OUTPACE_TOKEN_FILE is set, or if a launcher started it as one of several. Throws WorkerError for
// another word.
[[nodiscard]] Role role_from_environment();

struct WorkerOptions {
  std::string server;        // "HOST:PORT" or "unix:PATH".
  std::string token;         // The job's secret: the content of the server's --token-file.
  std::uint32_t worker = 0;  // This worker's rank: 0, 1, 2, ...
  // Time limit for first reaching the server.
  std::chrono::nanoseconds deadline = std::chrono::seconds(60);
  // How long to try to find the server again when the connection is lost.
  std::chrono::nanoseconds rejoin_for = std::chrono::minutes(10);
  // Over TCP: the connection is lost when the server's machine has not answered for this long.
  std::chrono::nanoseconds keep_alive = std::chrono::seconds(20);
  // TCP connections that carry gradients and weights together, at most 16; 0: as many as the round
  // trip to the server asks for.
  std::uint32_t connections = 0;
  // PEM files for TLS: the worker's certificate, its key, and the authority of the job. All empty:
  // no TLS, unless from_environment() finds them beside the token file.
  std::string tls_certificate;
  std::string tls_key;
  std::string tls_ca;
  // Connect to a server beyond this machine without TLS, although traffic then travels unencrypted.
  bool insecure_no_tls = false;
  // The least size of what outpace/torch.h sends at a time while it computes the rest. 0: a
  // gradient leaves whole, and weights come whole.
  std::uint64_t slice_bytes = std::uint64_t{256} << 10U;
  // How gradients travel, as --compress of `outpace worker` takes it, such as "int8"; "none": as
  // they are. Empty: as the script says (ScriptSettings), or else the server.
  std::string compress;
};

// One tensor of the network. The list of all tensors defines the layout of the flat buffers of
// weights and gradients; it must be the same on every worker of a job.
struct Parameter {
  std::string name;
  std::vector<std::uint64_t> shape;  // Every extent at least 1; empty for a scalar.
  std::uint32_t group = 0;           // Its place in ScriptSettings::groups, if there are any.
};

// The optimizers that a script may hand over to the server. They start from zero moments, or from
// ScriptSettings::state, and do what PyTorch's of the same name do.
//
// kAverage is for buffers, such as batch-norm's running statistics: in place of a gradient a worker
// pushes its own value, and the server keeps `momentum` parts of the value that it has and takes
// the rest from the mean of an update's values, by examples. So every worker may keep its own
// buffers as it trains, while evaluators, checkpoints and newcomers get the mean. It does not go
// together with --clip-norm, a filter, or a staleness rule that corrects gradients.
//
// kNewest is for buffers, too, whose mean means nothing, such as counters: the server keeps the
// values of the update's gradient that was computed on the newest weights, and of several such the
// one that it accepted last. Nothing else touches them: no clipping, no correction of staleness.
//
// kByServer is the optimizer of the server's options, at the server's rate: for the parameters
// beside such buffers, and no other method's. A group's rate multiplies the server's, and its decay
// is not used.
enum class Method : std::uint8_t {
  kSgd,
  kMomentum,
  kNesterov,
  kAdam,
  kAdamW,
  kLamb,
  kYellowFin,
  kAverage,
  kByServer,
  kRmsProp,
  kCenteredRmsProp,
  kAdagrad,
  kAdadelta,
  kNewest,
};

// How the server steps the parameters of one group. The defaults are PyTorch's, where it has one.
struct ParameterGroup {
  Method method = Method::kSgd;
  double rate = 0.1;          // Learning rate; set_rates() changes it later.
  double weight_decay = 0.0;  // L2; decoupled in AdamW.
  double momentum = 0.9;      // Momentum, Nesterov, RMSprop (0: without) and kAverage; in [0, 1).
  double beta1 = 0.9;         // Adam, AdamW and LAMB alone.
  double beta2 = 0.999;       // Adam, AdamW and LAMB; RMSprop's alpha, Adadelta's rho.
  double epsilon = 1e-8;      // Adam, AdamW, LAMB, RMSprop, Adadelta and Adagrad.
  double rate_decay = 0.0;    // Adagrad's, as is the next; lr_decay in PyTorch.
  double initial = 0.0;       // The sum of squares before the first update.
};

// A part of the state of a tensor's optimizer, of another training that this one goes on from:
// "velocity" of kMomentum, kNesterov and RMSprop with momentum; "first" and "second" of Adam and
// AdamW; "square" of RMSprop and Adadelta, of the centered RMSprop the mean of squares less that of
// "mean", which it has too; "steps" of Adadelta; "sum" of Adagrad. Other methods have none.
struct OptimizerState {
  std::uint32_t tensor = 0;  // Its place among the parameters.
  std::string part;
  std::uint64_t updates = 0;   // Updates that the optimizer has made.
  std::vector<float> numbers;  // One for each of the tensor's weights.
};

// What a script says of its training beside its network and data: the same on every worker.
struct ScriptSettings {
  // The server's optimizer, if the server was not given one by options. Empty: the server's own.
  // SGD, Momentum and Nesterov do not go together with the others; YellowFin takes all weights.
  std::vector<ParameterGroup> groups;
  // The run ends after this many passes over the data, if the server was given no limit. 0: it
  // ends as the server's options say.
  std::uint64_t epochs = 0;
  // What does not change while the workers train, as bytes of the script's own: they are all that
  // travels beside the weights. Called when `initial_weights` is, before; null: there are none.
  // `outpace server` writes them to its run's folder as constants.safetensors.
  std::function<std::string()> constants = nullptr;
  // What the groups' optimizers begin with: for each tensor all parts of its state, or none, and
  // then it begins anew. Called when `initial_weights` is, before; null: none. It takes groups.
  std::function<std::vector<OptimizerState>()> state = nullptr;
  // Asks `outpace run` for one more process of the same script, which evaluates.
  bool evaluator = false;
  // How many mini-batches MinibatchView::ahead tells, at most 256: this worker loads them early.
  std::uint32_t ahead = 0;
  // With a server that has --local-steps: this worker makes as many steps on weights of its own,
  // each with a mini-batch of the lease, tells stepped() of each, and pushes the weights that it
  // was given less those that it has, in place of a gradient. 0: it pushes each mini-batch.
  // `groups` may then have kByServer, kAverage and kNewest alone.
  std::uint32_t local_steps = 0;
  // How gradients travel, unless WorkerOptions say it. Empty: as the server says.
  std::string compress;
};

// A local step's mini-batch: the next examples of the lease.
struct LocalStep {
  std::size_t examples = 0;
  std::uint64_t epoch = 0;  // The first example's: 0, 1, 2, ...
};

struct Minibatch {
  // The weights at which to compute the gradient, in the parameters' order.
  std::vector<float> weights;
  std::vector<std::uint64_t> examples;  // Indices into the data set; at least one.
  std::uint64_t version = 0;            // The weights' version: the updates applied so far.
  std::uint64_t epoch = 0;              // The first example's epoch: 0, 1, 2, ...
  std::vector<LocalStep> steps;         // In order; without local steps one, of all examples.
};

// The same without a copy: where server and worker are processes of one machine, the weights lie in
// memory that the server has written and this worker only reads.
struct MinibatchView {
  std::span<const float> weights;  // Until the mini-batch is pushed or abandoned.
  std::vector<std::uint64_t> examples;
  std::uint64_t version = 0;
  std::uint64_t epoch = 0;
  // Examples of this worker's next mini-batches, in order, which it may load already. Mostly: at
  // the end of the run and after a lost connection the next mini-batch may hold other examples.
  std::vector<std::vector<std::uint64_t>> ahead;
  std::vector<std::uint64_t> ahead_epochs;  // The epoch of the last example of each.
  std::vector<LocalStep> steps;             // As of Minibatch.
};

enum class PushOutcome : std::uint8_t {
  kAccepted,    // It counts: an update includes it.
  kDropped,     // The policy did not wait for it. Its examples go to another mini-batch.
  kRefused,     // It is not finite.
  kCancelled,   // Cancelled before it was pushed, because the server no longer wanted it.
  kUnanswered,  // The run ended, or the connection was lost, before the server answered.
};
struct PushResult {
  PushOutcome outcome = PushOutcome::kUnanswered;
  std::string why;  // For people; empty if accepted.

  [[nodiscard]] bool accepted() const { return outcome == PushOutcome::kAccepted; }
};

// What weights reached on the test set; at least one of the three.
struct Measured {
  std::optional<double> accuracy;  // The share of right answers, from 0 to 1.
  std::optional<double> loss;      // Mean; one that is not finite counts as 1e30.
  // Anything else, by name, at most 256; what is not finite counts as 1e30 or -1e30.
  std::vector<std::pair<std::string, double>> values;
};

// Belongs to one thread at a time. Another thread tells the server that this worker is alive, so a
// mini-batch may take any time. A worker that is destroyed before the end of the run without
// leave() counts as dead, and its examples go to others.
class Worker {
 public:
  // Reads WorkerOptions from OUTPACE_SERVER, OUTPACE_TOKEN_FILE, OUTPACE_WORKER and, if set,
  // OUTPACE_REJOIN_FOR, OUTPACE_KEEP_ALIVE (such as 90s or 10m), OUTPACE_TLS_CERT, OUTPACE_TLS_KEY,
  // OUTPACE_TLS_CA, OUTPACE_INSECURE_NO_TLS (true or false), OUTPACE_SLICE (bytes),
  // OUTPACE_CONNECTIONS and OUTPACE_COMPRESS. Without the three files for TLS, ca.pem, worker.pem
  // and worker.key beside the token file count, if they are there. Under torchrun, srun, mpirun and
  // other launchers OUTPACE_SERVER and OUTPACE_WORKER may be left out: the launcher's variables say
  // both. `outpace run --slow` and `--delays` slow the worker down by variables of their own.
  // Throws WorkerError, which names the variable.
  [[nodiscard]] static Worker from_environment();
  // Does not connect yet.
  explicit Worker(WorkerOptions options);
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&& other) noexcept;

  // Connects and joins the job. Worker 0 supplies the initial weights; if it does not come, the
  // first worker that did. `initial_weights` is called only then, by join() or by next().
  // `examples` is the size of the data set, the same on every worker. Throws WorkerError, with code
  // 4 if the job has other parameters, data or settings, or if an option of the server conflicts
  // with the settings.
  void join(const std::vector<Parameter>& parameters,
            const std::function<std::vector<float>()>& initial_weights,
            std::uint64_t examples,
            const ScriptSettings& settings = {});
  [[nodiscard]] bool joined() const;

  // Waits for weights and a lease of examples; returns nothing when the run is over. Over an epoch
  // every example counts exactly once, whichever workers compute it. A mini-batch that was not
  // pushed is abandoned. Rejoins if the connection is lost, and throws WorkerError if the server is
  // not found again within `rejoin_for`.
  [[nodiscard]] std::optional<Minibatch> next();
  // As next(), without a copy of the weights.
  [[nodiscard]] std::optional<MinibatchView> next_view();
  // The constants of the worker that supplied the initial weights, with the first mini-batch. They
  // stay where they are until this worker is destroyed. Empty if there are none.
  [[nodiscard]] const std::string& constants() const;

  // Whether no update needs the current mini-batch any more. Then abandon() it, or push() the part
  // that is done. The call is cheap: poll it between layers. Any thread may call it while no other
  // call runs except push().
  [[nodiscard]] bool cancelled() const;
  // Whether that part would count: the server asks for it.
  [[nodiscard]] bool wants_part() const;

  // A local step was made with this many examples, the next of the lease. Waits as long as
  // `outpace run --slow`, --delays or `outpace ctl RUN slow` ask for. REQUIRES: a mini-batch of
  // next(). Throws WorkerError without local steps, or if the lease has fewer examples left.
  void stepped(std::size_t examples);

  // Answers the current mini-batch and waits for the verdict. `gradient` is the mean over its
  // examples, or over the first `part` of them, in the parameters' order; `loss` is their mean
  // loss, or nothing if it is not known. With local steps it is the difference of the weights, over
  // the examples of the steps that were told. REQUIRES: a mini-batch of next(). Throws WorkerError
  // if the sizes are wrong, or if no local step was made.
  PushResult push(std::vector<float> gradient,
                  std::optional<double> loss,
                  std::optional<std::size_t> part = std::nullopt);
  // The same for a gradient that lies anywhere. It is not copied if it was written into gradient().
  PushResult push(std::span<const float> gradient,
                  std::optional<double> loss,
                  std::optional<std::size_t> part = std::nullopt);
  // Memory for the gradient of the current mini-batch, until it is pushed or abandoned. What it
  // holds at first is undefined. Where server and worker are processes of one machine, the server
  // reads the gradient there. REQUIRES: a mini-batch of next().
  [[nodiscard]] std::span<float> gradient();
  // Abandons the current mini-batch, if there is one; its examples go to other workers.
  // Or it cannot be computed: others try, and after three tries in all its examples are left out.
  // They count as used, and the run names them. Or nobody is to compute it in this epoch.
  enum class GiveUp : std::uint8_t { kUnwanted, kFailed, kLeaveOut };
  void abandon(GiveUp why = GiveUp::kUnwanted);
  // The current mini-batch's gradient has none of these tensors, by their place among the
  // parameters of join(): a frozen layer, or one whose optimizer makes no step now. Write 0 in
  // their place. The update leaves them as they are, with the optimizer's state, unless another
  // worker's gradient of the same update has them. REQUIRES: a mini-batch of next(). Throws
  // WorkerError if there is no such tensor, or if join() had no groups.
  void without(std::vector<std::uint32_t> tensors);
  // Sets the groups' learning rates from the script's epoch `epoch` on, one for each group; they
  // travel before the next push. The first worker that comes to an epoch sets them for all. Throws
  // WorkerError if the settings of join() had no groups. A worker that reports other rates for the
  // same epoch is sent away: its next call of next() throws WorkerError with code 4.
  void set_rates(std::uint64_t epoch, const std::vector<double>& rates);
  // Asks `outpace run` for an evaluator, as ScriptSettings::evaluator does, after the join. A run
  // that has one already goes on as it is. When the run is over, an evaluator measures the last
  // weights; throws WorkerError if the server is gone by then.
  void ask_for_evaluator();
  // What the evaluator has found for this epoch of the script, which counts its own from 0. It is
  // the same on every worker, so that a schedule may follow it. Nothing, and `comes`: it will come,
  // ask again. Nothing else: nobody measures. Asks over a connection of its own; throws WorkerError
  // if the server is gone.
  struct Evaluated {
    bool comes = false;
    std::uint64_t version = 0;  // The measured weights' version.
    std::optional<Measured> found;
  };
  [[nodiscard]] Evaluated evaluated(std::uint64_t epoch) const;
  // Ends the run now, as the script wants, for this reason: it is done, with exit code 0. Without a
  // reason: this worker has left because its script's loop has ended, as the script wants; when all
  // have, the run is done. Over a connection of its own, also from another thread and after
  // leave(). Throws WorkerError if the run is over already.
  void end_run(const std::string& why) const;
  // For `outpace profile -- this program`, which else does not see layers: the forward pass of the
  // current mini-batch's next layer begins, which needs the first `numbers` weights (all layers
  // together need all); or, with 0, its backward pass, in reverse order. It began `seconds_ago`,
  // as an accelerator tells when the pass is over. Does nothing otherwise.
  void mark(std::size_t numbers, double seconds_ago = 0.0);
  // From any thread: a call that waits for the server or sleeps, now or later, ends soon, as at the
  // end of the run. For a process that is told to end: leave() comes next.
  void stop_waiting();
  // Leaves the job before its end; next() then returns nothing.
  void leave();

 private:
  class Job;
  // What live/worker_steps.h describes: transfers in slices, for outpace/torch.h, and a push in
  // steps, for outpace/worker_c.h.
  friend struct Overlap;
  friend struct live::WorkerSteps;
  enum class News : std::uint8_t { kNone, kReady, kLost };
  [[nodiscard]] std::optional<MinibatchView> next_early();
  [[nodiscard]] bool wait_for(std::size_t numbers);
  void push_slice(std::size_t begin, std::size_t end);
  [[nodiscard]] std::shared_ptr<const void> memory() const;
  void start_push(std::optional<double> loss);
  [[nodiscard]] News await_news(std::chrono::nanoseconds most);
  PushResult finish_push();
  [[nodiscard]] bool slowed() const;

  std::unique_ptr<Job> job_;
};

}  // namespace outpace
