#include "wire/record_stream.h"

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>

namespace outpace::wire {
namespace {

using namespace std::chrono_literals;

// A peer that reads a byte, then nothing, then a byte, and so on.
class ByteByByte final : public ByteStream {
 public:
  ByteByByte(Descriptor socket, std::size_t& read) : ByteStream(std::move(socket)), read_(read) {}

  [[nodiscard]] Transfer send(std::span<const iovec> /*parts*/) override {
    if (std::exchange(reads_, !reads_)) {
      ++read_;
      return {.moved = Moved::kSome, .bytes = 1};
    }
    return {.moved = Moved::kBlocked};
  }
  [[nodiscard]] Transfer receive(std::span<const iovec> /*parts*/) override {
    return {.moved = Moved::kBlocked};
  }

 private:
  std::size_t& read_;
  bool reads_ = false;
};

TEST(RecordStream, APeerThatReadsByteByByteIsNotWaitedForToTheEnd) {
  constexpr std::size_t kNumbers = 50'000'000;  // Minutes, by bytes.
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Descriptor peer(ends[1]);
  std::size_t read = 0;
  RecordStream stream(std::make_unique<ByteByByte>(Descriptor(ends[0]), read), {});
  stream.send(protocol::InitialWeights{},
              std::make_shared<const std::vector<float>>(kNumbers),
              More::kNone);
  stream.end("");
  stream.linger(20ms);
  EXPECT_GT(read, 0U);
  EXPECT_LT(read, kNumbers * sizeof(float));
}

}  // namespace
}  // namespace outpace::wire
