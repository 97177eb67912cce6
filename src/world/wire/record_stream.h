// One connection between two sides that know each other: messages in, messages out.
//
// A thread that sends writes to the socket itself, as much as it takes at once; what it does not
// take waits, and the stream's thread sends it. Numbers go from the payload to the socket, and from
// the socket to the payload, without a stop in between; or they lie in memory that both sides share
// (sharing.h), and only their place is sent.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "wire/byte_stream.h"
#include "wire/descriptor.h"
#include "wire/record_reader.h"
#include "wire/records.h"
#include "wire/sharing.h"
#include "wire/transport.h"

namespace outpace::wire {

struct StreamOptions {
  UnreadMax unread_max{};
  SharingOptions sharing{};
  // As ConnectOptions has them; null: every payload is delivered whole, and memory for it comes
  // from the C library.
  std::function<void(std::uint64_t)> progress = nullptr;
  std::shared_ptr<KeptNumbers> kept = nullptr;
  // As RecordWriter has them.
  std::shared_ptr<WeightsPacker> packer = nullptr;
  std::shared_ptr<TrafficCount> traffic = nullptr;
};

// Threads: one, the stream's, calls next() and linger(); any calls the rest.
class RecordStream {
 public:
  // REQUIRES: the handshake is over.
  RecordStream(std::unique_ptr<ByteStream> bytes, StreamOptions options);
  ~RecordStream();
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  // The peer's last words; nothing comes after them.
  struct Farewell {
    std::string why;  // Empty at an ordinary end.
  };
  using Next = std::variant<Received, Farewell>;
  // Waits for the peer's next message, and meanwhile sends what send() could not. Returns nothing
  // when the connection is over. Throws an Error that says how the peer broke the rules, or that
  // nothing was whole `until` then.
  [[nodiscard]] std::optional<Next> next(
      std::optional<std::chrono::steady_clock::time_point> until = std::nullopt);
  // After end(): sends the rest, and waits until the peer has ended too, at most `patience` since
  // it read something, and kLingerMost times that in all. If the socket were closed at once, what
  // the peer has not read yet would be lost.
  static constexpr int kLingerMost = 30;
  void linger(std::chrono::milliseconds patience);
  // Why next() returned nothing.
  [[nodiscard]] std::string why();

  // Queues the message, and sends as much as the socket takes at once. After end(), or after the
  // connection broke, it drops the message. Breaks the connection if more than `unread_max` waits.
  void send(const protocol::Message& message, Payload payload, More more);
  // Room for a payload where the peer reads it; nothing if there is no such.
  [[nodiscard]] std::optional<Room> room(std::uint64_t numbers);
  // Whether payloads lie, or may come to lie, in memory that both sides share.
  [[nodiscard]] bool may_share();
  // The largest payload, in numbers, that the peer may send from now on.
  void authorise(std::uint64_t numbers) { authorised_ = numbers; }
  // Queues the farewell, behind everything else; next() returns nothing from now on.
  void end(const std::string& why);
  // As end(), but next() goes on with what the peer still sends.
  void finish(const std::string& why);
  // next() returns nothing from now on, and nothing is sent.
  void abort();
  // From any thread: whether the peer has ended; what it sent before may not have come.
  [[nodiscard]] bool hung_up() const { return bytes_->hung_up(); }
  // The socket, to be told of what comes.
  [[nodiscard]] int number() const { return bytes_->number(); }

 private:
  // Where the payload lies for the peer to read; nothing if it is sent. A gradient is not divided
  // between the two. REQUIRES: mutex_ is held.
  [[nodiscard]] std::optional<LentMemory::Place> place_of(const protocol::Message& message,
                                                          const Payload& payload);
  // Sends what there is. REQUIRES: mutex_ is held.
  void flush();
  // The pieces of the next record go to current_; false if there is none.
  bool take_next_record();
  // Sends what current_ begins with, as much as goes at once.
  [[nodiscard]] Transfer send_some();
  // The records of sharing_ go behind what has been begun. REQUIRES: mutex_ is held.
  void queue_controls();
  // Tells the transport why nothing is shared, if there is news. REQUIRES: mutex_ is not held,
  // because who is told may send something.
  void warn(const std::string& why) const;
  // Removes `bytes` bytes that the socket took.
  void forget_sent(std::size_t bytes);
  // Nothing is sent any more. REQUIRES: mutex_ is held.
  void break_off();
  // Nothing is sent or read any more. REQUIRES: mutex_ is held.
  void stop();
  void queue_farewell(const std::string& why);
  void wake();
  // What the received bytes say next, if it is whole.
  [[nodiscard]] std::optional<Next> parse();
  // Moves received bytes to their place among the numbers; whether the record is whole.
  [[nodiscard]] bool fill_room();
  // Ends a record that is whole, and returns what it completes.
  [[nodiscard]] std::optional<Next> end_numbers();
  [[nodiscard]] std::optional<Next> end_text();
  // A record of sharing.h's that is not a place.
  void take_control(RecordKind kind, std::string_view body);
  [[nodiscard]] Received take_place(std::string_view body);
  void check(std::string_view body, const RecordHead& head) const;
  [[nodiscard]] Moved receive();
  void make_space();
  [[nodiscard]] std::size_t buffered() const { return end_ - begin_; }
  // Sends, and waits until there is something to receive; false if there is nothing now.
  [[nodiscard]] bool wait(bool writes, int timeout_ms);

  const std::unique_ptr<ByteStream> bytes_;
  const Checksums checksums_;
  const UnreadMax unread_max_;
  const std::shared_ptr<Lender> lender_;
  const std::function<void(std::uint64_t)> progress_;
  const Descriptor waker_;
  std::atomic<std::uint64_t> authorised_{0};
  std::atomic<std::uint64_t> sent_bytes_{0};
  // The stream's thread's: what was received and not parsed, received_[begin_..end_).
  std::unique_ptr<char[]> received_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  RecordReader reader_;
  std::optional<RecordHead> head_;  // Its body has not come whole.
  std::span<char> room_;            // Where numbers go.
  std::size_t filled_ = 0;          // Bytes of it.
  // State below is guarded by mutex_.
  std::mutex mutex_;
  RecordWriter writer_;
  bool slicing_ = false;           // Slices were queued, and not the push that completes them.
  Sharing sharing_;                // Its read() is the stream's thread's.
  std::size_t controls_ = 0;       // Records of sharing_ in current_.
  std::deque<Piece> current_;      // Records that have been begun.
  std::size_t sent_of_first_ = 0;  // Bytes of current_'s first piece.
  std::optional<Piece> farewell_;
  std::string why_ = "the connection was lost";
  bool blocked_ = false;  // The socket takes no more; next() waits for it.
  bool ended_ = false;
  bool broken_ = false;
  bool reads_ = true;
};

}  // namespace outpace::wire
