// The TLS files of a process: what its options name, or what lies beside its token file.

#pragma once

#include <string>

#include "job/live_job.h"
#include "wire/tls_files.h"

namespace outpace::run {

// The files of a process that connects to `server` with this token. Throws a usage error as
// wire::find_tls() does, and if traffic would go beyond this machine with neither TLS nor leave to
// go without.
[[nodiscard]] wire::TlsFiles tls_to(const std::string& server,
                                    const job::TlsOptions& given,
                                    const std::string& token_file,
                                    const std::string& token,
                                    bool insecure_no_tls);

// The files of a job's server, or of another process that a launcher started with the same options.
// `listen` is where the server listens; empty: a Unix socket. Throws a usage error, also if traffic
// would go beyond this machine with neither TLS nor leave to go without.
[[nodiscard]] wire::TlsFiles tls_of(const job::Serving& serving,
                                    const std::string& token_file,
                                    wire::TlsSide side);

}  // namespace outpace::run
