// Defences against workers that send wrong gradients, by fault or by intent: up to f of them may
// send anything. Kardam judges each gradient as it arrives (kardam.h), for asynchronous policies.
// median, trimmed and krum replace the mean of an update (robust_mean.h), for policies whose
// updates have several gradients.

#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/spec.h"
#include "update/staleness.h"

namespace outpace::update {

// A value: rule and parameters. Specs: "none", "kardam:f=2", "median", "trimmed:f=2",
// "krum:f=2,m=1".
class FilterRule {
 public:
  enum class Kind : std::uint8_t { kNone, kKardam, kMedian, kTrimmed, kKrum };

  // Throws a usage error that names the nearest rule.
  static FilterRule parse(const Spec& spec);
  static FilterRule none() { return {}; }

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::string& name() const;
  // Number of workers that may be wrong. Unused for none and median.
  [[nodiscard]] std::uint32_t f() const { return f_; }
  // Number of gradients whose mean krum takes.
  [[nodiscard]] std::uint32_t m() const { return m_; }
  // Whether kardam compares with the server's coefficient instead of the worker's own.
  [[nodiscard]] bool of_server() const { return of_server_; }
  // Kardam clamps a distance between weights to within this factor of the usual one; infinity: no
  // clamping.
  [[nodiscard]] double within() const { return within_; }
  // Whether it replaces the mean.
  [[nodiscard]] bool combines() const;
  // Fewest gradients of an update with which the filter protects at all; 1: any number.
  [[nodiscard]] std::uint32_t gradients_least() const;

 private:
  Kind kind_ = Kind::kNone;
  std::uint32_t f_ = 0;
  std::uint32_t m_ = 1;
  bool of_server_ = false;
  double within_ = 2.0;
};

// The run that a filter is to be used in.
struct FilterUse {
  std::string policy;          // As the user wrote it.
  bool asynchronous;           // Whether the policy is asynchronous.
  std::uint32_t workers;       // Planned.
  std::uint32_t cutoff;        // Gradients of a typical update.
  const StalenessRule& stale;  // The staleness rule in force.
};
// Throws a usage error if the filter would be useless there.
void check_suits(const FilterRule& rule, const FilterUse& use);

struct FilterDoc {
  std::string name;
  std::string options;
  std::string rule;
  std::string source;
};
[[nodiscard]] std::span<const FilterDoc> filters();

}  // namespace outpace::update
