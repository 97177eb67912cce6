#include "launch/place.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "launch/host_list.h"

namespace outpace::launch {
namespace {

constexpr std::uint32_t kWorldMax = 65'536;

// Possible names of one variable, in order of precedence; unused ones are empty.
using Names = std::array<const char*, 3>;

struct Launcher {
  const char* name;
  const char* title;
  std::array<Names, 4> marks;  // The launcher started this process if one of each is set.
  Names rank;
  Names world;
  Names local_rank;
  Names local_world;
  Names machines;
  // It may start its daemons with srun, whose Slurm variables its processes inherit.
  bool uses_srun;
};

// As set by torchrun 1.13, Slurm 22.05, Open MPI 4.1, the Hydra of MPICH and Intel, and PMIx 4.2. A
// Slurm batch script has a SLURM_PROCID too; only srun, which starts a process many times, sets a
// step.
constexpr std::array kLaunchers{
    Launcher{.name = "torchrun",
             .title = "torchrun",
             .marks = {{{"RANK"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE"}, {"GROUP_RANK"}}},
             .rank = {"RANK"},
             .world = {"WORLD_SIZE"},
             .local_rank = {"LOCAL_RANK"},
             .local_world = {"LOCAL_WORLD_SIZE"},
             .machines = {},
             .uses_srun = false},
    Launcher{.name = "slurm",
             .title = "Slurm",
             .marks = {{{"SLURM_PROCID"}, {"SLURM_STEP_ID", "SLURM_STEPID"}}},
             .rank = {"SLURM_PROCID"},
             .world = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
             .local_rank = {"SLURM_LOCALID"},
             .local_world = {},
             .machines = {"SLURM_STEP_NUM_NODES", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"},
             .uses_srun = false},
    Launcher{.name = "mpi",
             .title = "Open MPI",
             .marks = {{{"OMPI_COMM_WORLD_RANK"}}},
             .rank = {"OMPI_COMM_WORLD_RANK"},
             .world = {"OMPI_COMM_WORLD_SIZE"},
             .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"},
             .local_world = {"OMPI_COMM_WORLD_LOCAL_SIZE"},
             .machines = {},
             .uses_srun = true},
    Launcher{.name = "pmi",
             .title = "PMI",
             .marks = {{{"PMI_RANK"}}},
             .rank = {"PMI_RANK"},
             .world = {"PMI_SIZE"},
             .local_rank = {"MPI_LOCALRANKID"},
             .local_world = {"MPI_LOCALNRANKS"},
             .machines = {},
             .uses_srun = true},
    Launcher{.name = "pmix",
             .title = "PMIx",
             .marks = {{{"PMIX_RANK"}}},
             .rank = {"PMIX_RANK"},
             .world = {},
             .local_rank = {},
             .local_world = {},
             .machines = {},
             .uses_srun = true},
    Launcher{.name = "kubernetes",
             .title = "Kubernetes",
             .marks = {{{"JOB_COMPLETION_INDEX"}}},
             .rank = {"JOB_COMPLETION_INDEX"},
             .world = {},
             .local_rank = {},
             .local_world = {},
             .machines = {},
             .uses_srun = false},
};

// The value for an error message: on one line, and shortened.
std::string shown(std::string_view value) {
  constexpr std::size_t kShown = 60;
  std::string text(value.substr(0, kShown));
  std::replace_if(
      text.begin(), text.end(), [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return "'" + text + (value.size() > kShown ? "...'" : "'");
}

struct Found {
  const char* name;
  std::string_view value;
};

// The first of the names that is set and not empty.
std::optional<Found> find(const Variables& variables, const Names& names) {
  for (const char* name : names) {
    if (name == nullptr) {
      break;
    }
    if (const auto found = variables.find(std::string_view(name));
        found != variables.end() && !found->second.empty()) {
      return Found{name, found->second};
    }
  }
  return std::nullopt;
}

std::uint64_t number(const Found& found, std::uint64_t least, std::uint64_t most) {
  const auto value = parse_count(found.value);
  if (!value || *value < least || *value > most) {
    throw usage_error(std::string(found.name) + " is " + shown(found.value) +
                      ", not a number from " + std::to_string(least) + " to " +
                      std::to_string(most));
  }
  return *value;
}

std::optional<std::uint32_t> small_number(const std::optional<Found>& found,
                                          std::uint32_t least,
                                          std::uint32_t most) {
  return found ? std::optional(static_cast<std::uint32_t>(number(*found, least, most)))
               : std::nullopt;
}

Found need(const Variables& variables, const Launcher& launcher, const Names& names) {
  if (const auto found = find(variables, names)) {
    return *found;
  }
  throw usage_error(std::string(launcher.title) + " set " + launcher.rank[0] + ", but not " +
                    names[0]);
}

// Throws unless `less` < `more`, or <= if both are sizes.
void check_order(const Found& less, const Found& more, bool both_sizes, const char* why) {
  const std::uint64_t a = number(less, 0, kWorldMax);
  const std::uint64_t b = number(more, 1, kWorldMax);
  if (a > b || (a == b && !both_sizes)) {
    throw usage_error(std::string(less.name) + " is " + std::to_string(a) + " and " + more.name +
                      " is " + std::to_string(b) + ": " + why);
  }
}

bool is_set(const Variables& variables, const Launcher& launcher) {
  return std::all_of(launcher.marks.begin(), launcher.marks.end(), [&](const Names& names) {
    return names[0] == nullptr || find(variables, names);
  });
}

Place read_place(const Variables& variables, const Launcher& launcher) {
  const Found rank = need(variables, launcher, launcher.rank);
  Place place{.launcher = launcher.name,
              .title = launcher.title,
              .rank = static_cast<std::uint32_t>(number(rank, 0, kWorldMax - 1)),
              .rank_variable = rank.name};
  const auto local_rank = find(variables, launcher.local_rank);
  const auto local_world = find(variables, launcher.local_world);
  place.local_rank = small_number(local_rank, 0, kWorldMax - 1);
  if (launcher.world[0] == nullptr) {
    return place;
  }
  const Found world = need(variables, launcher, launcher.world);
  place.world = small_number(world, 1, kWorldMax);
  place.world_variable = world.name;
  check_order(rank, world, false, "a rank is less than the number of processes");
  if (local_rank && local_world) {
    check_order(*local_rank, *local_world, false, "a rank is less than the number of processes");
  }
  if (local_world) {
    check_order(*local_world, world, true, "there are no more processes here than in all");
  }
  const auto machines = small_number(find(variables, launcher.machines), 1, kWorldMax);
  place.one_machine = place.world == 1 || machines == 1 ||
                      (local_world && small_number(local_world, 1, kWorldMax) == place.world);
  return place;
}

bool is_slurm(const Launcher& launcher) {
  return std::string_view(launcher.name) == "slurm";
}

std::string with_port(std::string_view host, std::uint64_t port) {
  const bool bare_ipv6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  return (bare_ipv6 ? "[" + std::string(host) + "]" : std::string(host)) + ":" +
         std::to_string(port);
}

std::string torchrun_server(const Variables& variables, const Launcher& launcher) {
  const Found host = need(variables, launcher, {"MASTER_ADDR"});
  const bool is_host = host.value.size() <= 255 &&
                       std::all_of(host.value.begin(), host.value.end(), [](char letter) {
                         return letter > ' ' && letter <= '~' && letter != '/' && letter != ',';
                       });
  if (!is_host) {
    throw usage_error("MASTER_ADDR is " + shown(host.value) + ", not the name of a machine");
  }
  return with_port(host.value, number(need(variables, launcher, {"MASTER_PORT"}), 1, 65'534) + 1);
}

std::string slurm_server(const Variables& variables, const Launcher& launcher) {
  const Found list =
      need(variables, launcher, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  const auto host = first_host(list.value);
  if (!host) {
    throw usage_error(std::string(list.name) + " is " + shown(list.value) +
                      ", not a list of hosts such as gnode[10,20-25],login1");
  }
  const Found job = need(variables, launcher, {"SLURM_JOB_ID", "SLURM_JOBID"});
  return with_port(*host, 10'000 + number(job, 0, UINT64_MAX) % 50'000);
}

const Launcher* launcher_of(const std::string& name) {
  const auto* found =
      std::find_if(kLaunchers.begin(), kLaunchers.end(), [&name](const Launcher& launcher) {
        return launcher.name == name;
      });
  return found == kLaunchers.end() ? nullptr : found;
}

std::optional<Place> chosen_place(const Variables& variables, const std::string& choice) {
  const Launcher* launcher = launcher_of(choice);
  if (launcher == nullptr) {
    std::vector<std::string> known = launchers();
    known.insert(known.begin(), {kAnyLauncher, kNoLauncher});
    throw usage_error("--launcher is " + shown(choice) + suggestion(choice, known));
  }
  for (const Names& names : launcher->marks) {
    if (names[0] != nullptr && !find(variables, names)) {
      throw usage_error("--launcher is " + choice + ", but " + names[0] + " is not set");
    }
  }
  return read_place(variables, *launcher);
}

}  // namespace

std::vector<std::string> launchers() {
  std::vector<std::string> names;
  names.reserve(kLaunchers.size());
  for (const Launcher& launcher : kLaunchers) {
    names.emplace_back(launcher.name);
  }
  return names;
}

std::optional<Place> find_place(const Variables& variables, const std::string& choice) {
  if (choice == kNoLauncher) {
    return std::nullopt;
  }
  if (choice != kAnyLauncher) {
    return chosen_place(variables, choice);
  }
  std::optional<Place> of_slurm;
  for (const Launcher& launcher : kLaunchers) {
    if (!is_set(variables, launcher)) {
      continue;
    }
    Place place = read_place(variables, launcher);
    if (is_slurm(launcher)) {
      of_slurm = std::move(place);
      continue;
    }
    if (!of_slurm) {
      return place;
    }
    const bool differs =
        place.rank != of_slurm->rank || (place.world && place.world != of_slurm->world);
    return launcher.uses_srun && differs ? place : of_slurm;
  }
  return of_slurm;
}

std::optional<std::string> server_address(const Variables& variables, const Place& place) {
  const Launcher* launcher = launcher_of(place.launcher);
  if (launcher != nullptr && place.launcher == "torchrun") {
    return torchrun_server(variables, *launcher);
  }
  if (launcher != nullptr && is_slurm(*launcher)) {
    return slurm_server(variables, *launcher);
  }
  return std::nullopt;
}

}  // namespace outpace::launch
