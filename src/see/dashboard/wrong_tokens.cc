#include "dashboard/wrong_tokens.h"

#include <algorithm>

#include <fmt/format.h>

namespace outpace::dashboard {
namespace {

using std::chrono::seconds;

constexpr auto kFirstWait = std::chrono::milliseconds(250);
constexpr auto kLongestWait = seconds(8);
constexpr auto kForgotten = seconds(60);  // After its wait.
constexpr auto kBetweenLines = seconds(60);
constexpr std::size_t kAddressesMost = 4096;

}  // namespace

bool WrongTokens::may_try(const std::string& address, Moment now) const {
  const auto found = tried_.find(address);
  return found == tried_.end() || now >= found->second.next;
}

std::optional<std::string> WrongTokens::wrong(const std::string& address, Moment now) {
  forget_old(now);
  Tried& tried = tried_[address];
  constexpr std::uint32_t kDoublings = 5;  // To the longest wait.
  tried.next = now + std::min<std::chrono::nanoseconds>(
                         kLongestWait, kFirstWait * (1U << std::min(tried.wrong, kDoublings)));
  ++tried.wrong;
  ++unsaid_;
  if (said_ && now - *said_ < kBetweenLines) {
    return std::nullopt;
  }
  said_ = now;
  std::string line = fmt::format("the page refused a wrong token from {}", address);
  if (unsaid_ > 1) {
    line += fmt::format(", and {} more since the last word of it", unsaid_ - 1);
  }
  unsaid_ = 0;
  return line;
}

void WrongTokens::forget_old(Moment now) {
  std::erase_if(tried_, [now](const auto& one) { return now - one.second.next >= kForgotten; });
  while (tried_.size() >= kAddressesMost) {
    tried_.erase(
        std::ranges::min_element(tried_, {}, [](const auto& one) { return one.second.next; }));
  }
}

}  // namespace outpace::dashboard
