#include <optional>

#include "live/lasting_evaluator.h"
#include "live/worker_loop.h"

namespace outpace::live {

void run_evaluator(const SessionOptions& options,
                   worker::Evaluator& evaluator,
                   Duration rejoin_for) {
  LastingEvaluator session(options, evaluator.manifest(), rejoin_for);
  while (const auto snapshot = session.next()) {
    session.answer(snapshot->version, evaluator.evaluate(snapshot->weights.span()));
  }
}

}  // namespace outpace::live
