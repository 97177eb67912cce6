// What a run's processes take of this machine's processors, for each mini-batch and gradient: with
// it, what a mini-batch costs can be told from how long it had to wait for a processor.
//
// Workers on other machines, and those that were started again, are left out: nothing is known of
// them. What comes in a run's first half second is not counted, for caches are cold then.

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
  std::uint32_t cores = 1;               // Of this machine, for this process and its children.
  double server_seconds_a_gradient = 0;  // Processor time, of all threads.
  // By worker: processor time of an iteration; nothing where it is not known.
  std::vector<std::optional<double>> worker_seconds_an_iteration;

  bool operator==(const ProcessorUse&) const = default;
};

[[nodiscard]] nlohmann::ordered_json to_json(const ProcessorUse& use);
// Of what to_json() made; nothing if it is not of that form.
[[nodiscard]] std::optional<ProcessorUse> read_processor_use(const nlohmann::json& json);

class ProcessorMeter {
 public:
  // Processor time in seconds so far of a process, by the name that a worker gives itself,
  // "host:process"; of this process by the empty name. Nothing if it is not to be had.
  using Clock = std::function<std::optional<double>(const std::string&)>;

  ProcessorMeter(std::uint32_t cores, Clock clock) : cores_(cores), clock_(std::move(clock)) {}

  // To be called now and then while the run goes on.
  void look(Time now, const server::Statistics& statistics);
  // Between the first look that counts and the last; nothing if nothing was done between them.
  [[nodiscard]] std::optional<ProcessorUse> use() const;

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

// The clock of this machine's processes.
[[nodiscard]] std::optional<double> processor_seconds(const std::string& name);

}  // namespace outpace::record
