// Tested by src/world/wire/rude_client_test.cc.

#include "wire/record_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/address.h"

namespace outpace::wire {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kFirstCapacity = std::size_t{1} << 16U;
constexpr std::size_t kPiecesAtOnce = 64;
// Records are made as long as there is less than this to send.
constexpr std::size_t kEnoughBytes = std::size_t{1} << 18U;
// As much as the system lets a socket hold; what it does not take waits here.
constexpr int kSendBufferBytes = 1 << 22;
// Records of sharing that may wait for a peer that does not read.
constexpr std::size_t kControlsMax = 256;

}  // namespace

RecordStream::RecordStream(std::unique_ptr<ByteStream> bytes, StreamOptions options)
    : bytes_(std::move(bytes)),
      checksums_(bytes_->sealed() ? Checksums::kNone : Checksums::kCrc32c),
      unread_max_(options.unread_max),
      lender_(options.sharing.lender),
      progress_(std::move(options.progress)),
      waker_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      received_(new char[kFirstCapacity]),
      capacity_(kFirstCapacity),
      reader_(progress_ != nullptr, std::move(options.kept)),
      writer_(checksums_, std::move(options.packer), std::move(options.traffic)),
      sharing_(std::move(options.sharing)) {
  if (waker_.number() < 0) {
    throw Error(ExitCode::kFailure, std::string("eventfd: ") + std::strerror(errno));
  }
  bytes_->accept_descriptors();
  ::setsockopt(
      bytes_->number(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
}

RecordStream::~RecordStream() = default;

std::string RecordStream::why() {
  const std::lock_guard lock(mutex_);
  return why_;
}

// ---- Sending ------------------------------------------------------------------------------------

void RecordStream::send(const protocol::Message& message, Payload payload, More more) {
  std::unique_lock lock(mutex_);
  if (ended_ || broken_) {
    return;
  }
  auto place = place_of(message, payload);
  writer_.add(message, std::move(payload), std::move(place));
  queue_controls();
  if (more == More::kNone) {
    flush();
  }
  if (writer_.messages() > unread_max_.messages || writer_.payloads() > unread_max_.payloads) {
    why_ = "it does not read: " + std::to_string(writer_.messages()) + " messages wait for it, " +
           std::to_string(writer_.payloads()) + " of them with numbers";
    stop();
  }
  const std::string warning = sharing_.take_warning();
  lock.unlock();
  warn(warning);
}

std::optional<LentMemory::Place> RecordStream::place_of(const protocol::Message& message,
                                                        const Payload& payload) {
  const bool slice = std::holds_alternative<protocol::Slice>(message);
  const bool end = std::holds_alternative<protocol::Push>(message) ||
                   std::holds_alternative<protocol::Abandoned>(message);
  const bool sliced = slice || (end && slicing_);
  slicing_ = slice || (slicing_ && !end);
  return sliced || writer_.packs(message, payload) ? std::nullopt
                                                   : sharing_.place(payload, writer_.unreturned());
}

void RecordStream::warn(const std::string& why) const {
  if (lender_ && !why.empty()) {
    lender_->warn(why);
  }
}

std::optional<Room> RecordStream::room(std::uint64_t numbers) {
  const std::lock_guard lock(mutex_);
  return sharing_.room(numbers);
}

bool RecordStream::may_share() {
  const std::lock_guard lock(mutex_);
  return sharing_.may_share();
}

void RecordStream::queue_controls() {
  for (Sharing::Control& control : sharing_.take_controls()) {
    current_.emplace_back(encode_head(control.kind, control.body, checksums_) + control.body,
                          std::move(control.memory));
    ++controls_;
  }
  if (controls_ > kControlsMax) {
    why_ = "it does not read: " + std::to_string(controls_) + " records wait for it";
    stop();
  }
}

void RecordStream::queue_farewell(const std::string& why) {
  if (!std::exchange(ended_, true)) {
    farewell_.emplace(encode_head(RecordKind::kFarewell, why, checksums_) + why);
    flush();
  }
}

void RecordStream::finish(const std::string& why) {
  const std::lock_guard lock(mutex_);
  queue_farewell(why);
}

void RecordStream::end(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    queue_farewell(why);
    reads_ = false;
  }
  wake();
}

void RecordStream::abort() {
  const std::lock_guard lock(mutex_);
  stop();
}

void RecordStream::stop() {
  ended_ = true;
  reads_ = false;
  break_off();
  bytes_->shut();
  wake();
}

void RecordStream::break_off() {
  broken_ = true;
  blocked_ = false;
  writer_.clear();
  current_.clear();
  controls_ = 0;
  farewell_.reset();
  sent_of_first_ = 0;
}

void RecordStream::flush() {
  if (broken_) {
    return;
  }
  blocked_ = false;
  while (!current_.empty() || take_next_record()) {
    const Transfer sent = send_some();
    if (sent.moved == Moved::kSome) {
      forget_sent(sent.bytes);
    } else if (sent.moved == Moved::kBlocked) {
      blocked_ = true;
      wake();
      return;
    } else {
      break_off();  // The peer is gone. It may have said why: reading will tell.
    }
  }
}

Transfer RecordStream::send_some() {
  std::array<iovec, kPiecesAtOnce> parts{};
  std::size_t count = 0;
  while (count < std::min(current_.size(), parts.size())) {
    const Piece& piece = current_[count];
    if (count > 0 && piece.memory() != nullptr) {
      break;  // Its descriptor goes with its first byte.
    }
    const std::string_view bytes = piece.view().substr(count == 0 ? sent_of_first_ : 0);
    // Not const only because the same structure serves to receive.
    parts.at(count) = {.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
    ++count;
  }
  const std::span<const iovec> some = std::span(parts).first(count);
  const LentMemory* const memory = sent_of_first_ == 0 ? current_.front().memory() : nullptr;
  return memory == nullptr ? bytes_->send(some) : bytes_->send_with(some, memory->descriptor());
}

bool RecordStream::take_next_record() {
  std::size_t bytes = 0;
  while (!writer_.empty() && bytes < kEnoughBytes) {
    bytes += writer_.next(current_);
  }
  if (writer_.empty() && farewell_) {
    current_.push_back(*std::exchange(farewell_, std::nullopt));
  }
  return !current_.empty();
}

void RecordStream::forget_sent(std::size_t bytes) {
  sent_of_first_ += bytes;
  sent_bytes_ += bytes;
  while (!current_.empty() && sent_of_first_ >= current_.front().view().size()) {
    sent_of_first_ -= current_.front().view().size();
    controls_ -= current_.front().control() ? 1U : 0U;
    current_.pop_front();
  }
}

void RecordStream::wake() {
  const std::uint64_t one = 1;
  // It fails only if it is awake already.
  [[maybe_unused]] const ssize_t written = ::write(waker_.number(), &one, sizeof(one));
}

// ---- Receiving ----------------------------------------------------------------------------------

std::optional<RecordStream::Next> RecordStream::next(
    std::optional<steady_clock::time_point> until) {
  while (true) {
    bool blocked = false;
    {
      const std::lock_guard lock(mutex_);
      if (!reads_) {
        return std::nullopt;
      }
      blocked = blocked_;
    }
    if (auto next = parse()) {
      return next;
    }
    const bool readable =
        bytes_->pending() || wait(blocked, until ? milliseconds_until(*until) : -1);
    if (until && steady_clock::now() >= *until) {
      throw Error(ExitCode::kFailure, "it said nothing for too long");
    }
    if (readable && receive() == Moved::kGone) {
      return std::nullopt;
    }
  }
}

void RecordStream::linger(std::chrono::milliseconds patience) {
  const auto last = steady_clock::now() + kLingerMost * patience;
  auto deadline = steady_clock::now() + patience;
  bool told = false;
  begin_ = end_ = 0;
  while (steady_clock::now() < std::min(deadline, last)) {
    bool blocked = false;
    {
      const std::lock_guard lock(mutex_);
      if (broken_) {
        return;
      }
      blocked = blocked_;
    }
    if (!blocked && !std::exchange(told, true)) {
      bytes_->end_sending();
      deadline = steady_clock::now() + patience;
    }
    const std::uint64_t before = sent_bytes_;
    const bool readable = bytes_->pending() || wait(blocked, milliseconds_until(deadline));
    if (sent_bytes_ != before) {
      deadline = steady_clock::now() + patience;
    }
    const iovec part{.iov_base = received_.get(), .iov_len = capacity_};
    if (readable && bytes_->receive({&part, 1}).moved == Moved::kGone) {
      return;
    }
  }
}

bool RecordStream::wait(bool writes, int timeout_ms) {
  std::array<pollfd, 2> wait = {
      pollfd{.fd = bytes_->number(), .events = bytes_->awaited(writes), .revents = 0},
      pollfd{.fd = waker_.number(), .events = POLLIN, .revents = 0}};
  if (::poll(wait.data(), wait.size(), timeout_ms) == 0) {
    return false;
  }
  if ((wait[1].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = ::read(waker_.number(), &count, sizeof(count));
  }
  const short found = bytes_->found(wait[0].revents);
  if ((found & POLLOUT) != 0) {
    const std::lock_guard lock(mutex_);
    flush();
  }
  return (found & (POLLIN | POLLERR | POLLHUP)) != 0;
}

std::optional<RecordStream::Next> RecordStream::parse() {
  while (true) {
    if (!head_) {
      if (buffered() < kHeadBytes) {
        return std::nullopt;
      }
      head_ = decode_head(std::span<const char, kHeadBytes>(received_.get() + begin_, kHeadBytes),
                          checksums_);
      begin_ += kHeadBytes;
      if (head_->kind == RecordKind::kNumbers) {
        room_ = reader_.room(head_->bytes);
        filled_ = 0;
      }
    }
    const bool numbers = head_->kind == RecordKind::kNumbers;
    if (!(numbers ? fill_room() : buffered() >= head_->bytes)) {
      return std::nullopt;
    }
    if (auto next = numbers ? end_numbers() : end_text()) {
      return next;
    }
  }
}

bool RecordStream::fill_room() {
  const std::size_t step = std::min(buffered(), room_.size() - filled_);
  std::memcpy(room_.data() + filled_, received_.get() + begin_, step);
  begin_ += step;
  filled_ += step;
  return filled_ == room_.size();
}

std::optional<RecordStream::Next> RecordStream::end_numbers() {
  check({room_.data(), room_.size()}, *std::exchange(head_, std::nullopt));
  room_ = {};
  filled_ = 0;
  auto received = reader_.filled();
  if (const auto arrived = reader_.take_arrived()) {
    progress_(*arrived);
  }
  if (received) {
    return std::move(*received);
  }
  return std::nullopt;
}

std::optional<RecordStream::Next> RecordStream::end_text() {
  const RecordHead head = *std::exchange(head_, std::nullopt);
  const std::string_view body(received_.get() + begin_, head.bytes);
  begin_ += head.bytes;
  check(body, head);
  switch (head.kind) {
    case RecordKind::kFarewell:
      return Farewell{printable(body)};
    case RecordKind::kMessage:
      if (auto received = reader_.take(body, authorised_)) {
        return std::move(*received);
      }
      return std::nullopt;
    case RecordKind::kPlace:
      return take_place(body);
    default:
      take_control(head.kind, body);
      return std::nullopt;
  }
}

Received RecordStream::take_place(std::string_view body) {
  const std::uint64_t numbers = reader_.announced();
  Sharing::Read read = sharing_.read(decode_number(body), numbers);
  return reader_.complete(std::move(read.numbers), read.squares);
}

void RecordStream::take_control(RecordKind kind, std::string_view body) {
  std::unique_lock lock(mutex_);
  if (kind == RecordKind::kMemory) {
    sharing_.borrow(bytes_->take_descriptor(), decode_number(body), authorised_);
  } else if (kind == RecordKind::kReturned) {
    writer_.returned(decode_number(body));
  } else {
    sharing_.answered(printable(body));
  }
  if (!ended_) {
    queue_controls();
    flush();
  }
  const std::string warning = sharing_.take_warning();
  lock.unlock();
  warn(warning);
}

void RecordStream::check(std::string_view body, const RecordHead& head) const {
  if (checksums_ == Checksums::kCrc32c && crc32c(body) != head.checksum) {
    throw Error(ExitCode::kFailure, "a record was changed on the way: its checksum is another");
  }
}

Moved RecordStream::receive() {
  make_space();
  // All numbers that are missing go to their place, and no more than the next head behind them.
  const bool numbers = !room_.empty();
  const std::size_t space = capacity_ - end_;
  const std::array<iovec, 2> parts = {
      iovec{.iov_base = room_.data() + filled_, .iov_len = room_.size() - filled_},
      iovec{.iov_base = received_.get() + end_,
            .iov_len = reader_.more_numbers() ? std::min(space, kHeadBytes) : space}};
  const Transfer transfer = bytes_->receive(std::span(parts).subspan(numbers ? 0 : 1));
  const std::size_t into_room = std::min(transfer.bytes, room_.size() - filled_);
  filled_ += into_room;
  end_ += transfer.bytes - into_room;
  return transfer.moved;
}

// Room for the record that has begun, or for a head.
void RecordStream::make_space() {
  const bool text = head_ && head_->kind != RecordKind::kNumbers;
  const std::size_t wanted = text ? head_->bytes : kHeadBytes;
  if (begin_ == end_) {
    begin_ = end_ = 0;
  }
  // One long message shall not cost its memory for the rest of the connection.
  const bool too_large = capacity_ > kFirstCapacity && end_ == 0 && wanted <= kFirstCapacity;
  if (!too_large && begin_ + wanted <= capacity_ && end_ < capacity_) {
    return;
  }
  const std::size_t capacity = std::max(kFirstCapacity, wanted);
  std::unique_ptr<char[]> fresh(new char[capacity]);
  std::memcpy(fresh.get(), received_.get() + begin_, buffered());
  received_ = std::move(fresh);
  capacity_ = capacity;
  end_ -= begin_;
  begin_ = 0;
}

}  // namespace outpace::wire
