// The job's secret: a process that has it may join. It is in a file that only its owner can read,
// and never on a command line or in a log.

#pragma once

#include <string>

#include <sys/stat.h>
#include <sys/types.h>

#include "base/time.h"

namespace outpace::live {

// Why a token in a file of this owner and mode is not secret from others for a reader with this
// effective user id; empty if it is. Root may read anybody's file, and anybody may read root's: who
// can change root's files controls this process anyway.
[[nodiscard]] std::string why_not_secret(const std::string& path,
                                         const struct stat& status,
                                         uid_t reader);
// Throws a usage error if the file is missing, empty, of another user, or readable by others.
[[nodiscard]] std::string read_token_file(const std::string& path);
// As read_token_file(), of a file that the server is about to make: waits for it, up to `deadline`.
[[nodiscard]] std::string await_token_file(const std::string& path, Duration deadline);
// Makes the file, of mode 0600, with a new token of 256 bits; reads it if it exists. If two servers
// do this at once, one makes the file and the other reads it.
[[nodiscard]] std::string token_of_server(const std::string& path);

}  // namespace outpace::live
