#include "collective/packed_sum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "collective/parcel.h"
#include "collective/swap_test.h"
#include "compress/pack.h"

namespace outpace::collective {
namespace {

using compress::Compression;

std::vector<float> drawn(std::size_t numbers, std::uint64_t seed) {
  Rng rng(seed, 0);
  std::vector<float> found(numbers);
  for (float& number : found) {
    number = static_cast<float>(rng.normal());
  }
  return found;
}

// The members of a ring, who keep what packing left behind from sum to sum.
class Members {
 public:
  Members(const std::string& spec, std::uint32_t size, std::size_t numbers) {
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      sums_.push_back(std::make_unique<PackedSum>(Compression::parse(spec), numbers));
    }
  }

  // The sum of the first terms.size() members, as each has it.
  std::vector<std::vector<float>> sum(std::vector<std::vector<float>> terms) {
    const auto size = static_cast<std::uint32_t>(terms.size());
    SwapInMemory memory(size);
    memory.each_rank([&](std::uint32_t rank, const Swap& swap) {
      sums_[rank]->sum({.numbers = terms[rank]}, rank, size, swap);
    });
    sent_ = memory.sent();
    return terms;
  }
  void accepted(bool counts) {
    for (const auto& sum : sums_) {
      counts ? sum->accepted() : sum->given_up();
    }
  }
  [[nodiscard]] double left_at(std::size_t number) const {
    double left = 0.0;
    for (const auto& sum : sums_) {
      left += static_cast<double>(sum->left()[number]);
    }
    return left;
  }
  [[nodiscard]] std::size_t sent_by_first() const { return sent_; }

 private:
  std::vector<std::unique_ptr<PackedSum>> sums_;
  std::size_t sent_ = 0;
};

std::vector<std::vector<float>> terms_of(std::uint32_t size,
                                         std::size_t numbers,
                                         std::uint64_t seed) {
  std::vector<std::vector<float>> terms;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    terms.push_back(drawn(numbers, seed * 100 + rank));
  }
  return terms;
}

double plain_sum(const std::vector<std::vector<float>>& terms, std::size_t number) {
  double sum = 0.0;
  for (const std::vector<float>& term : terms) {
    sum += static_cast<double>(term[number]);
  }
  return sum;
}

TEST(PackedSum, AllMembersEndWithTheSameBits) {
  for (const std::string spec :
       {"bf16", "fp16", "int8", "int4", "topk:share=0.1", "int8:feedback=0"}) {
    for (const std::uint32_t size : {2U, 3U, 4U}) {
      for (const std::size_t numbers : {1U, 63U, 64U, 130U, 9000U}) {
        SCOPED_TRACE(spec + " " + std::to_string(size) + " " + std::to_string(numbers));
        const auto found = Members(spec, size, numbers).sum(terms_of(size, numbers, 7));
        for (const std::vector<float>& sum : found) {
          EXPECT_EQ(sum, found.front());
        }
      }
    }
  }
}

// A number of a block differs from what is packed of it by half of the block's scale at most, which
// is a 127th of its peak, or a 128th more as a bf16.
TEST(PackedSum, IsOffByTheRoundingOfEachTermAndOfTheSum) {
  constexpr std::size_t kNumbers = 1000;
  const auto peak = [](const std::vector<float>& of, std::size_t number) {
    const std::size_t begin = number / compress::kBlock * compress::kBlock;
    double most = 0.0;
    for (std::size_t i = begin; i < std::min(begin + compress::kBlock, of.size()); ++i) {
      most = std::max(most, std::abs(static_cast<double>(of[i])));
    }
    return most;
  };
  const auto levels = [](const std::string& spec) { return spec == "int8" ? 127.0 : 7.0; };
  for (const std::string spec : {"int8", "int4"}) {
    for (const std::uint32_t size : {2U, 4U}) {
      const auto terms = terms_of(size, kNumbers, 3);
      const auto found = Members(spec, size, kNumbers).sum(terms);
      double worst = 0.0;
      for (std::size_t number = 0; number < kNumbers; ++number) {
        double peaks = peak(found.front(), number) * (1.0 + 1.0 / levels(spec));
        for (const std::vector<float>& term : terms) {
          peaks += peak(term, number);
        }
        const double bound = peaks * (1.0 + 1.0 / 128) / (2.0 * levels(spec));
        const double off =
            std::abs(static_cast<double>(found.front()[number]) - plain_sum(terms, number));
        EXPECT_LE(off, bound) << spec << " number " << number;
        worst = std::max(worst, off / bound);
      }
      EXPECT_GT(worst, 0.1) << "the bound says nothing";
    }
  }
}

TEST(PackedSum, SumsAndWhatIsLeftAreAllThatCounted) {
  constexpr std::size_t kNumbers = 5000;
  for (const std::string spec : {"bf16", "int8", "int4", "topk:share=0.05,bits=4"}) {
    SCOPED_TRACE(spec);
    Members members(spec, 4, kNumbers);
    std::vector<double> counted(kNumbers);
    std::vector<double> summed(kNumbers);
    Rng rng(11, 0);
    for (std::uint64_t round = 0; round < 40; ++round) {
      // Members die and come, so that others own a number than before.
      const std::uint32_t size = 2 + static_cast<std::uint32_t>(rng.below(3));
      const auto terms = terms_of(size, kNumbers, 1000 + round);
      const auto found = members.sum(terms);
      const bool counts = rng.below(3) > 0;
      members.accepted(counts);
      for (std::size_t number = 0; counts && number < kNumbers; ++number) {
        counted[number] += plain_sum(terms, number);
        summed[number] += static_cast<double>(found.front()[number]);
      }
    }
    for (std::size_t number = 0; number < kNumbers; ++number) {
      ASSERT_NEAR(summed[number] + members.left_at(number), counted[number], 1e-4) << number;
    }
  }
}

TEST(PackedSum, OneMemberAloneKeepsItsNumbers) {
  const auto terms = terms_of(1, 100, 5);
  EXPECT_EQ(Members("int4", 1, 100).sum(terms), terms);
}

TEST(PackedSum, WhatIsSentIsWhatIsCounted) {
  for (const std::string spec : {"bf16", "int8", "topk:share=0.01,bits=2"}) {
    Members members(spec, 3, 10'000);
    (void)members.sum(terms_of(3, 10'000, 5));
    const auto carried = carried_by_sum(Compression::parse(spec).format, 10'000, 0, 3);
    EXPECT_EQ(carried.bytes, members.sent_by_first());
  }
  std::uint64_t numbers = 0;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto plain = carried_by_sum({}, 1001, rank, 4);
    EXPECT_EQ(plain.bytes, 4 * plain.numbers);
    numbers += plain.numbers;
  }
  EXPECT_EQ(numbers, 2U * 3 * 1001);  // 2 (W - 1) times each number.
}

TEST(PackedSum, ExactNumbersAreNotRounded) {
  constexpr std::uint32_t kSize = 3;
  SwapInMemory memory(kSize);
  std::vector<std::vector<float>> found(kSize);
  memory.each_rank([&](std::uint32_t rank, const Swap& swap) {
    std::vector<float> numbers(100, 1.0F);
    std::vector<float> exact{0.1F * static_cast<float>(rank), 1e6F + static_cast<float>(rank)};
    PackedSum(Compression::parse("int4"), 100)
        .sum({.numbers = numbers, .exact = exact}, rank, kSize, swap);
    found[rank] = exact;
  });
  EXPECT_EQ(found[0], (std::vector<float>{0.1F + 0.2F, 3'000'003.0F}));
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
}

TEST(PackedSum, NumbersThatAreNotFiniteReachEverybody) {
  auto terms = terms_of(3, 200, 5);
  terms[1][150] = std::numeric_limits<float>::quiet_NaN();
  for (const std::string spec : {"bf16", "int8", "topk"}) {
    for (const std::vector<float>& sum : Members(spec, 3, 200).sum(terms)) {
      EXPECT_TRUE(std::ranges::any_of(sum, [](float one) { return !std::isfinite(one); })) << spec;
    }
  }
}

// The test is rank 1 of two, and sends these bytes as its packed term.
std::vector<float> beside(const std::string& spec,
                          const std::function<void(std::span<std::byte>)>& sends) {
  constexpr std::size_t kNumbers = 128;
  std::vector<float> numbers(kNumbers, 1.0F);
  PackedSum sum(Compression::parse(spec), kNumbers);
  int swaps = 0;
  sum.sum({.numbers = numbers}, 0, 2, [&](const auto& /*out*/, const auto& in) {
    if (swaps++ == 0) {
      sends(in[1]);
    } else {
      const auto nothing = packed_in(in[1]);
      compress::pack(Compression::parse(spec).format, std::vector<float>(64), nothing);
      seal(in[1]);
    }
  });
  return numbers;
}

void expect_refused(const std::string& spec,
                    const std::function<void(std::span<std::byte>)>& sends,
                    const std::string& why) {
  try {
    (void)beside(spec, sends);
    FAIL() << "it took what it cannot use";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("the worker in place 1"), std::string::npos) << what;
    EXPECT_NE(what.find(why), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

TEST(PackedSum, BytesThatAreNoPackedNumbersAreRefused) {
  const auto format = Compression::parse("int8").format;
  expect_refused(
      "int8", [](std::span<std::byte>) {}, "checksum differs");  // Too few came.
  expect_refused(
      "int8",
      [&](std::span<std::byte> parcel) {
        compress::pack(format, std::vector<float>(64, 1.0F), packed_in(parcel));
        seal(parcel);
        parcel[5] ^= std::byte{1};
      },
      "checksum differs");
  expect_refused(
      "topk:share=0.1",
      [](std::span<std::byte> parcel) {
        std::memset(parcel.data(), 0xff, parcel.size());  // Places beyond the end.
        seal(parcel);
      },
      "chunk 0");
}

TEST(PackedSum, AnInfiniteScaleIsSeenInTheSum) {
  const std::vector<float> found = beside("int8", [](std::span<std::byte> parcel) {
    compress::pack(
        Compression::parse("int8").format, std::vector<float>(64, 1.0F), packed_in(parcel));
    parcel[0] = std::byte{0x80};
    parcel[1] = std::byte{0x7f};
    seal(parcel);
  });
  EXPECT_TRUE(std::ranges::any_of(found, [](float one) { return !std::isfinite(one); }));
}

}  // namespace
}  // namespace outpace::collective
