// What a record says of a run: when each worker began and finished each gradient, and how much of
// that was processor time.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "policy/catalogue.h"

namespace outpace::policy {

// From the release of weights to the arrival of their gradient.
struct RecordedIteration {
  Time begin;
  Time end;              // After begin.
  double share = 1.0;    // The share of a full mini-batch, or of a phase of local steps; above 0.
  bool partial = false;  // It was cut off: how long the whole would have taken is not known.
};

struct Absence {
  Time from;
  std::optional<Time> until;  // Nothing: to the end.
};

struct RecordedWorker {
  std::vector<RecordedIteration> iterations;  // In the order of their begins.
  std::vector<Absence> absences;              // In order.
  // Processor time of a full mini-batch, if the worker is on the server's machine; else nothing.
  std::optional<double> processor_seconds;
  // The part of a typical iteration that is not computing; nothing where it cannot be told.
  std::optional<double> communication_seconds;
};

// How much a run had learnt by some time: at its target, or else at its last evaluation.
struct Reached {
  std::string what;       // "84.0 %", which is accuracy, or "loss 0.412": on the test set.
  double seconds = 0.0;   // Above 0.
  double examples = 0.0;  // Applied by then; above 0.
  double mixed = 0.0;     // M of progress.h, in examples; above 0.
};

struct RecordedRun {
  std::string policy;
  PolicyInputs given;
  std::uint32_t batch = 1;     // Examples of a full mini-batch, or of a phase of local steps.
  Time last_commit{};          // From the first weights handed out.
  std::uint64_t examples = 0;  // Applied up to then.
  std::vector<RecordedWorker> workers;
  std::uint32_t cores = 0;      // The server machine's; 0: not known, and nothing is made of it.
  double server_seconds = 0.0;  // Processor time for a gradient.
  std::optional<double> noise_scale{};  // Examples; nothing: it was not measured.
  std::optional<Reached> reached{};     // Nothing: it evaluated nothing.
  // The whole run's rate, where what is here is a sample of it.
  std::optional<double> measured{};  // Examples a second.

  [[nodiscard]] double examples_per_second() const {
    return measured.value_or(static_cast<double>(examples) / to_seconds(last_commit));
  }
};

struct FoundRun {
  RecordedRun run;
  std::vector<std::string> notes;  // What the record does not say, in words.
};

}  // namespace outpace::policy
