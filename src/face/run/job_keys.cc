// Tested by test/program/join_test.py.

#include "run/job_keys.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include <fmt/format.h>

#include "base/error.h"
#include "base/local_address.h"
#include "live/token_file.h"
#include "wire/address.h"
#include "wire/certificates.h"
#include "wire/reachable.h"

namespace outpace::run {
namespace {

namespace fs = std::filesystem;

// A run may take long, and is gone on with later.
constexpr std::chrono::days kValid{365};
constexpr const char* kCodes = "codes.json";

fs::path folder_of(const fs::path& run) {
  return run / "keys";
}

// Is there what an earlier server of the run has made?
bool has_keys(const fs::path& folder) {
  std::error_code unknown;
  return fs::exists(folder / wire::kAuthorityFile, unknown);
}

wire::TlsFiles server_files(const fs::path& folder) {
  return wire::tls_beside((folder / "token").string(), wire::TlsSide::kServer);
}

}  // namespace

bool makes_keys(const job::Serving& serving, const std::string& token_file) {
  return token_file.empty() && !serving.listen.empty() && !is_local(serving.listen) &&
         !serving.insecure_no_tls && !serving.tls.any();
}

void make_room_for_joiners(job::Training& training) {
  if (!training.max_workers) {
    training.max_workers = std::min(training.workers + kJoinersMost, protocol::kWorkersMax);
  }
}

std::optional<JobKeys> JobKeys::find(const job::Serving& serving,
                                     const std::string& token_file,
                                     const std::string& resumed,
                                     const fs::path& scratch) {
  if (serving.listen.empty() || serving.listen.starts_with(wire::kUnixPrefix) ||
      serving.insecure_no_tls) {
    return std::nullopt;
  }
  JobKeys keys;
  keys.tls_ = wire::find_tls(
      {.certificate = serving.tls.certificate, .key = serving.tls.key, .ca = serving.tls.ca},
      token_file,
      serving.listen,
      wire::TlsSide::kServer);
  const fs::path before = resumed.empty() ? fs::path() : folder_of(resumed);
  const bool goes_on = !before.empty() && has_keys(before);
  if (!keys.tls_.any()) {
    if (!makes_keys(serving, token_file) && !(goes_on && token_file.empty())) {
      return std::nullopt;
    }
    keys.own_ = true;
    keys.folder_ = goes_on ? before : scratch / "keys";
    if (!goes_on) {
      const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
      wire::write_certificates(keys.folder_, wire::make_certificates(now, kValid));
    }
    keys.tls_ = server_files(keys.folder_);
    wire::check_readable(keys.tls_);
    wire::check_in_force(keys.tls_);
    static_cast<void>(live::token_of_server(keys.token_file()));
  }
  keys.keyring_ = std::make_shared<live::Keyring>(before.empty() ? fs::path() : before / kCodes,
                                                  wire::fingerprint_of(keys.tls_.ca));
  return keys;
}

void JobKeys::give_to(live::ServerOptions& options,
                      std::uint32_t from,
                      const protocol::Seats& seats) const {
  options.tls = tls_;
  options.keyring = keyring_;
  options.seats_from = from;
  options.seats = seats;
}

void JobKeys::settle(const fs::path& run,
                     const std::string& address,
                     const std::string& advertised) {
  const fs::path folder = folder_of(run);
  std::error_code error;
  fs::create_directory(folder, error);
  if (!error) {
    fs::permissions(folder, fs::perms::owner_all, error);
  }
  // The run's own, if it goes on, however its folder was written.
  if (!error && own_ && !fs::equivalent(folder, folder_, error) && !error) {
    fs::copy(
        folder_, folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
    folder_ = folder;
    tls_ = server_files(folder);
  }
  if (error) {
    throw Error(ExitCode::kFailure,
                folder.string() + ": cannot keep the job's keys: " + error.message());
  }
  std::vector<std::string> addresses = wire::reachable_at(address);
  if (!advertised.empty()) {
    addresses.insert(addresses.begin(), advertised);
  }
  keyring_->reached_at(std::move(addresses));
  keyring_->keep_in(folder / kCodes);
}

std::string JobKeys::how_to_join(const std::string& command) const {
  return fmt::format("machines join by: outpace join {}{}{}",
                     keyring_->code(),
                     command.empty() ? "" : " -- ",
                     command);
}

}  // namespace outpace::run
