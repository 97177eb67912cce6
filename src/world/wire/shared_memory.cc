#include "wire/shared_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/check.h"
#include "base/error.h"

namespace outpace::wire {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
// MFD_NOEXEC_SEAL of Linux 6.3, later than the C library's headers.
constexpr unsigned kNeverExecuted = 0x8;

Error refused(const std::string& what) {
  return {ExitCode::kFailure, what};
}

Error refused_by_system(const std::string& call) {
  return refused(call + ": " + std::strerror(errno));
}

Descriptor make_memory() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int number = ::memfd_create("outpace", kFlags | kNeverExecuted);
  if (number < 0 && errno == EINVAL) {
    number = ::memfd_create("outpace", kFlags);
  }
  if (number < 0) {
    throw refused_by_system("memfd_create");
  }
  return Descriptor(number);
}

bool allocate(const Descriptor& memory, std::uint64_t offset, std::uint64_t bytes) {
  int failed = 0;
  do {
    failed = ::fallocate(memory.number(), 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

}  // namespace

std::uint64_t place_bytes(std::uint64_t numbers) {
  return (numbers * sizeof(float) + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// ---- Mapping ------------------------------------------------------------------------------------

Mapping::~Mapping() {
  if (address_ != nullptr) {
    ::munmap(address_, bytes_);
  }
}

std::span<float> Mapping::numbers(std::uint64_t offset, std::uint64_t count) const {
  return {reinterpret_cast<float*>(static_cast<char*>(address_) + offset), count};
}

// ---- The writer's side --------------------------------------------------------------------------

std::shared_ptr<LentMemory> LentMemory::create(std::uint64_t numbers, std::size_t places) {
  Descriptor descriptor = make_memory();
  const std::uint64_t bytes = place_bytes(numbers) * places;
  if (::ftruncate(descriptor.number(), static_cast<off_t>(bytes)) != 0) {
    throw refused_by_system("ftruncate");
  }
  void* const address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.number(), 0);
  if (address == MAP_FAILED) {
    throw refused_by_system("mmap");
  }
  std::shared_ptr<LentMemory> memory(
      new LentMemory(std::move(descriptor), address, numbers, places));
  // Only after it is mapped: this mapping is the last one that can write.
  if (::fcntl(memory->descriptor(),
              F_ADD_SEALS,
              F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw refused_by_system("F_ADD_SEALS");
  }
  // A worker's memory is one place, and the server maps it only if its pages are there.
  const std::lock_guard lock(memory->mutex_);
  if (!memory->free_slot()) {
    throw refused_by_system("fallocate");
  }
  return memory;
}

LentMemory::LentMemory(Descriptor descriptor,
                       void* address,
                       std::uint64_t numbers,
                       std::size_t places)
    : descriptor_(std::move(descriptor)),
      numbers_max_(numbers),
      stride_(place_bytes(numbers)),
      mapping_(address, stride_ * places),
      slots_(places) {}

std::optional<std::size_t> LentMemory::free_slot() {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < slots_.size() && slots_[i].allocated; ++i) {
    if (slots_[i].lease.expired()) {
      if (slots_[i].published.expired()) {
        return i;  // Nobody can ask for what it holds.
      }
      found = found.value_or(i);
    }
  }
  if (found) {
    return found;
  }
  // A page that is missing when it is written would be a SIGBUS.
  const auto fresh =
      std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.allocated; });
  const auto index = static_cast<std::size_t>(fresh - slots_.begin());
  if (fresh == slots_.end() || !allocate(descriptor_, index * stride_, stride_)) {
    return std::nullopt;
  }
  fresh->allocated = true;
  return index;
}

std::shared_ptr<const void> LentMemory::lend(Slot& slot) {
  std::shared_ptr<const void> lease = std::make_shared<std::shared_ptr<void>>(shared_from_this());
  slot.lease = lease;
  return lease;
}

std::optional<Room> LentMemory::room(std::uint64_t numbers) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::size_t> index = free_slot();
  if (!index || numbers > numbers_max_) {
    return std::nullopt;
  }
  Slot& slot = slots_[*index];
  slot = {.allocated = true};
  return Room{mapping_.numbers(*index * stride_, numbers), lend(slot), shared_from_this()};
}

std::optional<LentMemory::Place> LentMemory::publish(const Payload& payload) {
  const std::span<const float> numbers = payload.numbers();
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.from == numbers.data() && slot.published.lock() == payload.keeper()) {
      std::shared_ptr<const void> lease = slot.lease.lock();
      return Place{i * stride_, lease ? std::move(lease) : lend(slot)};
    }
  }
  const std::optional<std::size_t> index = free_slot();
  if (!index || numbers.size() > numbers_max_) {
    return std::nullopt;
  }
  Slot& slot = slots_[*index];
  slot.published = payload.keeper();
  slot.from = numbers.data();
  std::memcpy(mapping_.numbers(*index * stride_, numbers.size()).data(),
              numbers.data(),
              numbers.size_bytes());
  return Place{*index * stride_, lend(slot)};
}

std::optional<LentMemory::Place> LentMemory::find(const Payload& payload) const {
  const auto* const first = reinterpret_cast<const char*>(mapping_.numbers(0, 0).data());
  const auto* const data = reinterpret_cast<const char*>(payload.numbers().data());
  const auto offset = static_cast<std::uint64_t>(data - first);
  if (data < first || offset >= bytes()) {
    return std::nullopt;
  }
  return Place{offset, payload.keeper()};
}

// ---- The reader's side --------------------------------------------------------------------------

std::shared_ptr<const BorrowedMemory> BorrowedMemory::map(const Descriptor& descriptor,
                                                          std::uint64_t bytes,
                                                          const Terms& terms) {
  if (bytes == 0 || bytes > terms.bytes_max) {
    throw refused("it lends " + std::to_string(bytes) + " bytes of memory, and at most " +
                  std::to_string(terms.bytes_max) + " are allowed");
  }
  if (descriptor.number() < 0) {
    throw refused("no descriptor came with its memory");
  }
  // Only a memfd of ordinary pages cannot run out of them.
  struct statfs system {};
  const int seals = ::fcntl(descriptor.number(), F_GET_SEALS);
  if (seals < 0 || ::fstatfs(descriptor.number(), &system) != 0 ||
      system.f_type != static_cast<decltype(system.f_type)>(TMPFS_MAGIC)) {
    throw refused("what it lends is no memory of its own");
  }
  if ((seals & F_SEAL_SHRINK) == 0) {
    throw refused("its memory is not sealed against shrinking");
  }
  if ((seals & (F_SEAL_FUTURE_WRITE | F_SEAL_WRITE)) == 0) {
    throw refused("its memory is not sealed against holes");
  }
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0 ||
      static_cast<std::uint64_t>(status.st_size) < bytes) {
    throw refused("its memory has fewer than the " + std::to_string(bytes) +
                  " bytes that it lends");
  }
  constexpr std::uint64_t kBlockBytes = 512;
  if (terms.pages == Pages::kAll &&
      static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes < bytes) {
    throw refused("its memory has holes: not all pages are allocated");
  }
  void* const address = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor.number(), 0);
  if (address == MAP_FAILED) {
    throw refused_by_system("mmap");
  }
  auto memory = std::make_shared<const BorrowedMemory>(address, bytes);
  // The blocks may lie beyond what is lent, and SEEK_HOLE cannot tell: to it, pages that are
  // allocated and were never written are holes. So each page is made to be there now, where a
  // failure is an error, and no SIGBUS while it is read.
  if (terms.pages == Pages::kAll && ::madvise(address, bytes, MADV_POPULATE_READ) != 0 &&
      errno != EINVAL) {  // Linux before 5.14 does not know it.
    throw refused("its memory has holes: not all pages can be allocated");
  }
  return memory;
}

std::span<const float> BorrowedMemory::numbers(std::uint64_t offset, std::uint64_t count) const {
  const std::uint64_t bytes = mapping_.bytes();
  if (offset % sizeof(float) != 0 || offset > bytes || count > (bytes - offset) / sizeof(float)) {
    throw refused("a payload of " + std::to_string(count) + " numbers at byte " +
                  std::to_string(offset) + " does not lie in the memory that it lends");
  }
  return mapping_.numbers(offset, count);
}

}  // namespace outpace::wire
