/* A worker in plain C whose gradients count the uses of each example, as ledger_worker.cc's do.
 *
 *   c_worker SERVER TOKEN_FILE WORKER EXAMPLES
 *
 * Prints a line for each gradient. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outpace/worker_c.h"

static int zeros(float* weights, size_t numbers, void* context) {
  (void)context;
  memset(weights, 0, numbers * sizeof *weights);
  return 0;
}

static int failed(const outpace_error* error) {
  fprintf(stderr, "c_worker: %s\n", error->message);
  return error->code;
}

/* A mean: `count` times it is 1 for each of the examples. */
static void count_uses(const outpace_minibatch* batch, float* gradient) {
  memset(gradient, 0, batch->numbers * sizeof *gradient);
  for (size_t i = 0; i < batch->count; ++i) {
    gradient[batch->examples[i]] += 1.0F / (float)batch->count;
  }
}

static int work(outpace_worker* worker, uint64_t examples) {
  outpace_error error;
  const outpace_parameter ledger = {.name = "ledger", .shape = &examples, .dimensions = 1};
  const outpace_job job = {
      .parameters = &ledger, .count = 1, .examples = examples, .initial_weights = zeros};
  if (outpace_worker_join(worker, &job, &error) != OUTPACE_OK) {
    return failed(&error);
  }
  while (1) {
    outpace_minibatch batch;
    if (outpace_worker_next(worker, &batch, &error) != OUTPACE_OK) {
      return failed(&error);
    }
    if (batch.count == 0) {
      return 0;
    }
    float* const gradient = outpace_worker_gradient(worker, &error);
    if (gradient == NULL) {
      return failed(&error);
    }
    count_uses(&batch, gradient);
    outpace_verdict verdict;
    if (outpace_worker_push(worker, gradient, 0.0, 0, &verdict, &error) != OUTPACE_OK) {
      return failed(&error);
    }
    puts(verdict.outcome == OUTPACE_ACCEPTED ? "gradient" : verdict.why);
    fflush(stdout);
  }
}

int main(int argc, char** argv) {
  if (argc != 5 || outpace_c_version() != OUTPACE_C_VERSION) {
    fputs("c_worker SERVER TOKEN_FILE WORKER EXAMPLES\n", stderr);
    return OUTPACE_USAGE;
  }
  setenv("OUTPACE_SERVER", argv[1], 1);
  setenv("OUTPACE_TOKEN_FILE", argv[2], 1);
  setenv("OUTPACE_WORKER", argv[3], 1);
  outpace_error error;
  outpace_worker* const worker = outpace_worker_from_environment(&error);
  if (worker == NULL) {
    return failed(&error);
  }
  const int code = work(worker, strtoull(argv[4], NULL, 10));
  outpace_worker_close(worker);
  return code;
}
