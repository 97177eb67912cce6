// Options of a policy, drawn at random: what the swarm and the tests of all policies try it with.

#pragma once

#include <cstdint>
#include <string>

#include "base/rng.h"

// Draws for the catalogue: the options of a policy that make_policy() accepts for this number of
// workers, without its name.
namespace outpace::policy::draws {

// Uniform on least..most.
[[nodiscard]] std::uint64_t between(Rng& rng, std::uint64_t least, std::uint64_t most);

[[nodiscard]] std::string nothing(Rng& rng, std::uint32_t workers);
// From 1 to the number of workers.
[[nodiscard]] std::string cutoff(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string k(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string n(Rng& rng, std::uint32_t workers);

[[nodiscard]] std::string dynamic(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string adasync(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string ssp(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string dssp(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string psp(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string saps(Rng& rng, std::uint32_t workers);
[[nodiscard]] std::string phases(Rng& rng, std::uint32_t workers);

}  // namespace outpace::policy::draws
