// Tested by src/world/live/worker_test.cc.

#include "outpace/evaluator.h"

#include <chrono>
#include <utility>

#include "live/environment.h"
#include "live/lasting_evaluator.h"
#include "live/script.h"
#include "wire/tls_files.h"

namespace outpace {

using live::for_the_public;
using live::require;

class Evaluator::Job {
 public:
  explicit Job(WorkerOptions options) : options_(std::move(options)) {}

  void join(const std::vector<Parameter>& parameters) {
    require(!session_, "join: this evaluator has joined already");
    const wire::TlsFiles tls{
        .certificate = options_.tls_certificate, .key = options_.tls_key, .ca = options_.tls_ca};
    wire::check_encrypted(options_.server,
                          options_.token,
                          tls,
                          options_.insecure_no_tls,
                          "OUTPACE_INSECURE_NO_TLS=true");
    session_ = std::make_unique<live::LastingEvaluator>(
        live::SessionOptions{.server = options_.server,
                             .token = options_.token,
                             .tls = tls,
                             .deadline = options_.deadline,
                             .keep_alive = options_.keep_alive},
        live::manifest_of(parameters),
        options_.rejoin_for);
  }

  std::optional<Snapshot> next() {
    require(session_ != nullptr, "next: join() comes first");
    require(!unreported_, "next: the last snapshot was not reported; call report() first");
    snapshot_.reset();  // The server may use its memory again.
    snapshot_ = session_->next();
    if (!snapshot_) {
      return std::nullopt;
    }
    unreported_ = true;
    return Snapshot{.weights = snapshot_->weights.span(), .version = count(snapshot_->version)};
  }

  [[nodiscard]] const std::string& constants() const {
    static const std::string kNone;
    return session_ ? session_->constants() : kNone;
  }

  [[nodiscard]] std::shared_ptr<const void> memory() const {
    return snapshot_ ? snapshot_->weights.memory() : nullptr;
  }

  void report(const Measured& found) {
    require(unreported_, "report: there is no snapshot to report on; call next() first");
    require(!found.accuracy || (*found.accuracy >= 0.0 && *found.accuracy <= 1.0),
            "report: the accuracy is " + std::to_string(found.accuracy.value_or(0.0)) +
                "; it is a share from 0 to 1");
    require(found.accuracy || found.loss || !found.values.empty(), "report: nothing was measured");
    require(found.values.size() <= protocol::kValuesMax,
            "report: " + std::to_string(found.values.size()) + " values; at most 256 are recorded");
    worker::Evaluation answer{.accuracy = found.accuracy, .loss = found.loss};
    for (const auto& [name, value] : found.values) {
      require(!name.empty() && name.size() <= protocol::kTextMax,
              "report: a value's name has " + std::to_string(name.size()) +
                  " bytes; it takes 1 to 1024");
      answer.values.push_back({.name = name, .value = value});
    }
    unreported_ = false;
    session_->answer(snapshot_->version, answer);
  }

 private:
  const WorkerOptions options_;
  // State.
  std::unique_ptr<live::LastingEvaluator> session_;  // Once it has joined.
  std::optional<live::LastingEvaluator::Snapshot> snapshot_;
  bool unreported_ = false;
};

Evaluator Evaluator::from_environment() {
  return for_the_public([] { return Evaluator(live::options_from_environment(/*ranked=*/false)); });
}

Evaluator::Evaluator(WorkerOptions options) : job_(std::make_unique<Job>(std::move(options))) {}
Evaluator::~Evaluator() = default;
Evaluator::Evaluator(Evaluator&& other) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&& other) noexcept = default;

void Evaluator::join(const std::vector<Parameter>& parameters) {
  for_the_public([&] { job_->join(parameters); });
}

std::optional<Snapshot> Evaluator::next() {
  return for_the_public([this] { return job_->next(); });
}

const std::string& Evaluator::constants() const {
  return job_->constants();
}

std::shared_ptr<const void> Evaluator::memory() const {
  return job_->memory();
}

void Evaluator::report(double accuracy, std::optional<double> loss) {
  report(Measured{.accuracy = accuracy, .loss = loss, .values = {}});
}

void Evaluator::report(const Measured& found) {
  for_the_public([&] { job_->report(found); });
}

}  // namespace outpace
