// "unix:PATH" as the system's socket address.

#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>

namespace outpace::live {

inline constexpr std::string_view kUnixPrefix = "unix:";

class UnixAddress {
 public:
  static constexpr std::size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;

  // REQUIRES: it begins with "unix:". A path that is too long is cut: check fits() first.
  explicit UnixAddress(const std::string& address) : path_(address.substr(kUnixPrefix.size())) {
    name_.sun_family = AF_UNIX;
    path_.copy(name_.sun_path, kPathMax);
  }

  [[nodiscard]] bool fits() const { return !path_.empty() && path_.size() <= kPathMax; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const sockaddr* address() const {
    return reinterpret_cast<const sockaddr*>(&name_);
  }
  [[nodiscard]] static socklen_t size() { return sizeof(sockaddr_un); }

 private:
  std::string path_;
  sockaddr_un name_{};
};

}  // namespace outpace::live
