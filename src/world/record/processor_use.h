// The processor time that a run takes on this machine, per mini-batch and per gradient. It
// separates the cost of a mini-batch from the time spent waiting for a processor.
//
// Unknown for workers on other machines and for workers that were restarted. The first half second
// of a run does not count, because caches are cold then.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/time.h"
#include "server/statistics.h"

namespace outpace::record {

struct ProcessorUse {
  std::uint32_t cores = 1;  // On this machine, as available to this process and its children.
  double server_seconds_a_gradient = 0;  // Processor seconds, over all threads.
  // Processor seconds per iteration, by worker; nothing if unknown.
  std::vector<std::optional<double>> worker_seconds_an_iteration;

  bool operator==(const ProcessorUse&) const = default;
};

[[nodiscard]] nlohmann::ordered_json to_json(const ProcessorUse& use);
// Reads the output of to_json(); nothing if the JSON has another form.
[[nodiscard]] std::optional<ProcessorUse> read_processor_use(const nlohmann::json& json);

class ProcessorMeter {
 public:
  // Returns the processor seconds so far of the process with a worker's name, "host:process", or of
  // this process for the empty name; nothing if unavailable.
  using Clock = std::function<std::optional<double>(const std::string&)>;

  ProcessorMeter(std::uint32_t cores, Clock clock) : cores_(cores), clock_(std::move(clock)) {}

  // Call this from time to time during the run.
  void look(Time now, const server::Statistics& statistics);
  // The use between the first look that counts and the last; nothing if no work was done between
  // them.
  [[nodiscard]] std::optional<ProcessorUse> use() const;
  // "4 workers share 2 processors", if this machine has fewer processors than workers, as last
  // seen.
  [[nodiscard]] std::optional<std::string> shared_in_words() const;

 private:
  struct Process {
    std::string name;
    std::optional<double> seconds;
    std::uint64_t done = 0;  // Iterations, or gradients.
  };
  [[nodiscard]] std::vector<Process> all(const server::Statistics& statistics) const;

  const std::uint32_t cores_;
  const Clock clock_;
  std::vector<Process> first_;  // The server, then the workers.
  std::vector<Process> last_;
};

// Processors of this machine that this process may run on, and so its children.
[[nodiscard]] std::uint32_t processors_available();

// The clock of this machine's processes.
[[nodiscard]] std::optional<double> processor_seconds(const std::string& name);

}  // namespace outpace::record
