#include "launch/place.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::launch {
namespace {

// As the launchers set them; those of torchrun 1.13 and Open MPI 4.1 were written down from a run.
Variables of_torchrun() {
  return {{"GROUP_RANK", "0"},
          {"GROUP_WORLD_SIZE", "1"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "127.0.0.1"},
          {"MASTER_PORT", "29777"},
          {"OMP_NUM_THREADS", "1"},
          {"RANK", "1"},
          {"ROLE_NAME", "default"},
          {"ROLE_RANK", "1"},
          {"ROLE_WORLD_SIZE", "2"},
          {"TORCHELASTIC_MAX_RESTARTS", "3"},
          {"TORCHELASTIC_RESTART_COUNT", "2"},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"},
          {"WORLD_SIZE", "2"}};
}

Variables of_slurm() {
  return {{"SLURM_JOB_ID", "4711"},
          {"SLURM_JOB_NODELIST", "gnode[10,20-25,037],login1"},
          {"SLURM_JOB_NUM_NODES", "9"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_NNODES", "2"},
          {"SLURM_NODEID", "1"},
          {"SLURM_NODELIST", "gnode[10,20-25,037],login1"},
          {"SLURM_NPROCS", "4"},
          {"SLURM_NTASKS", "4"},
          {"SLURM_PROCID", "3"},
          {"SLURM_STEPID", "0"},
          {"SLURM_STEP_ID", "0"},
          {"SLURM_STEP_NODELIST", "gnode[20-21]"},
          {"SLURM_STEP_NUM_NODES", "2"},
          {"SLURM_STEP_NUM_TASKS", "4"},
          {"SLURM_TASKS_PER_NODE", "2(x2)"}};
}

Variables of_open_mpi() {
  return {{"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"},
          {"OMPI_COMM_WORLD_NODE_RANK", "2"},
          {"OMPI_COMM_WORLD_RANK", "2"},
          {"OMPI_COMM_WORLD_SIZE", "8"},
          {"OMPI_UNIVERSE_SIZE", "8"},
          {"PMIX_NAMESPACE", "1317797889"},
          {"PMIX_RANK", "2"}};
}

Variables of_hydra() {
  return {{"MPI_LOCALNRANKS", "4"}, {"MPI_LOCALRANKID", "1"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "8"}};
}

Variables joined(Variables first, const Variables& second) {
  first.insert(second.begin(), second.end());
  return first;
}

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}

Place place_of(const Variables& variables) {
  const auto place = find_place(variables, kAnyLauncher);
  EXPECT_TRUE(place.has_value());
  return place.value_or(Place{});
}

std::string refused(const Variables& variables) {
  return refusal_of([&] { (void)find_place(variables, kAnyLauncher); });
}

std::string server_of(const Variables& variables) {
  return server_address(variables, place_of(variables)).value_or("not said");
}

std::string refused_server(const Variables& variables) {
  return refusal_of([&] { (void)server_of(variables); });
}

TEST(Place, IsReadFromTheVariablesOfEachLauncher) {
  struct Case {
    Variables variables;
    std::string launcher;
    std::uint32_t rank;
    std::optional<std::uint32_t> world;
    std::optional<std::uint32_t> local_rank;
    bool one_machine;
    std::string server;
  };
  const std::vector<Case> cases{
      {of_torchrun(), "torchrun", 1, 2, 1, true, "127.0.0.1:29778"},
      {with(of_torchrun(), "WORLD_SIZE", "4"), "torchrun", 1, 4, 1, false, "127.0.0.1:29778"},
      {of_slurm(), "slurm", 3, 4, 1, false, "gnode20:14711"},
      {with(of_slurm(), "SLURM_STEP_NUM_NODES", "1"), "slurm", 3, 4, 1, true, "gnode20:14711"},
      {of_open_mpi(), "mpi", 2, 8, 2, true, "not said"},
      {with(of_open_mpi(), "OMPI_COMM_WORLD_SIZE", "16"), "mpi", 2, 16, 2, false, "not said"},
      {of_hydra(), "pmi", 5, 8, 1, false, "not said"},
      {{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, "pmi", 0, 1, {}, true, "not said"},
      {{{"PMIX_RANK", "7"}, {"PMIX_NAMESPACE", "x"}}, "pmix", 7, {}, {}, false, "not said"},
      {{{"JOB_COMPLETION_INDEX", "3"}}, "kubernetes", 3, {}, {}, false, "not said"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.launcher);
    const Place place = place_of(one.variables);
    EXPECT_EQ(place.launcher, one.launcher);
    EXPECT_EQ(place.rank, one.rank);
    EXPECT_EQ(place.world, one.world);
    EXPECT_EQ(place.local_rank, one.local_rank);
    EXPECT_EQ(place.one_machine, one.one_machine);
    EXPECT_EQ(server_of(one.variables), one.server);
  }
}

TEST(Place, NamesItsVariables) {
  const Place place = place_of(without(of_slurm(), "SLURM_STEP_NUM_TASKS"));
  EXPECT_EQ(place.title, "Slurm");
  EXPECT_EQ(place.rank_variable, "SLURM_PROCID");
  EXPECT_EQ(place.world_variable, "SLURM_NTASKS");
}

TEST(Place, IsNoneWithoutALauncherOrIfNoneShallCount) {
  EXPECT_EQ(find_place({}, kAnyLauncher), std::nullopt);
  EXPECT_EQ(find_place({{"PATH", "/bin"}, {"HOME", "/"}}, kAnyLauncher), std::nullopt);
  EXPECT_EQ(find_place(of_torchrun(), kNoLauncher), std::nullopt);
  EXPECT_EQ(find_place({{"PMI_RANK", ""}}, kAnyLauncher), std::nullopt);
}

TEST(Place, IsNotTorchrunsIfAnyOfItsMarksIsMissing) {
  for (const char* mark : {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK"}) {
    EXPECT_EQ(find_place(without(of_torchrun(), mark), kAnyLauncher), std::nullopt) << mark;
  }
}

TEST(Place, IsNotSlurmsInABatchScriptWhichNoSrunStarted) {
  const Variables batch = without(without(of_slurm(), "SLURM_STEP_ID"), "SLURM_STEPID");
  EXPECT_EQ(find_place(batch, kAnyLauncher), std::nullopt);
}

TEST(Place, IsThatOfTheLauncherThatTheOtherOneStarted) {
  EXPECT_EQ(place_of(joined(of_torchrun(), of_slurm())).launcher, "torchrun");
  EXPECT_EQ(place_of(joined(of_torchrun(), of_open_mpi())).launcher, "torchrun");
  EXPECT_EQ(place_of(joined(of_open_mpi(), of_hydra())).launcher, "mpi");
  const Variables kubernetes{{"JOB_COMPLETION_INDEX", "3"}};
  EXPECT_EQ(place_of(joined(of_hydra(), kubernetes)).launcher, "pmi");
  EXPECT_EQ(place_of(joined(of_slurm(), kubernetes)).launcher, "slurm");
}

TEST(Place, IsMpisWhereWhatSlurmSaidToTheDaemonsWasInherited) {
  EXPECT_EQ(place_of(joined(of_slurm(), of_open_mpi())).launcher, "mpi");
  EXPECT_EQ(place_of(joined(of_slurm(), of_hydra())).launcher, "pmi");
  // srun --mpi=pmi2, --mpi=pmix: both say the same, and Slurm knows more.
  EXPECT_EQ(place_of(joined(of_slurm(), {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}})).launcher, "slurm");
  EXPECT_EQ(place_of(joined(of_slurm(), {{"PMIX_RANK", "3"}})).launcher, "slurm");
}

TEST(Place, IsOfTheChosenLauncher) {
  const Variables both = joined(of_torchrun(), of_slurm());
  EXPECT_EQ(find_place(both, "slurm")->rank, 3U);
  EXPECT_EQ(refusal_of([&] { (void)find_place(both, "pmi"); }),
            "--launcher is pmi, but PMI_RANK is not set");
  EXPECT_EQ(refusal_of([&] { (void)find_place(both, "slrum"); }),
            "--launcher is 'slrum'; did you mean 'slurm'?");
  EXPECT_EQ(refusal_of([&] { (void)find_place(both, "yarn"); }),
            "--launcher is 'yarn'; known: auto, none, torchrun, slurm, mpi, pmi, pmix, kubernetes");
}

TEST(Place, IsRefusedIfAVariableHasNoMeaning) {
  EXPECT_EQ(refused(with(of_slurm(), "SLURM_PROCID", "x")),
            "SLURM_PROCID is 'x', not a number from 0 to 65535");
  EXPECT_EQ(refused(with(of_slurm(), "SLURM_STEP_NUM_TASKS", "70000")),
            "SLURM_STEP_NUM_TASKS is '70000', not a number from 1 to 65536");
  for (const char* value :
       {"-1", "+1", " 1", "1 ", "0x1", "1.0", "65536", "99999999999999999999"}) {
    EXPECT_EQ(refused({{"JOB_COMPLETION_INDEX", value}}),
              "JOB_COMPLETION_INDEX is '" + std::string(value) + "', not a number from 0 to 65535");
  }
  EXPECT_EQ(refused(with(of_torchrun(), "WORLD_SIZE", "0")),
            "WORLD_SIZE is '0', not a number from 1 to 65536");
  EXPECT_EQ(refused(with(of_torchrun(), "LOCAL_RANK", "one")),
            "LOCAL_RANK is 'one', not a number from 0 to 65535");
}

TEST(Place, IsRefusedIfItIsIncompleteOrContradictsItself) {
  EXPECT_EQ(refused(without(of_torchrun(), "WORLD_SIZE")), "torchrun set RANK, but not WORLD_SIZE");
  EXPECT_EQ(refused({{"PMI_RANK", "1"}}), "PMI set PMI_RANK, but not PMI_SIZE");
  EXPECT_EQ(refused(with(of_torchrun(), "RANK", "2")),
            "RANK is 2 and WORLD_SIZE is 2: a rank is less than the number of processes");
  EXPECT_EQ(refused(with(of_open_mpi(), "OMPI_COMM_WORLD_LOCAL_RANK", "8")),
            "OMPI_COMM_WORLD_LOCAL_RANK is 8 and OMPI_COMM_WORLD_LOCAL_SIZE is 8: a rank is less "
            "than the number of processes");
  EXPECT_EQ(refused(with(of_open_mpi(), "OMPI_COMM_WORLD_LOCAL_SIZE", "9")),
            "OMPI_COMM_WORLD_LOCAL_SIZE is 9 and OMPI_COMM_WORLD_SIZE is 8: there are no more "
            "processes here than in all");
}

TEST(Place, IsRefusedInOneShortLine) {
  const std::string hostile(1 << 20, '\n');
  EXPECT_EQ(
      refused({{"JOB_COMPLETION_INDEX", hostile}}),
      "JOB_COMPLETION_INDEX is '" + std::string(60, '?') + "...', not a number from 0 to 65535");
}

TEST(ServerAddress, IsThePortAboveTorchrunsOwn) {
  EXPECT_EQ(server_of(with(of_torchrun(), "MASTER_ADDR", "node-1.example.org")),
            "node-1.example.org:29778");
  EXPECT_EQ(server_of(with(of_torchrun(), "MASTER_ADDR", "fd00::1")), "[fd00::1]:29778");
  EXPECT_EQ(server_of(with(of_torchrun(), "MASTER_ADDR", "[fd00::1]")), "[fd00::1]:29778");
  EXPECT_EQ(refused_server(with(of_torchrun(), "MASTER_PORT", "65535")),
            "MASTER_PORT is '65535', not a number from 1 to 65534");
  EXPECT_EQ(refused_server(with(of_torchrun(), "MASTER_ADDR", "a b")),
            "MASTER_ADDR is 'a b', not the name of a machine");
  EXPECT_EQ(refused_server(without(of_torchrun(), "MASTER_ADDR")),
            "torchrun set RANK, but not MASTER_ADDR");
}

TEST(ServerAddress, IsOnTheFirstHostOfSlurmsStepAtAPortOfTheJob) {
  Variables variables = of_slurm();
  variables.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(server_of(variables), "gnode10:14711");
  variables.erase("SLURM_JOB_NODELIST");
  variables["SLURM_NODELIST"] = "r[0-1]n[00-03]";
  variables["SLURM_JOB_ID"] = "1049999";
  EXPECT_EQ(server_of(variables), "r0n00:59999");
  variables["SLURM_JOB_ID"] = "18446744073709551615";
  EXPECT_EQ(server_of(variables), "r0n00:11615");
  variables["SLURM_JOB_ID"] = "4711_3";
  EXPECT_EQ(refused_server(variables),
            "SLURM_JOB_ID is '4711_3', not a number from 0 to 18446744073709551615");
  variables["SLURM_NODELIST"] = "gnode[";
  EXPECT_EQ(refused_server(variables),
            "SLURM_NODELIST is 'gnode[', not a list of hosts such as gnode[10,20-25],login1");
}

}  // namespace
}  // namespace outpace::launch
