// What other machines need to join a job: its certificates, its token and its code.
//
// A server that is to be reached from beyond this machine and is given no certificates makes its
// own. They are in keys/ of the run's directory, with the token and the codes, so that a server
// that goes on with the run is the same one for those that have joined.

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/live_job.h"
#include "live/keyring.h"
#include "live/server.h"
#include "wire/tls_files.h"

namespace outpace::run {

// Joiners beside those that --workers plans for, unless --max-workers says how many.
inline constexpr std::uint32_t kJoinersMost = 64;

// Whether the server makes its certificates itself.
[[nodiscard]] bool makes_keys(const job::Serving& serving, const std::string& token_file);

// Lets machines join later, if --max-workers does not say how many.
void make_room_for_joiners(job::Training& training);

class JobKeys {
 public:
  // Nothing: nobody joins by a code, because the server is not reached by TLS. `resumed`: the
  // directory of the run that goes on; empty: a new run. `scratch`: where keys lie until there is a
  // directory. Throws a usage error as wire::find_tls() does.
  [[nodiscard]] static std::optional<JobKeys> find(const job::Serving& serving,
                                                   const std::string& token_file,
                                                   const std::string& resumed,
                                                   const std::filesystem::path& scratch);

  // Whether certificates and token were made here.
  [[nodiscard]] bool own() const { return own_; }
  [[nodiscard]] const wire::TlsFiles& tls() const { return tls_; }
  [[nodiscard]] const std::shared_ptr<live::Keyring>& keyring() const { return keyring_; }
  // Where the token is, if own().
  [[nodiscard]] std::string token_file() const { return (folder_ / "token").string(); }

  // Lets the server know the passes of the code. `from`: the first number that a joiner gets.
  void give_to(live::ServerOptions& options,
               std::uint32_t from,
               const protocol::Seats& seats) const;
  // The server listens at `address`: the code says where machines reach it, `advertised` first. The
  // keys move into the run's directory. Throws Error.
  void settle(const std::filesystem::path& run,
              const std::string& address,
              const std::string& advertised);
  // How to join, for people. `command`: what a machine runs; empty: what it is told.
  [[nodiscard]] std::string how_to_join(const std::string& command) const;

 private:
  JobKeys() = default;

  bool own_ = false;
  std::filesystem::path folder_;  // With what was made here.
  wire::TlsFiles tls_;
  std::shared_ptr<live::Keyring> keyring_;
};

}  // namespace outpace::run
