#include "live/token_file.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"

namespace outpace::live {

namespace {

std::string new_token() {
  std::array<unsigned char, 32> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ExitCode::kFailure, "the system gave no random bytes for the job's token");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    token += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return token;
}

// A new token (256 bits, hexadecimal) in a new file of mode 0600; nothing if the file is there.
std::optional<std::string> create_token_file(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0 && errno == EEXIST) {
    return std::nullopt;
  }
  std::string token = file < 0 ? "" : new_token();
  const std::string line = token + "\n";
  const bool written =
      file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = errno;
  if (file >= 0) {
    close(file);
  }
  if (!written) {
    throw Error(ExitCode::kFailure, path + ": cannot write the token: " + std::strerror(error));
  }
  return token;
}

}  // namespace

std::string why_not_secret(const std::string& path, const struct stat& status, uid_t reader) {
  constexpr uid_t kRoot = 0;
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return path + ": the token can be read by others; run: chmod 600 " + path;
  }
  if (status.st_uid != reader && status.st_uid != kRoot && reader != kRoot) {
    return path + ": the token file belongs to user " + std::to_string(status.st_uid) +
           ", this process to user " + std::to_string(reader) + "; name a file of your own";
  }
  return "";
}

std::string read_token_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    throw usage_error(
        path + (errno == ENOENT ? ": no such token file; the server makes one with --token-file"
                                : std::string(": cannot read the token: ") + std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw usage_error(path + ": the token is in no regular file");
  }
  if (const std::string why = why_not_secret(path, status, geteuid()); !why.empty()) {
    throw usage_error(why);
  }
  errno = 0;
  std::ifstream file(path);
  if (!file) {
    throw usage_error(path + ": cannot read the token: " + std::strerror(errno));
  }
  std::string line;
  std::getline(file, line);
  std::string token(trim(line));
  if (token.empty()) {
    throw usage_error(path + ": the token file is empty");
  }
  return token;
}

std::string await_token_file(const std::string& path, Duration deadline) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(50);
  const auto give_up = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(deadline);
  struct stat status {};
  // It is written in one piece: there is all of it or nothing.
  while ((stat(path.c_str(), &status) != 0 || status.st_size == 0) &&
         std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return read_token_file(path);
}

std::string token_of_server(const std::string& path) {
  // Another server may be writing it right now.
  constexpr Duration kWritten = std::chrono::seconds(1);
  const std::optional<std::string> made = create_token_file(path);
  return made ? *made : await_token_file(path, kWritten);
}

}  // namespace outpace::live
