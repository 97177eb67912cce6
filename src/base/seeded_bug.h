// SEEDED_BUG(name): a place where a bug can be put in on purpose, to show that the invariants find
// it. It is the constant false, and costs nothing, in all that is ever installed: only the test
// program `seeded_bugs` compiles the files that have such places with OUTPACE_SEEDED_BUGS, and then
// chooses one bug at a time.

#pragma once

#ifdef OUTPACE_SEEDED_BUGS

#include <string_view>

namespace outpace {
// Of the test program: the bug that is in now.
extern std::string_view seeded_bug;
}  // namespace outpace

#define SEEDED_BUG(name) (::outpace::seeded_bug == (name))

#else

#define SEEDED_BUG(name) false

#endif
