// A person's side of a job that runs: one question, one answer, on a connection of its own, with
// the token that the workers have.

#pragma once

#include <chrono>
#include <string>

#include "base/time.h"
#include "protocol/messages.h"

namespace outpace::live {

struct ControlOptions {
  std::string server;  // HOST:PORT or unix:PATH.
  std::string token;
  Duration deadline = std::chrono::seconds(3);   // For reaching the server.
  Duration patience = std::chrono::seconds(60);  // For its answer: a seam takes a mini-batch.
};

// The server's answer to SetPolicy or AskStatus: an Answer, or a Status. Throws Error if there is
// none in time, or the server refuses token or protocol.
[[nodiscard]] protocol::Message ask(const ControlOptions& options,
                                    const protocol::Message& question);

}  // namespace outpace::live
