// One connected Unix socket that carries records: the frame around packets, token and farewell.
//
// A record is its size and its kind, 32 bits each, little-endian, and then its bytes. The client
// begins with the token and goes on with packets; the server begins with an acceptance. Either side
// ends with a farewell that says why; nothing follows it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "live/descriptor.h"
#include "live/packets.h"

namespace outpace::live {

enum class RecordKind : std::uint32_t {
  kAuthentication = 1,  // The token.
  kAccepted = 2,
  kPacket = 3,
  kFarewell = 4,  // Why the stream ends; empty at an ordinary end.
  kRefused = 5,   // The token.
};

struct Record {
  RecordKind kind;
  std::string_view bytes;  // Until the next one is asked for.
};

// Threads: one, the stream's, calls next(); any calls the rest.
class UnixStream {
 public:
  explicit UnixStream(Descriptor socket);
  ~UnixStream();
  UnixStream(const UnixStream&) = delete;
  UnixStream& operator=(const UnixStream&) = delete;

  // Waits for the peer's next record, and meanwhile sends what send() could not. Returns nothing
  // when the connection is over, or after `timeout_ms` (-1: never). Throws an Error if the peer
  // announces a record of more than `bytes_max`, and keeps nothing of it.
  [[nodiscard]] std::optional<Record> next(std::size_t bytes_max, int timeout_ms);

  // Queues the message, and sends as much as the socket takes at once. After end(), or after the
  // connection broke, it drops the message.
  void send(const protocol::Message& message, Payload payload, More more);
  // Sends the first record. Messages wait until then.
  void begin(RecordKind kind, const std::string& bytes);
  // Queues the last record, behind everything else.
  void end(RecordKind kind, const std::string& why);
  // After end(): next() waits no longer for the peer, only until all is sent.
  void stop_reading();
  // next() returns nothing from now on.
  void abort();

 private:
  // Sends what there is. REQUIRES: mutex_ is held.
  void flush();
  // The pieces of the next record go to current_; false if there is none.
  bool take_next_record();
  // Removes `bytes` bytes that sendmsg() took.
  void forget_sent(std::size_t bytes);
  void wake();
  // The next whole record of what was received.
  [[nodiscard]] std::optional<Record> parse(std::size_t bytes_max);
  // False when the peer is gone.
  bool receive();

  const Descriptor socket_;
  const Descriptor waker_;
  // Of the stream's thread: what was received and not parsed, received_[begin_..end_).
  std::unique_ptr<char[]> received_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t wanted_ = 0;  // Bytes of the record that begins there, with its head.
  // State below is guarded by mutex_.
  std::mutex mutex_;
  PacketWriter writer_;
  std::deque<Piece> current_;      // Of records that have been begun.
  std::size_t sent_of_first_ = 0;  // Of current_'s first piece.
  std::optional<Piece> farewell_;
  bool begun_ = false;
  bool blocked_ = false;  // The socket takes no more; next() waits for it.
  bool ended_ = false;
  bool broken_ = false;
  bool reads_ = true;
  bool aborted_ = false;
};

}  // namespace outpace::live
