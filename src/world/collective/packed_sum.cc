#include "collective/packed_sum.h"

#include <algorithm>

#include "base/check.h"
#include "collective/parcel.h"

namespace outpace::collective {
namespace {

struct Part {
  std::size_t begin;
  std::size_t end;
};

// The numbers that a rank owns, in whole blocks: one scale is for the same numbers at all members.
Part part_of(std::size_t numbers, std::uint32_t rank, std::uint32_t size) {
  const std::size_t blocks = (numbers + compress::kBlock - 1) / compress::kBlock;
  const auto border = [&](std::size_t at) {
    return std::min(numbers, compress::kBlock * (blocks * at / size));
  };
  return {.begin = border(rank), .end = border(rank + std::size_t{1})};
}

std::size_t length_of(std::size_t numbers, std::uint32_t rank, std::uint32_t size) {
  const Part part = part_of(numbers, rank, size);
  return part.end - part.begin;
}

}  // namespace

PackedSum::PackedSum(const compress::Compression& compression, std::size_t numbers)
    : numbers_(numbers), feedback_(compression, numbers) {
  CHECK(compression.format.kind != compress::Kind::kNone);
}

std::span<float> PackedSum::part(std::span<float> numbers, std::uint32_t rank) const {
  const Part part = part_of(numbers.size(), rank, size_);
  return numbers.subspan(part.begin, part.end - part.begin);
}

void PackedSum::sum(const Terms& terms, std::uint32_t rank, std::uint32_t size, const Swap& swap) {
  CHECK(rank < size && terms.numbers.size() == numbers_);
  if (size == 1) {
    return;
  }
  size_ = size;
  sent_.resize(size);
  came_.resize(size);
  send_terms(terms, rank, swap);
  add_terms(terms, rank);
  send_sum(terms.numbers, rank, swap);
}

void PackedSum::send_terms(const Terms& terms, std::uint32_t rank, const Swap& swap) {
  const std::size_t own = part(terms.numbers, rank).size();
  const std::size_t exact = terms.exact.size();
  std::vector<std::span<const std::byte>> out(size_);
  std::vector<std::span<std::byte>> in(size_);
  for (std::uint32_t other = 0; other < size_; ++other) {
    if (other == rank) {
      continue;
    }
    const std::span<float> term = part(terms.numbers, other);
    sent_[other].resize(parcel_bytes(feedback_.format(), term.size(), exact));
    feedback_.pack(part_of(numbers_, other, size_).begin, term, packed_in(sent_[other], exact));
    seal(sent_[other], terms.exact);
    out[other] = sent_[other];
    came_[other].resize(parcel_bytes(feedback_.format(), own, exact));
    clear(came_[other]);
    in[other] = came_[other];
  }
  swap(out, in);
}

void PackedSum::add_terms(const Terms& terms, std::uint32_t rank) {
  const std::span<float> own = part(terms.numbers, rank);
  term_.resize(own.size());
  exact_.resize(terms.exact.size());
  std::vector<float> exact(terms.exact.size());
  for (std::uint32_t other = 0; other < size_; ++other) {  // In the same order everywhere.
    if (other == rank) {
      exact_.assign(terms.exact.begin(), terms.exact.end());
    } else {
      open(feedback_.format(), other, came_[other], term_, exact_);
      for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] += term_[i];
      }
    }
    for (std::size_t i = 0; i < exact.size(); ++i) {
      exact[i] += exact_[i];
    }
  }
  std::ranges::copy(exact, terms.exact.begin());
}

void PackedSum::send_sum(std::span<float> numbers, std::uint32_t rank, const Swap& swap) {
  const std::span<float> own = part(numbers, rank);
  std::vector<std::byte>& packed = sent_[rank];
  packed.resize(parcel_bytes(feedback_.format(), own.size()));
  feedback_.pack(part_of(numbers.size(), rank, size_).begin, own, packed_in(packed));
  seal(packed);
  std::vector<std::span<std::byte>> in(size_);
  for (std::uint32_t other = 0; other < size_; ++other) {
    if (other != rank) {
      came_[other].resize(parcel_bytes(feedback_.format(), part(numbers, other).size()));
      clear(came_[other]);
      in[other] = came_[other];
    }
  }
  swap(std::vector<std::span<const std::byte>>(size_, packed), in);
  for (std::uint32_t other = 0; other < size_; ++other) {
    open(feedback_.format(), other, other == rank ? packed : came_[other], part(numbers, other));
  }
}

protocol::Carried carried_by_sum(const compress::Format& format,
                                 std::size_t numbers,
                                 std::uint32_t rank,
                                 std::uint32_t size) {
  protocol::Carried carried{.payloads = 1};
  const std::size_t own = length_of(numbers, rank, size);
  const auto add = [&](std::size_t length) {
    carried.numbers += length;
    carried.bytes += format.kind == compress::Kind::kNone ? sizeof(float) * length
                                                          : parcel_bytes(format, length);
  };
  for (std::uint32_t other = 0; other < size; ++other) {
    if (other != rank) {
      add(length_of(numbers, other, size));  // A term,
      add(own);                              // and a sum.
    }
  }
  return carried;
}

}  // namespace outpace::collective
