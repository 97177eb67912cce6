// Tested by test/program/thin_links_test.py.

#include "relay_run/tap_device.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "base/error.h"

namespace outpace::relay_run {
namespace {

constexpr std::size_t kFrameMost = 65'536;

Error failed(const std::string& what) {
  return Error(ExitCode::kFailure, fmt::format("{}: {}", what, std::strerror(errno)));
}

wire::Descriptor open_file(const std::string& path, int flags) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the C library's
  wire::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (file.number() < 0) {
    throw failed("cannot open " + path);
  }
  return file;
}

void enter(const wire::Descriptor& space, const std::string& name) {
  if (::setns(space.number(), CLONE_NEWNET) != 0) {
    throw failed("cannot enter the network namespace " + name);
  }
}

void name_it(const wire::Descriptor& tap, const std::string& device, const std::string& place) {
  ifreq request{};
  if (device.empty() || device.size() >= sizeof(request.ifr_name)) {
    throw usage_error("'" + place +
                      "' names no device; write NAMESPACE/DEVICE, such as host1/eth0");
  }
  device.copy(static_cast<char*>(request.ifr_name), device.size());
  request.ifr_flags = IFF_TAP | IFF_NO_PI;  // NOLINT(*-union-access,*-narrowing-*): the kernel's
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): the C library's
  if (::ioctl(tap.number(), TUNSETIFF, &request) != 0) {
    throw failed("cannot make the device " + place);
  }
}

wire::Descriptor make(const std::string& place) {
  const std::size_t slash = place.find('/');
  const std::string name = place.substr(0, slash);
  const std::string device = slash == std::string::npos ? "" : place.substr(slash + 1);
  const wire::Descriptor own = open_file("/proc/self/ns/net", O_RDONLY);
  enter(open_file("/run/netns/" + name, O_RDONLY), name);
  // The device belongs to the namespace in which the file is opened, and can be used from anywhere.
  wire::Descriptor tap = open_file("/dev/net/tun", O_RDWR | O_NONBLOCK);
  name_it(tap, device, place);
  enter(own, "of this process");
  return tap;
}

}  // namespace

TapDevice::TapDevice(const std::string& place) : descriptor_(make(place)) {}

std::optional<relay::Packet> TapDevice::read() {
  std::array<std::byte, kFrameMost> buffer;  // NOLINT(*-member-init): read() fills what is used
  const ssize_t size = ::read(descriptor(), buffer.data(), buffer.size());
  if (size > 0) {
    return relay::Packet(buffer.begin(), buffer.begin() + size);
  }
  if (size < 0 && errno != EAGAIN && errno != EINTR && errno != EIO) {  // EIO: it is down.
    throw failed("cannot read from a device");
  }
  return std::nullopt;
}

void TapDevice::write(const relay::Packet& frame) {
  const ssize_t size = ::write(descriptor(), frame.data(), frame.size());
  if (size < 0 && errno != EAGAIN && errno != EINTR && errno != EIO && errno != ENOBUFS) {
    throw failed("cannot write to a device");
  }
}

}  // namespace outpace::relay_run
