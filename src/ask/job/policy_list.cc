#include "job/policy_list.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/text.h"
#include "policy/catalogue.h"

namespace outpace::job {
namespace {

// Anything but an option begins a policy, so that a message names the misspelt policy alone.
bool begins_a_policy(std::string_view text) {
  if (text.find('=') == std::string_view::npos) {
    return true;
  }
  const std::string_view name = text.substr(0, text.find_first_of(":( "));
  const auto entries = policy::catalogue();
  return std::any_of(entries.begin(), entries.end(), [name](const policy::Entry& entry) {
    return entry.name == name;
  });
}

}  // namespace

std::vector<std::string> split_policies(const std::vector<std::string>& given) {
  std::vector<std::string> policies;
  for (const std::string& text : given) {
    bool first = true;
    for (const std::string_view part : split(text, ',')) {
      if (first || begins_a_policy(part)) {
        policies.emplace_back(part);
      } else {
        policies.back().append(",").append(part);
      }
      first = false;
    }
  }
  return policies;
}

std::string policy_for(const std::string& policy, std::uint32_t workers) {
  const std::size_t sign = policy.find('%');
  if (sign == std::string::npos || sign == 0) {
    return policy;
  }
  const std::size_t begin = policy.find_last_not_of("0123456789", sign - 1) + 1;
  const auto percent = parse_count(std::string_view(policy).substr(begin, sign - begin));
  if (!percent) {
    return policy;  // Parsing the policy gives the message.
  }
  const double count = std::round(static_cast<double>(*percent) / 100.0 * workers);
  return policy.substr(0, begin) +
         std::to_string(static_cast<std::uint64_t>(std::max(1.0, count))) +
         policy_for(policy.substr(sign + 1), workers);
}

}  // namespace outpace::job
