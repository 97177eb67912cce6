// One stream of bytes over several connections between the same two sides: a bundle.
//
// On a long link, one connection sends no more than its congestion window each round trip, and
// halves it at every loss; several have several windows. Each piece of the stream (a chunk) goes to
// a connection that takes it; the other side puts the chunks in order. How fast a connection may
// send, and how much it holds, is the kernel's. A connection that is lost goes: what it carried and
// did not deliver goes again over those that are left, and the stream ends with the last of them.
//
// Frames: bundle_chunks.h. Threads: as ByteStream has it; add() and lanes() are for any.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/time.h"
#include "wire/bundle_chunks.h"
#include "wire/byte_stream.h"
#include "wire/options.h"

namespace outpace::wire {

// How many connections a link of this round trip is given, if nobody says: docs/thin-links.md has
// the measurements.
[[nodiscard]] std::size_t lanes_for(Duration round_trip);

class Bundle final : public ByteStream {
 public:
  // `first`: over which both sides know each other.
  explicit Bundle(std::unique_ptr<ByteStream> first);
  ~Bundle() override;

  // One connection more, over which both sides know each other. It is closed if there are as many
  // as may be, or if the bundle has ended.
  void add(std::unique_ptr<ByteStream> stream);
  // Connections that are not lost.
  [[nodiscard]] std::size_t lanes() const;

  [[nodiscard]] Transfer send(std::span<const iovec> parts) override;
  [[nodiscard]] Transfer receive(std::span<const iovec> parts) override;
  [[nodiscard]] bool pending() const override;
  [[nodiscard]] bool sealed() const override { return sealed_; }
  [[nodiscard]] short awaited(bool sends) const override;
  [[nodiscard]] short found(short events) override;
  void end_sending() override;
  void shut() override;
  [[nodiscard]] bool hung_up() const override;

 private:
  struct Outgoing {
    std::array<char, kFrameHeadBytes> head{};
    std::shared_ptr<const std::string> chunk = nullptr;  // Null: the head is all.
    std::size_t sent = 0;
  };
  struct Connection {
    Lane lane;
    std::unique_ptr<ByteStream> stream;
    std::deque<Outgoing> out = {};  // What the socket has not taken.
    // What has come of the next frame.
    std::array<char, kFrameHeadBytes> head_bytes = {};
    std::size_t head_have = 0;
    std::optional<FrameHead> head = std::nullopt;
    std::string chunk = {};
    std::size_t chunk_have = 0;
    bool heard = false;  // A frame came: the other side has it in its bundle, too.
    bool ended = false;  // The other side has said that it sends no more here.
    bool waits = false;  // To be told when the socket takes more.
  };
  using Connections = std::list<Connection>;

  void watch_socket(int socket, Lane lane) const;
  // All below REQUIRE: mutex_ is held.
  [[nodiscard]] bool is_to_tell() const;
  [[nodiscard]] bool has_room() const;
  // Connections that have nothing to send and whose sockets take some.
  [[nodiscard]] std::deque<Connections::iterator> free_now();
  // Sends what waits: rests, what goes again, and how much was taken.
  void go_on();
  void put(Connections::iterator connection, FrameHead head, const Chunk* chunk);
  void put_taken();
  // False if the connection was lost by it.
  bool drain(Connections::iterator connection);
  void read(Connections::iterator connection);
  // As far as one call of the system goes.
  [[nodiscard]] Moved read_some(Connection& connection);
  void take(Connection& connection);
  void lose(Connections::iterator connection);
  void ring() const;
  // Asks to be told when sockets of interest take more.
  void watch();

  const bool sealed_;
  const Descriptor bell_;  // Wakes the receiver for what no socket shows.
  mutable std::mutex mutex_;
  Connections connections_;
  Lane next_lane_ = 0;
  Lane last_used_ = 0;  // The next chunk goes to another, if one is free.
  SentChunks sent_;
  ArrivedChunks arrived_;
  std::uint64_t told_ = 0;  // The other side knows that so much was taken.
  bool blocked_ = false;    // send() took less than all.
  bool over_ = false;       // Shut, or its sending has ended.
};

}  // namespace outpace::wire
