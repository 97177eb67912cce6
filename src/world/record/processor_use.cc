#include "record/processor_use.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <thread>

#include <sched.h>
#include <unistd.h>

namespace outpace::record {
namespace {

constexpr Time kFirstLook{std::chrono::milliseconds(500)};

std::optional<double> positive(const nlohmann::json& json) {
  if (!json.is_number()) {
    return std::nullopt;
  }
  const auto value = json.get<double>();
  return std::isfinite(value) && value >= 0.0 ? std::optional(value) : std::nullopt;
}

}  // namespace

nlohmann::ordered_json to_json(const ProcessorUse& use) {
  nlohmann::ordered_json workers = nlohmann::ordered_json::array();
  for (const std::optional<double>& seconds : use.worker_seconds_an_iteration) {
    workers.push_back(seconds ? nlohmann::ordered_json(*seconds) : nlohmann::ordered_json(nullptr));
  }
  return {{"cores", use.cores},
          {"server_seconds_a_gradient", use.server_seconds_a_gradient},
          {"worker_seconds_an_iteration", std::move(workers)}};
}

std::optional<ProcessorUse> read_processor_use(const nlohmann::json& json) {
  const auto of = [&json](const char* key) {
    return json.is_object() && json.contains(key) ? json[key] : nlohmann::json();
  };
  const nlohmann::json cores = of("cores");
  const auto server = positive(of("server_seconds_a_gradient"));
  const nlohmann::json workers = of("worker_seconds_an_iteration");
  constexpr std::uint64_t kCoresMax = 1'000'000;
  if (!cores.is_number_unsigned() || cores.get<std::uint64_t>() < 1 ||
      cores.get<std::uint64_t>() > kCoresMax || !server || !workers.is_array()) {
    return std::nullopt;
  }
  ProcessorUse use{.cores = cores.get<std::uint32_t>(),
                   .server_seconds_a_gradient = *server,
                   .worker_seconds_an_iteration = {}};
  use.worker_seconds_an_iteration.reserve(workers.size());
  for (const nlohmann::json& worker : workers) {
    use.worker_seconds_an_iteration.push_back(positive(worker));
  }
  return use;
}

std::vector<ProcessorMeter::Process> ProcessorMeter::all(
    const server::Statistics& statistics) const {
  std::vector<Process> processes{{.name = "", .seconds = clock_("")}};
  processes.reserve(1 + statistics.workers.size());
  for (const server::WorkerStatistics& worker : statistics.workers) {
    const std::uint64_t done = worker.iterations();
    processes.push_back({.name = worker.host, .seconds = clock_(worker.host), .done = done});
    processes.front().done += done;
  }
  return processes;
}

void ProcessorMeter::look(Time now, const server::Statistics& statistics) {
  if (now >= kFirstLook) {
    (first_.empty() ? first_ : last_) = all(statistics);
  }
}

std::optional<ProcessorUse> ProcessorMeter::use() const {
  if (last_.empty() || last_.size() != first_.size()) {
    return std::nullopt;
  }
  std::vector<std::optional<double>> each;
  each.reserve(first_.size());
  for (std::size_t i = 0; i < first_.size(); ++i) {
    const Process& from = first_[i];
    const Process& to = last_[i];
    const bool known = from.seconds && to.seconds && from.name == to.name && to.done > from.done;
    each.push_back(known ? std::optional((*to.seconds - *from.seconds) /
                                         static_cast<double>(to.done - from.done))
                         : std::nullopt);
  }
  if (!each.front()) {
    return std::nullopt;
  }
  return ProcessorUse{.cores = cores_,
                      .server_seconds_a_gradient = *each.front(),
                      .worker_seconds_an_iteration = {each.begin() + 1, each.end()}};
}

std::optional<std::string> ProcessorMeter::shared_in_words() const {
  const std::vector<Process>& seen = last_.empty() ? first_ : last_;
  const auto here = std::count_if(seen.begin(), seen.end(), [](const Process& process) {
    return !process.name.empty() && process.seconds.has_value();
  });
  if (here <= static_cast<std::ptrdiff_t>(cores_)) {
    return std::nullopt;
  }
  return std::to_string(here) + " workers share " + std::to_string(cores_) +
         (cores_ == 1 ? " processor" : " processors");
}

std::uint32_t processors_available() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&allowed)));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::optional<double> processor_seconds(const std::string& name) {
  clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
  if (!name.empty()) {
    std::array<char, 256> host{};
    const std::size_t colon = name.rfind(':');
    pid_t process = 0;
    if (colon == std::string::npos || gethostname(host.data(), host.size() - 1) != 0 ||
        name.substr(0, colon) != host.data() ||
        std::from_chars(name.data() + colon + 1, name.data() + name.size(), process).ec !=
            std::errc{} ||
        process <= 0 || clock_getcpuclockid(process, &clock) != 0) {
      return std::nullopt;
    }
  }
  timespec now{};
  if (clock_gettime(clock, &now) != 0) {
    return std::nullopt;
  }
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace outpace::record
