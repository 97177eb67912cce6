// The PEM files with which one side of a job proves who it is, and checks the other side.
//
// Each side has a certificate, its private key, and the certificate of the job's authority. Options
// name them; without options they lie beside the token file, as `outpace certs` writes them. A
// connection through a Unix socket needs none, because it does not leave the machine.

#pragma once

#include <cstdint>
#include <string>

namespace outpace::wire {

inline constexpr const char* kAuthorityFile = "ca.pem";

// Evaluator and ctl are on the workers' side.
enum class TlsSide : std::uint8_t { kServer, kWorker };

// Paths. All empty: no TLS.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string ca;

  [[nodiscard]] bool any() const { return !certificate.empty() || !key.empty() || !ca.empty(); }

  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// The names of the files of a side: ca.pem, server.pem, server.key or ca.pem, worker.pem,
// worker.key.
[[nodiscard]] TlsFiles names_of(TlsSide side);

// The files of this side in the folder of the token file; empty if none of them is there. Throws a
// usage error that names the first missing one if only some are there.
[[nodiscard]] TlsFiles tls_beside(const std::string& token_file, TlsSide side);

// Throws a usage error if an option names one file and another is left out: --tls-cert, --tls-key
// and --tls-ca go together.
void check_complete(const TlsFiles& given);

// Throws a usage error if a file cannot be read, or if others can read the private key.
void check_readable(const TlsFiles& files);

// Throws a usage error if a certificate has expired, or is not valid yet.
void check_in_force(const TlsFiles& files);

// The files with which a process listens at or connects to `address`: those given by options, or
// else those beside the token file. They are complete, readable and in force. Empty for a Unix
// socket. Throws a usage error, also if options name files for a Unix socket.
[[nodiscard]] TlsFiles find_tls(const TlsFiles& given,
                                const std::string& token_file,
                                const std::string& address,
                                TlsSide side);

// Throws a usage error if a process would connect to `server`, beyond this machine, with neither
// files nor a pass in place of its token nor leave to go without TLS, or if it has leave and either
// of them. `option` is what gives leave: "--insecure-no-tls".
void check_encrypted(const std::string& server,
                     const std::string& token,
                     const TlsFiles& files,
                     bool insecure_no_tls,
                     const std::string& option);

}  // namespace outpace::wire
