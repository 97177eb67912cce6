// Which bug of seed_bugs.py is on in outpace_with_bugs and lab_with_bugs: the one that SEEDED_BUG
// names.

#include <cstdlib>
#include <string_view>

#include "seeded_bugs.h"

namespace outpace {
namespace {

std::string_view named() {
  const char* name = std::getenv("SEEDED_BUG");
  return name == nullptr ? "" : name;
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as the copies declare it
std::string_view seeded_bug = named();

}  // namespace outpace
