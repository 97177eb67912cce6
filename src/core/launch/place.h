// Where a launcher put this process: its rank, the number of processes, and the address of the
// job's server.
//
// It comes from the environment variables of torchrun, Slurm's srun, Open MPI's mpirun, the mpiexec
// of MPICH and Intel (PMI), PMIx, or an Indexed Job of Kubernetes. The launcher itself is not
// queried, so nothing of it is needed to build or to run.

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
  std::string rank_variable;           // The variable it was read from: "RANK".
  std::optional<std::uint32_t> world;  // Number of processes; nothing if the launcher does not say.
  std::string world_variable;
  std::optional<std::uint32_t> local_rank;  // Rank among the processes on this machine.
  bool one_machine = false;                 // All processes are on this machine.

  friend bool operator==(const Place&, const Place&) = default;
};

inline constexpr const char* kAnyLauncher = "auto";
inline constexpr const char* kNoLauncher = "none";

// Their names, in the order of the search.
[[nodiscard]] std::vector<std::string> launchers();

// Finds the place that `choice` asks for: that of one of launchers(), of the first launcher whose
// variables are set (auto), or of none (none). Nothing if no launcher's variables are set.
//
// A launcher may run inside another: torchrun under Slurm comes first. mpirun starts its daemons
// with srun, and its processes inherit what Slurm told the daemons. Where Slurm and MPI differ, MPI
// therefore wins.
//
// Throws a usage error that names the variable if one has no valid value or two contradict each
// other, and if `choice` is unknown or is a launcher whose variables are not set.
[[nodiscard]] std::optional<Place> find_place(const Variables& variables,
                                              const std::string& choice);

// The address at which all processes look for the server, "HOST:PORT", if the launcher says where
// its first process is:
//
//   torchrun  MASTER_ADDR, MASTER_PORT + 1 (MASTER_PORT itself is torchrun's own);
//   Slurm     the step's first host, 10000 + SLURM_JOB_ID % 50000.
//
// Throws a usage error that names the variable if one is missing or has no valid value.
[[nodiscard]] std::optional<std::string> server_address(const Variables& variables,
                                                        const Place& place);

}  // namespace outpace::launch
