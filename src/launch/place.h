// Where a launcher put this process: its rank, among how many, and where the job's server is.
//
// It is read from the variables that torchrun, Slurm's srun, Open MPI's mpirun, the mpiexec of
// MPICH and Intel (PMI), PMIx or an Indexed Job of Kubernetes set. Nothing is asked of the launcher
// itself, so nothing of it is needed to build or to run.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace outpace::launch {

using Variables = std::map<std::string, std::string, std::less<>>;

struct Place {
  std::string launcher;  // One of launchers().
  std::string title;     // For people: "Open MPI".
  std::uint32_t rank = 0;
  std::string rank_variable;           // Where it was read: "RANK".
  std::optional<std::uint32_t> world;  // How many processes; nothing if the launcher does not say.
  std::string world_variable;
  std::optional<std::uint32_t> local_rank;  // Among those of this machine.
  std::uint32_t restarts = 0;               // How often the launcher has started this rank again.
  bool one_machine = false;                 // All processes are here.

  friend bool operator==(const Place&, const Place&) = default;
};

inline constexpr const char* kAnyLauncher = "auto";
inline constexpr const char* kNoLauncher = "none";

// Their names, in the order in which they are looked for.
[[nodiscard]] std::vector<std::string> launchers();

// What the launcher `choice` says: one of launchers(), the first of which the variables are set
// (auto), or none at all (none). Nothing if no launcher's are set.
//
// A launcher may itself run inside another: torchrun under Slurm comes first. mpirun starts its
// daemons with srun, and its processes inherit what Slurm said to those: where Slurm and MPI
// differ, MPI counts.
//
// Throws a usage error that names the variable if one has no meaning, or if two contradict each
// other, and if `choice` is unknown or is a launcher whose variables are not set.
[[nodiscard]] std::optional<Place> find_place(const Variables& variables,
                                              const std::string& choice);

// Where all processes look for the server, "HOST:PORT", if the launcher says where its first one
// is:
//   torchrun  MASTER_ADDR, MASTER_PORT + 1 (MASTER_PORT itself is torchrun's own);
//   Slurm     the step's first host, 10000 + SLURM_JOB_ID % 50000.
// Throws a usage error that names the variable if one is missing or has no meaning.
[[nodiscard]] std::optional<std::string> server_address(const Variables& variables,
                                                        const Place& place);

}  // namespace outpace::launch
