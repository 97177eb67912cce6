// What must always hold did not.
//
// Thrown, not returned: a run must stop at the event that broke it, before what comes of it hides
// what it was. The numbers I1 to I19 are those of docs/simulation.md.

#pragma once

#include <stdexcept>
#include <string>

namespace outpace::invariants {

class Violation : public std::logic_error {
 public:
  // `invariant` is its number, such as "I3".
  Violation(const std::string& invariant, const std::string& what)
      : std::logic_error(invariant + ": " + what), invariant_(invariant) {}

  [[nodiscard]] const std::string& invariant() const { return invariant_; }

 private:
  std::string invariant_;
};

// `what` is only put into words if it is needed.
template <typename What>
void hold(bool condition, const char* invariant, What what) {
  if (!condition) {
    throw Violation(invariant, what());
  }
}

}  // namespace outpace::invariants
