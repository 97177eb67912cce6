#include "admission/terms.h"

#include "base/error.h"
#include "server/script.h"

namespace outpace::admission {
namespace {

std::string why_unfit(std::uint32_t protocol,
                      const protocol::Manifest& network,
                      const Terms& terms) {
  if (protocol != protocol::kProtocolVersion) {
    return wrong_protocol(protocol);
  }
  if (terms.network && network != *terms.network) {
    return "another network: " + protocol::first_difference(network, *terms.network);
  }
  return "";
}

// `steps`: the job's, as Options has them.
std::string why_other_steps(const protocol::Hello& worker, std::uint32_t steps) {
  const std::string own = std::to_string(worker.local_steps);
  if (steps == 0) {
    return worker.local_steps == 0
               ? ""
               : "this worker makes " + own +
                     " local steps between two pushes, and this job has a push for each "
                     "mini-batch; start it with --local-steps " +
                     own;
  }
  if (!worker.steps_locally) {
    return "this job has --local-steps " + std::to_string(steps) +
           ", and this worker pushes each mini-batch: let it make them (in Python "
           "job.wrap(..., local_steps=" +
           std::to_string(steps) + ")), or start the server without --local-steps";
  }
  if (server::brings_optimizer(worker.script)) {
    return "this job has --local-steps, and this worker brings an optimizer for the server: that "
           "is --outer-optimizer here";
  }
  if (worker.local_steps != 0 && worker.local_steps != steps) {
    return "this worker makes " + own + " local steps between two pushes, and this job has " +
           "--local-steps " + std::to_string(steps) + ": they must be the same";
  }
  if (worker.local_steps == 0 && !worker.script.groups.empty()) {
    return "this job has --local-steps, and this network has running statistics, which workers "
           "would have to average at each step; start the server without --local-steps";
  }
  return "";
}

std::string why_unfit(const protocol::Script& script, const Terms& terms, const Options& options) {
  const std::string brought = server::optimizer_in_words(script);
  if (!brought.empty() && !options.script_conflict.empty()) {
    return "the script brings an optimizer, " + brought + ", and the server has " +
           options.script_conflict + "; remove one";
  }
  if (terms.script && script.groups != terms.script->groups) {
    const std::string job = server::optimizer_in_words(*terms.script);
    return "this worker's script brings " + (brought.empty() ? "no optimizer" : brought) +
           ", the job's " + (job.empty() ? "none" : job) +
           (brought == job ? " with other numbers" : "") + ": they must be the same";
  }
  if (terms.script && script != *terms.script) {
    return "this worker's script has other parameter groups or epochs than the job's";
  }
  if (script.groups.empty()) {
    return "";
  }
  try {
    server::check(server::with_script(options.shard, script));
  } catch (const Error& error) {
    return std::string("the script's optimizer: ") + error.what();
  }
  return "";
}

}  // namespace

std::string wrong_protocol(std::uint32_t protocol) {
  return "protocol " + std::to_string(protocol) + " was offered, this server speaks " +
         std::to_string(protocol::kProtocolVersion);
}

std::string why_unfit(const protocol::Hello& worker, const Terms& terms, const Options& options) {
  if (std::string why = why_unfit(worker.protocol, worker.manifest, terms); !why.empty()) {
    return why;
  }
  if (terms.examples != 0 && worker.dataset_examples != terms.examples) {
    return "this worker's data set has " + std::to_string(worker.dataset_examples) +
           " examples, the job's has " + std::to_string(terms.examples);
  }
  if (index(worker.worker) >= options.workers) {
    return name(worker.worker) + " is out of range: this job " +
           (options.later > 0 ? "is full at --max-workers " : "has --workers ") +
           std::to_string(options.workers) + ", so --worker takes 0 to " +
           std::to_string(options.workers - 1);
  }
  if (std::string why = why_other_steps(worker, options.local_steps); !why.empty()) {
    return why;
  }
  return why_unfit(worker.script, terms, options);
}

std::string why_unfit(const protocol::Observe& evaluator, const Terms& terms) {
  return why_unfit(evaluator.protocol, evaluator.manifest, terms);
}

}  // namespace outpace::admission
