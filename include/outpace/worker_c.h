// A worker of an Outpace job, for C and for languages that call C. It is outpace/worker.h with
// plain structs: liboutpace.so exports these functions and nothing else, and no exception leaves
// them.
//
//   outpace_error error;
//   outpace_worker* worker = outpace_worker_from_environment(&error);
//   outpace_worker_join(worker, &job, &error);
//   outpace_minibatch batch;
//   while (outpace_worker_next(worker, &batch, &error) == OUTPACE_OK && batch.count > 0) {
//     float* gradient = outpace_worker_gradient(worker, &error);
//     double loss = mean_gradient(&batch, gradient);
//     outpace_verdict verdict;
//     outpace_worker_push(worker, gradient, loss, 0, &verdict, &error);
//   }
//   outpace_worker_close(worker);
//
// A function that may fail returns OUTPACE_OK or the code of the error that it wrote. A worker
// belongs to one thread at a time; only outpace_worker_cancelled() and
// outpace_worker_stop_waiting() may be called beside.

#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OUTPACE_API __attribute__((visibility("default")))
#else
#define OUTPACE_API
#endif

// Grows by one with every change that a program built against an older header would misread.
#define OUTPACE_C_VERSION 9
OUTPACE_API int outpace_c_version(void);

// Exit codes of Outpace's own programs.
enum {
  OUTPACE_OK = 0,
  OUTPACE_FAILURE = 1,
  OUTPACE_USAGE = 2,
  OUTPACE_AUTHENTICATION = 3,
  OUTPACE_INCOMPATIBLE = 4
};

// Texts end with a zero; a longer one is cut off. Written only when something failed.
typedef struct outpace_error {
  int code;
  char message[2048];  // One line.
} outpace_error;

// What this process does in its job, by the environment: as outpace::Role, in its order; or -1 and
// an error.
enum { OUTPACE_ALONE = 0, OUTPACE_WORKER = 1, OUTPACE_EVALUATOR = 2 };
OUTPACE_API int outpace_role(outpace_error* error);

// Whether outpace_job's `compress` may be this, which needs no worker and no server.
OUTPACE_API int outpace_check_compress(const char* spec, outpace_error* error);

typedef struct outpace_worker outpace_worker;

// Null texts count as empty. Times are in seconds; 0 takes worker.h's default.
typedef struct outpace_worker_options {
  const char* server;  // "HOST:PORT" or "unix:PATH".
  const char* token;   // The job's secret itself, not its file.
  uint32_t worker;     // Rank: 0, 1, 2, ...
  double deadline;     // To reach the server for the first time.
  double rejoin_for;   // To find it again.
  double keep_alive;   // Silence of its machine after which a TCP connection counts as lost.
  const char* tls_certificate;
  const char* tls_key;
  const char* tls_ca;
  int insecure_no_tls;
} outpace_worker_options;

// One tensor of the network; `shape` has `dimensions` extents, each at least 1.
typedef struct outpace_parameter {
  const char* name;
  const uint64_t* shape;
  size_t dimensions;
  uint32_t group;  // Its place in the job's groups, if there are any.
} outpace_parameter;

// As outpace::Method, in its order.
enum {
  OUTPACE_SGD = 0,
  OUTPACE_MOMENTUM = 1,
  OUTPACE_NESTEROV = 2,
  OUTPACE_ADAM = 3,
  OUTPACE_ADAMW = 4,
  OUTPACE_LAMB = 5,
  OUTPACE_YELLOWFIN = 6,
  OUTPACE_AVERAGE = 7,    // For buffers: the gradient has the worker's own values in their place.
  OUTPACE_BY_SERVER = 8,  // The optimizer of the server's options, at its rate.
  OUTPACE_RMSPROP = 9,
  OUTPACE_CENTERED_RMSPROP = 10,
  OUTPACE_ADAGRAD = 11,
  OUTPACE_ADADELTA = 12,
  OUTPACE_NEWEST = 13  // As OUTPACE_AVERAGE, but the newest values replace the server's.
};
// How the server steps the parameters of one group. Numbers that a method does not use must be 0 or
// valid.
typedef struct outpace_group {
  int method;
  double rate;  // Learning rate.
  double weight_decay;
  double momentum;  // For OUTPACE_AVERAGE: the share of the server's value that an update keeps.
  double beta1;
  double beta2;  // For RMSprop: alpha; for Adadelta: rho.
  double epsilon;
  double rate_decay;  // For Adagrad.
  double initial;     // For Adagrad: the sum of squares before the first update.
} outpace_group;

// Writes `numbers` initial weights, in the parameters' order; returns 0, or anything else if it
// failed.
typedef int (*outpace_initial_weights)(float* weights, size_t numbers, void* context);

// Says where the bytes are that travel beside the weights and do not change while the workers
// train; they stay there until the next call. Returns as above.
typedef int (*outpace_constants)(const void** bytes, size_t* size, void* context);

// As outpace::OptimizerState: a part of the state of a tensor's optimizer, to go on from.
typedef struct outpace_optimizer_state {
  uint32_t tensor;   // Its place among the parameters.
  const char* part;  // Such as "velocity".
  uint64_t updates;  // Updates that the optimizer has made.
  const float* numbers;
  size_t count;  // As many as the tensor's weights.
} outpace_optimizer_state;

// Says where the parts are, which stay there until the next call. Returns as above.
typedef int (*outpace_state)(const outpace_optimizer_state** parts, size_t* count, void* context);

typedef struct outpace_job {
  const outpace_parameter* parameters;
  size_t count;
  uint64_t examples;  // Size of the data set.
  outpace_initial_weights initial_weights;
  void* context;
  const outpace_group* groups;  // The server's optimizer. None: the server's options say.
  size_t group_count;
  uint64_t epochs;  // The run ends after this many, if no option of the server says; 0: as it says.
  uint32_t ahead;   // How many mini-batches outpace_minibatch.ahead tells, at most 256.
  outpace_constants constants;  // Called before initial_weights; null: there are none.
  outpace_state state;          // The same; null: the groups' optimizers begin anew.
  // With a server that has --local-steps, as ScriptSettings::local_steps; 0: each mini-batch is
  // pushed.
  uint32_t local_steps;
  const char* compress;  // As ScriptSettings::compress; null: as the server says.
} outpace_job;

// All memory is the worker's. `weights` may be read until the mini-batch is pushed or abandoned,
// `examples` until the next call of outpace_worker_next().
typedef struct outpace_minibatch {
  const float* weights;
  size_t numbers;            // How many weights there are, and numbers in a gradient.
  const uint64_t* examples;  // Indices into the data set, from 0.
  size_t count;              // Number of examples; 0: the run is over.
  uint64_t version;          // The weights' version: the updates applied so far.
  uint64_t epoch;            // The first example's epoch: 0, 1, 2, ...
  // Examples of the next mini-batches, to load them early: `ahead_sizes[i]` of them in the i-th of
  // `ahead_count`. A next mini-batch may have others all the same; then it alone counts.
  const uint64_t* ahead;
  const size_t* ahead_sizes;
  const uint64_t* ahead_epochs;  // The epoch of the last example of each.
  size_t ahead_count;
  // The local steps' mini-batches: `step_sizes[i]` examples in the i-th of `step_count`, of epoch
  // `step_epochs[i]`. Without local steps one, of all examples.
  const size_t* step_sizes;
  const uint64_t* step_epochs;
  size_t step_count;
} outpace_minibatch;

// As outpace::PushOutcome, in its order.
enum {
  OUTPACE_ACCEPTED = 0,
  OUTPACE_DROPPED = 1,
  OUTPACE_REFUSED = 2,
  OUTPACE_CANCELLED = 3,
  OUTPACE_UNANSWERED = 4
};
typedef struct outpace_verdict {
  int outcome;
  char why[2048];  // Empty if accepted.
} outpace_verdict;

// Both return null if they failed, and do not connect yet.
OUTPACE_API outpace_worker* outpace_worker_from_environment(outpace_error* error);
OUTPACE_API outpace_worker* outpace_worker_open(const outpace_worker_options* options,
                                                outpace_error* error);
// Frees the worker; null does nothing. If the run goes on, the server counts the worker as dead.
OUTPACE_API void outpace_worker_close(outpace_worker* worker);

// Connects and joins the job. `job` may be freed afterwards, but for the function and its context,
// which outpace_worker_next() may need again.
OUTPACE_API int outpace_worker_join(outpace_worker* worker,
                                    const outpace_job* job,
                                    outpace_error* error);
OUTPACE_API uint32_t outpace_worker_rank(const outpace_worker* worker);
OUTPACE_API int outpace_worker_next(outpace_worker* worker,
                                    outpace_minibatch* minibatch,
                                    outpace_error* error);
// The constants of the worker that supplied the initial weights, with the first mini-batch, until
// the worker is closed; null and 0 if there are none.
OUTPACE_API const void* outpace_worker_constants(const outpace_worker* worker, size_t* size);
// 1 if no update needs the current mini-batch any more, 2 if the server asks for the part of it
// that is done, else 0.
OUTPACE_API int outpace_worker_cancelled(const outpace_worker* worker);
// A local step was made with this many examples, the next of the mini-batch. Waits as long as
// `outpace run --slow` and its like ask for.
OUTPACE_API int outpace_worker_stepped(outpace_worker* worker,
                                       size_t examples,
                                       outpace_error* error);
// Pushes what was written into the memory of outpace_worker_gradient(), the difference that the
// local steps have made. `loss`: their mean; null: it is not known.
OUTPACE_API int outpace_worker_push_steps(outpace_worker* worker,
                                          const double* loss,
                                          outpace_verdict* verdict,
                                          outpace_error* error);
// Memory for the gradient of the current mini-batch; null if it failed.
OUTPACE_API float* outpace_worker_gradient(outpace_worker* worker, outpace_error* error);
// `gradient` is the mean over the mini-batch's examples, or over the first `part` of them if that
// is above 0. It is not copied if it is what outpace_worker_gradient() returned.
OUTPACE_API int outpace_worker_push(outpace_worker* worker,
                                    const float* gradient,
                                    double loss,
                                    size_t part,
                                    outpace_verdict* verdict,
                                    outpace_error* error);
// outpace_worker_push(), then outpace_worker_next(), in calls that do not wait long, so that a
// language's runtime can look for signals in between. The first sends what was written into the
// memory of outpace_worker_gradient(), which then may be asked for the next mini-batch's. The
// second waits at most this many seconds and returns
//   OUTPACE_OK     the verdict and the next mini-batch are there
//   OUTPACE_WAITS  not yet: call it again
//   OUTPACE_LOST   the verdict is there, the connection is lost, and so is the memory for the next
//                  gradient; outpace_worker_next() joins again, which may take long
// or the code of an error.
enum { OUTPACE_WAITS = -1, OUTPACE_LOST = -2 };
OUTPACE_API int outpace_worker_start_push(outpace_worker* worker,
                                          double loss,
                                          outpace_error* error);
// The same with outpace_worker_push_steps(): between the two, the worker may make steps with the
// examples that `ahead` told.
OUTPACE_API int outpace_worker_start_push_steps(outpace_worker* worker,
                                                const double* loss,
                                                outpace_error* error);
OUTPACE_API int outpace_worker_await(outpace_worker* worker,
                                     double seconds,
                                     outpace_verdict* verdict,
                                     outpace_minibatch* minibatch,
                                     outpace_error* error);
// 1 if `outpace run --slow`, --delays or `outpace ctl RUN slow` make the calls of this worker sleep
// now, these two too; else 0.
OUTPACE_API int outpace_worker_slowed(const outpace_worker* worker);
OUTPACE_API int outpace_worker_abandon(outpace_worker* worker, outpace_error* error);
// As abandon(): the mini-batch cannot be computed, and after three tries of any workers its
// examples are left out.
OUTPACE_API int outpace_worker_abandon_failed(outpace_worker* worker, outpace_error* error);
// As abandon(), but nobody computes its examples in this epoch.
OUTPACE_API int outpace_worker_leave_out(outpace_worker* worker, outpace_error* error);
// The current mini-batch's gradient has none of these tensors, by their place among the parameters,
// and 0 stands in their place: the update leaves them as they are, unless another worker's gradient
// of the same update has them.
OUTPACE_API int outpace_worker_without(outpace_worker* worker,
                                       const uint32_t* tensors,
                                       size_t count,
                                       outpace_error* error);
// The groups' learning rates from the script's epoch `epoch` on.
OUTPACE_API int outpace_worker_set_rates(outpace_worker* worker,
                                         uint64_t epoch,
                                         const double* rates,
                                         size_t count,
                                         outpace_error* error);
// Asks `outpace run` for one more process of the same script, which evaluates. When the run is
// over, it measures the last weights.
OUTPACE_API int outpace_worker_ask_for_evaluator(outpace_worker* worker, outpace_error* error);
// A number by name.
typedef struct outpace_value {
  const char* name;
  double value;
} outpace_value;

// What was measured: `accuracy` is a share, from 0 to 1, `loss` a mean; null: not measured.
typedef struct outpace_measured {
  const double* accuracy;
  const double* loss;
  const outpace_value* values;  // Anything else, at most 256.
  size_t count;
} outpace_measured;

// What the evaluator has found for this epoch of the script, the same on every worker. All memory
// is the worker's, until the next call. Nothing found, and `comes` is 1: ask again; 0: nobody
// measures.
typedef struct outpace_evaluated {
  int comes;
  int found;
  uint64_t version;  // The measured weights' version.
  outpace_measured measured;
} outpace_evaluated;
OUTPACE_API int outpace_worker_evaluated(outpace_worker* worker,
                                         uint64_t epoch,
                                         outpace_evaluated* evaluated,
                                         outpace_error* error);
// Ends the run now, as the script wants, for this reason. With an empty one: this worker has left
// because its script's loop has ended, as the script wants; when all have, the run is done. Any
// thread may call it, also after outpace_worker_leave().
OUTPACE_API int outpace_worker_end_run(const outpace_worker* worker,
                                       const char* why,
                                       outpace_error* error);
// For `outpace profile`: the next layer's forward pass begins, which needs the first `numbers`
// weights; or, with 0, its backward pass, in reverse order. It began `seconds_ago`: 0 for now.
OUTPACE_API void outpace_worker_mark(outpace_worker* worker, size_t numbers, double seconds_ago);
// From any thread: a call that waits for the server or sleeps, now or later, ends soon, as at the
// end of the run. For a process that is told to end: outpace_worker_leave() comes next.
OUTPACE_API void outpace_worker_stop_waiting(outpace_worker* worker);
OUTPACE_API int outpace_worker_leave(outpace_worker* worker, outpace_error* error);

// Memory that stays memory of this process until it is released, also after the push, and when the
// connection or the worker is gone: the weights of the current mini-batch, and the gradient's
// memory, if it was asked for. Other numbers may be written there. For arrays that a language may
// keep longer than the worker. Null if it failed.
typedef struct outpace_memory outpace_memory;
OUTPACE_API outpace_memory* outpace_worker_memory(const outpace_worker* worker,
                                                  outpace_error* error);
// Null does nothing.
OUTPACE_API void outpace_memory_release(outpace_memory* memory);

// The process beside the workers that measures snapshots of the weights.
typedef struct outpace_evaluator outpace_evaluator;

typedef struct outpace_snapshot {
  const float* weights;  // Until the next call; null: the run is over.
  size_t numbers;
  uint64_t version;
} outpace_snapshot;

OUTPACE_API outpace_evaluator* outpace_evaluator_from_environment(outpace_error* error);
OUTPACE_API void outpace_evaluator_close(outpace_evaluator* evaluator);
// Only the parameters' names and shapes in `job` count.
OUTPACE_API int outpace_evaluator_join(outpace_evaluator* evaluator,
                                       const outpace_job* job,
                                       outpace_error* error);
OUTPACE_API int outpace_evaluator_next(outpace_evaluator* evaluator,
                                       outpace_snapshot* snapshot,
                                       outpace_error* error);
// As outpace_worker_constants(), with the first snapshot.
OUTPACE_API const void* outpace_evaluator_constants(const outpace_evaluator* evaluator,
                                                    size_t* size);
// As outpace_worker_memory(): the snapshot's weights.
OUTPACE_API outpace_memory* outpace_evaluator_memory(const outpace_evaluator* evaluator,
                                                     outpace_error* error);
// `accuracy` is a share, from 0 to 1; `loss` is a mean, or null if it was not measured.
OUTPACE_API int outpace_evaluator_report(outpace_evaluator* evaluator,
                                         double accuracy,
                                         const double* loss,
                                         outpace_error* error);
// The same for anything that was measured.
OUTPACE_API int outpace_evaluator_report_measured(outpace_evaluator* evaluator,
                                                  const outpace_measured* measured,
                                                  outpace_error* error);

#ifdef __cplusplus
}
#endif
