// Tested by src/world/live/worker_test.cc.

#include "live/environment.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "compress/format.h"
#include "launch/place.h"
#include "live/token_file.h"
#include "protocol/messages.h"
#include "wire/environment.h"
#include "wire/options.h"
#include "wire/tls_files.h"

namespace outpace::live {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Nothing if nothing is missing that a launcher says.
std::optional<launch::Place> place() {
  const std::string choice = variable("OUTPACE_LAUNCHER");
  return launch::find_place(wire::environment_variables(),
                            choice.empty() ? launch::kAnyLauncher : choice);
}

// A shell of `srun --pty` has the variables of a step of several processes, and so has what is
// started in it by hand. A step that is started there inherits SLURM_PTY_PORT, but no terminal.
bool is_in_shell(const launch::Place& found) {
  return found.launcher == "slurm" && !variable("SLURM_PTY_PORT").empty() &&
         isatty(STDIN_FILENO) == 1;
}

Error missing(const char* name, const std::string& takes) {
  return usage_error(std::string(name) + " is not set; it takes " + takes);
}

std::string server() {
  if (std::string value = variable("OUTPACE_SERVER"); !value.empty()) {
    return value;
  }
  if (const auto found = place()) {
    if (const auto address = launch::server_address(wire::environment_variables(), *found)) {
      return *address;
    }
  }
  throw missing("OUTPACE_SERVER", "HOST:PORT or unix:PATH of the job's server");
}

std::uint32_t number_below(const char* name, const std::string& value, std::uint64_t limit) {
  const std::optional<std::uint64_t> number = parse_count(value);
  if (!number || *number >= limit) {
    throw usage_error(std::string(name) + " is '" + value + "'; it takes 0 to " +
                      std::to_string(limit - 1));
  }
  return static_cast<std::uint32_t>(*number);
}

std::uint32_t rank() {
  if (const std::string value = variable("OUTPACE_WORKER"); !value.empty()) {
    return number_below("OUTPACE_WORKER", value, protocol::kWorkersMax);
  }
  if (const auto found = place()) {
    return found->rank;
  }
  throw missing("OUTPACE_WORKER", "this worker's rank: 0, 1, 2, ...");
}

bool truth_of(const char* name) {
  const std::string value = variable(name);
  if (value == "true" || value == "1") {
    return true;
  }
  if (value.empty() || value == "false" || value == "0") {
    return false;
  }
  throw usage_error(std::string(name) + " is '" + value + "'; it takes true or false");
}

std::chrono::nanoseconds duration_from(const char* name, std::chrono::nanoseconds by_default) {
  const std::string value = variable(name);
  const std::optional<Duration> found = value.empty() ? by_default : parse_duration(value);
  if (!found) {
    throw usage_error(std::string(name) + " is '" + value +
                      "'; it takes a time such as 90s or 10m");
  }
  return *found;
}

// The worker's factor in the values of `--slow`: "worker=3,factor=4;worker=5,factor=2".
double slow_factor(WorkerId worker, std::size_t workers) {
  std::vector<worker::Slow> slow;
  std::istringstream all(variable("OUTPACE_SLOW"));
  for (std::string one; std::getline(all, one, ';');) {
    slow.push_back(worker::Slow::parse(one, workers));
  }
  return worker::slow_factor(slow, worker);
}

std::string whole_file(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) {  // A device may have no end.
    throw usage_error("OUTPACE_DELAYS: " + path + " is no regular file that can be read");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    throw usage_error("OUTPACE_DELAYS: " + path + " cannot be read");
  }
  return text.str();
}

Role role() {
  const std::string word = variable("OUTPACE_ROLE");
  if (word == "worker") {
    return Role::kWorker;
  }
  if (word == "evaluator") {
    return Role::kEvaluator;
  }
  if (word == "alone") {
    return Role::kAlone;
  }
  if (!word.empty()) {
    throw usage_error("OUTPACE_ROLE is '" + word + "'; it takes worker, evaluator or alone");
  }
  if (!variable("OUTPACE_SERVER").empty() || !variable("OUTPACE_TOKEN_FILE").empty()) {
    return Role::kWorker;
  }
  const auto found = place();
  const bool several = found && found->world.value_or(1) > 1 && !is_in_shell(*found);
  return several ? Role::kWorker : Role::kAlone;
}

std::uint64_t slice_bytes_or(std::uint64_t by_default) {
  constexpr std::uint64_t kMost = protocol::kWeightsMax * sizeof(float);
  const std::string value = variable("OUTPACE_SLICE");
  if (value.empty()) {
    return by_default;
  }
  const std::optional<std::uint64_t> bytes = parse_count(value);
  if (!bytes || *bytes > kMost) {
    throw usage_error("OUTPACE_SLICE is '" + value +
                      "'; it takes a number of bytes such as 262144, or 0 for whole gradients");
  }
  return *bytes;
}

// 0: as the link asks for.
std::uint32_t connections() {
  const std::string value = variable("OUTPACE_CONNECTIONS");
  const std::optional<std::uint64_t> number = parse_count(value);
  if (!value.empty() && (!number || *number < 1 || *number > wire::kLanesMax)) {
    throw usage_error("OUTPACE_CONNECTIONS is '" + value + "'; it takes 1 to " +
                      std::to_string(wire::kLanesMax));
  }
  return static_cast<std::uint32_t>(number.value_or(0));
}

// Empty: as the script says, or else the server.
std::string compression() {
  std::string spec = variable("OUTPACE_COMPRESS");
  try {
    if (!spec.empty()) {
      static_cast<void>(compress::Compression::parse(spec));
    }
  } catch (const Error& error) {
    throw usage_error(std::string("OUTPACE_COMPRESS: ") + error.what());
  }
  return spec;
}

}  // namespace

outpace::WorkerOptions options_from_environment(bool ranked) {
  outpace::WorkerOptions options;
  options.server = server();
  const std::string token_file = variable("OUTPACE_TOKEN_FILE");
  if (token_file.empty()) {
    std::string takes = "the file with the job's secret, the server's --token-file";
    if (const auto found = place()) {
      takes += ". The variables of " + found->title +
               " say that this process is one of several; for one that trains alone, set "
               "OUTPACE_ROLE=alone";
    }
    throw missing("OUTPACE_TOKEN_FILE", takes);
  }
  options.token = read_token_file(token_file);
  const wire::TlsFiles tls = wire::find_tls({.certificate = variable("OUTPACE_TLS_CERT"),
                                             .key = variable("OUTPACE_TLS_KEY"),
                                             .ca = variable("OUTPACE_TLS_CA")},
                                            token_file,
                                            options.server,
                                            wire::TlsSide::kWorker);
  options.tls_certificate = tls.certificate;
  options.tls_key = tls.key;
  options.tls_ca = tls.ca;
  options.insecure_no_tls = truth_of("OUTPACE_INSECURE_NO_TLS");
  if (ranked) {
    options.worker = rank();
  }
  options.rejoin_for = duration_from("OUTPACE_REJOIN_FOR", options.rejoin_for);
  options.keep_alive = duration_from("OUTPACE_KEEP_ALIVE", options.keep_alive);
  options.connections = connections();
  options.slice_bytes = slice_bytes_or(options.slice_bytes);
  options.compress = compression();
  return options;
}

std::string profile_from_environment() {
  return variable("OUTPACE_PROFILE");
}

std::optional<worker::Pace> pace_from_environment(WorkerId worker) {
  const std::string delays = variable("OUTPACE_DELAYS");
  if (delays.empty() && variable("OUTPACE_SLOW").empty()) {
    return std::nullopt;
  }
  const std::string planned = variable("OUTPACE_WORKERS");
  const std::size_t workers =
      planned.empty() ? index(worker) + 1
                      : number_below("OUTPACE_WORKERS", planned, protocol::kWorkersMax + 1);
  const bool by_iteration = variable("OUTPACE_DELAYS_BY") == "iteration";
  worker::PaceOptions options{.by = by_iteration ? worker::DelaysBy::kIteration
                                                 : worker::DelaysBy::kTime};
  options.period = duration_from("OUTPACE_DELAYS_PERIOD", options.period);
  options.factor = slow_factor(worker, workers);
  if (delays.empty()) {
    return worker::Pace(options);
  }
  return worker::Pace(
      worker::DelayTrace::parse(whole_file(delays), delays, workers), worker, options);
}

}  // namespace outpace::live

namespace outpace {

Role role_from_environment() {
  try {
    return live::role();
  } catch (const Error& error) {
    throw WorkerError(static_cast<int>(error.code()), error.what());
  }
}

}  // namespace outpace
