// Asks the server of a running job one question, or gives it one command, and returns its answer.
// Each call makes a connection of its own, with the token that the workers have.

#pragma once

#include <chrono>
#include <string>

#include "base/time.h"
#include "protocol/messages.h"
#include "wire/tls_files.h"

namespace outpace::live {

struct ControlOptions {
  std::string server;  // HOST:PORT or unix:PATH.
  std::string token;
  wire::TlsFiles tls;                            // The worker's; empty: no TLS.
  Duration deadline = std::chrono::seconds(3);   // For reaching the server.
  Duration patience = std::chrono::seconds(60);  // For its answer, which may wait for a seam.
};

// The server's answer to SetPolicy, SlowDown or AskStatus: an Answer, or a Status. Throws Error if
// there is none in time, or the server refuses token or protocol.
[[nodiscard]] protocol::Message ask(const ControlOptions& options,
                                    const protocol::Message& question);

}  // namespace outpace::live
