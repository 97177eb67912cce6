// The certificates of one job: an authority, and what it signed for the server and the workers.
//
//   authority  signs, and nothing below what it signs may sign
//   server     extended key usage serverAuth: a worker's certificate cannot pass for it
//   worker     extended key usage clientAuth; all workers, the evaluator and ctl share it
//
// Keys are EC P-256, signatures SHA-256. The authority's private key is forgotten once both are
// signed, so nobody can sign a third. The names of hosts are not in them: they are of one job, not
// of a machine.

#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace outpace::wire {

inline constexpr auto kClockSkew = std::chrono::minutes(5);  // They hold from this long before now.

// PEM texts.
struct Certificates {
  std::string ca;
  std::string server;
  std::string server_key;
  std::string worker;
  std::string worker_key;
};

// New ones at each call. They hold until `now` + `validity`. Throws Error if OpenSSL fails.
[[nodiscard]] Certificates make_certificates(std::chrono::sys_seconds now,
                                             std::chrono::days validity);

// Writes ca.pem, server.pem, server.key, worker.pem and worker.key into the folder, which it makes
// (mode 0700) if it is not there; keys have mode 0600. Throws a usage error if one of the files is
// there, and Error if the file system refuses; then it leaves nothing of its own behind.
void write_certificates(const std::filesystem::path& folder, const Certificates& certificates);

}  // namespace outpace::wire
