// Tested by test/program/simulate_test.py (class Simulated).

#include "run/simulated_run.h"

#include <chrono>
#include <memory>
#include <utility>

#include "run/server_run.h"
#include "run/whole_file.h"
#include "server/script.h"

namespace outpace::run {
namespace {

// What --learn asks for; empty without it.
struct Learning {
  std::unique_ptr<worker::GradientSource> gradients;
  std::unique_ptr<worker::Evaluator> evaluator;

  Learning(const job::SimulateJob& job, const Learner& learner) {
    if (!job.learn) {
      return;
    }
    const Lesson lesson{.network = *job.learn, .data = job.data, .seed = job.training.seed};
    gradients = learner.gradients(lesson);
    evaluator = learner.evaluator(lesson);
  }
};

job::Resolved resolve(const job::SimulateJob& job) {
  return job::resolve(
      job.training,
      {.heartbeat_timeout = job.heartbeat_timeout, .progress_timeout = job.progress_timeout},
      read_resolve_options(job.training, job::kSimulatedWorkersMax));
}

}  // namespace

void check(const job::SimulateJob& job, const Learner& learner) {
  const job::Resolved resolved = resolve(job);
  job::check(job);
  const simulation::Simulation simulation(job, whole_file);
  if (job.learn) {
    const Layout layout = learner.layout(*job.learn, job.data);
    server::check(server::with_script(resolved.shard, layout.script));
  }
}

SimulatedRun simulate(const job::SimulateJob& job,
                      const std::string& resolved_text,
                      const Learner& learner) {
  job::Resolved resolved = resolve(job);
  job::check(job);
  simulation::Simulation simulation(job, whole_file);
  const Learning learning(job, learner);
  resolved.coordinator.examples =
      learning.gradients ? learning.gradients->dataset_examples() : job.examples;
  SimulatedRecord record(
      job, job.cluster.oracle ? "oracle" : job.training.policy.text, resolved_text);
  const auto begun = std::chrono::steady_clock::now();
  simulation::Result result = simulation.run(
      std::move(resolved), {learning.gradients.get(), learning.evaluator.get()}, record.listener());
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  SimulatedEnd end =
      record.finish(result,
                    {.network = job.learn ? job.learn->text : "none",
                     .data = job.learn ? job.data.text : "none",
                     .manifest = learning.gradients ? &learning.gradients->manifest() : nullptr,
                     .wall_seconds = wall});
  return {.result = std::move(result), .end = std::move(end), .wall_seconds = wall};
}

}  // namespace outpace::run
