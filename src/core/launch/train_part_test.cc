#include "launch/train_part.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/refusal_test.h"

namespace outpace::launch {
namespace {

// Rank 3 of 4 on two machines.
const Variables kTorchrun{{"RANK", "3"},
                          {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "2"},
                          {"GROUP_RANK", "1"},
                          {"MASTER_ADDR", "10.0.0.1"},
                          {"MASTER_PORT", "29500"}};
const Variables kMpirun{{"OMPI_COMM_WORLD_RANK", "3"},
                        {"OMPI_COMM_WORLD_SIZE", "4"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}};
const Variables kKubernetes{{"JOB_COMPLETION_INDEX", "3"}};

Variables set(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

std::string refused_part(const Variables& variables, const TrainPartOptions& options) {
  return refusal_of([&] { (void)find_train_part(variables, options); });
}

TEST(TrainPart, IsWhatTheLauncherSays) {
  const auto part = find_train_part(kTorchrun, {.token_file = "job.token"});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->place.rank, 3U);
  EXPECT_EQ(part->workers, 4U);
  EXPECT_EQ(part->address, "10.0.0.1:29501");
}

TEST(TrainPart, IsReachedThroughASocketBesideTheTokenIfAllAreOnOneMachine) {
  EXPECT_EQ(find_train_part(kMpirun, {.token_file = "keys/job"})->address, "unix:keys/job.socket");
  const Variables one_machine = set(kTorchrun, "LOCAL_WORLD_SIZE", "4");
  EXPECT_EQ(find_train_part(one_machine, {.token_file = "/t"})->address, "unix:/t.socket");
  EXPECT_EQ(find_train_part(one_machine, {.token_file = "/t", .listen = "10.0.0.1:4000"})->address,
            "10.0.0.1:4000");
}

TEST(TrainPart, IsNoneIfTrainRunsAlone) {
  EXPECT_EQ(find_train_part({}, {}), std::nullopt);
  EXPECT_EQ(find_train_part(kTorchrun, {.launcher = kNoLauncher}), std::nullopt);
  // One process of one; or each of a sweep's, about which nobody says that they belong together.
  EXPECT_EQ(find_train_part({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, {}), std::nullopt);
  EXPECT_EQ(find_train_part(kKubernetes, {}), std::nullopt);
}

TEST(TrainPart, IsThatOfTheOnlyWorkerIfThereIsATokenFile) {
  const auto part = find_train_part({{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, {.token_file = "t"});
  ASSERT_TRUE(part);
  EXPECT_EQ(part->workers, 1U);
}

TEST(TrainPart, NeedsATokenFileThatAllShare) {
  EXPECT_EQ(refused_part(kTorchrun, {}),
            "torchrun started 4 processes (WORLD_SIZE): for one run of them all, give --token-file "
            "FILE, which they share; for a run of each, --launcher none");
}

TEST(TrainPart, NeedsALauncherForATokenFile) {
  EXPECT_EQ(refused_part({}, {.token_file = "t"}),
            "--token-file is for a run whose processes a launcher starts: none of the variables of "
            "torchrun, srun, mpirun, mpiexec or an Indexed Job is set");
  EXPECT_EQ(refused_part(kTorchrun, {.launcher = kNoLauncher, .token_file = "t"}),
            "--token-file is for a run whose processes a launcher starts: --launcher is none");
}

TEST(TrainPart, HasAsManyWorkersAsThereAreProcesses) {
  EXPECT_EQ(find_train_part(kTorchrun, {.token_file = "t", .workers = 4})->workers, 4U);
  EXPECT_EQ(refused_part(kTorchrun, {.token_file = "t", .workers = 8}),
            "--workers is 8, but torchrun started 4 processes (WORLD_SIZE), and each is a worker; "
            "leave --workers out");
  EXPECT_EQ(refused_part(kKubernetes, {.token_file = "t", .listen = "a:1"}),
            "--workers is missing: Kubernetes does not say how many processes there are");
  EXPECT_EQ(refused_part(kKubernetes, {.token_file = "t", .listen = "a:1", .workers = 3}),
            "JOB_COMPLETION_INDEX is 3 and --workers is 3: a rank is less than the number of "
            "workers");
}

TEST(TrainPart, NeedsAnAddressThatAllKnow) {
  EXPECT_EQ(
      find_train_part(kKubernetes, {.token_file = "t", .listen = "a:1", .workers = 4})->address,
      "a:1");
  EXPECT_EQ(refused_part(kKubernetes, {.token_file = "t", .workers = 4}),
            "--listen is missing: Kubernetes does not say where its first process is; name that "
            "machine and a port");
  for (const char* listen : {"0.0.0.0:4000", "[::]:4000", "10.0.0.1:0"}) {
    EXPECT_EQ(refused_part(kTorchrun, {.token_file = "t", .listen = listen}),
              "--listen " + std::string(listen) +
                  ": all processes connect there; name the first one's machine and a port");
  }
}

TEST(TrainPart, ListensAtAllAddressesIfOthersKnowItByAName) {
  const auto everywhere = [](const Variables& variables, const std::string& listen) {
    return may_listen_everywhere(
        *find_train_part(variables, {.token_file = "t", .listen = listen, .workers = 4}));
  };
  const Variables by_name = set(kTorchrun, "MASTER_ADDR", "node-1.example.org");
  const Variables by_slurm{{"SLURM_PROCID", "0"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_NTASKS", "4"},
                           {"SLURM_STEP_NUM_NODES", "2"},
                           {"SLURM_STEP_NODELIST", "n[1-2]"},
                           {"SLURM_JOB_ID", "4711"}};
  EXPECT_TRUE(everywhere(by_name, ""));
  EXPECT_TRUE(everywhere(by_slurm, ""));
  EXPECT_TRUE(everywhere(kKubernetes, "a:1"));
  EXPECT_FALSE(everywhere(kTorchrun, ""));  // 10.0.0.1 is no name.
  EXPECT_FALSE(everywhere(by_slurm, "10.0.0.1:4000"));
  EXPECT_FALSE(everywhere(by_slurm, "[fd00::1]:4000"));
  EXPECT_FALSE(everywhere(by_slurm, "localhost:4000"));
  EXPECT_FALSE(everywhere(by_slurm, "unix:/shared/s"));
  EXPECT_FALSE(everywhere(set(by_slurm, "SLURM_STEP_NUM_NODES", "1"), ""));
  EXPECT_FALSE(everywhere(set(by_name, "LOCAL_WORLD_SIZE", "4"), ""));
}

TEST(WorkerInWords, NamesTheVariable) {
  EXPECT_EQ(worker_in_words(*find_place(kTorchrun, kAnyLauncher), 4),
            "worker 3 of 4, local rank 1 (RANK of torchrun)");
  EXPECT_EQ(worker_in_words(*find_place(kKubernetes, kAnyLauncher), std::nullopt),
            "worker 3 (JOB_COMPLETION_INDEX of Kubernetes)");
}

TEST(WhyNoPlace, SaysWhetherItWasAskedFor) {
  EXPECT_EQ(why_no_place(kNoLauncher), "--launcher is none");
  EXPECT_NE(why_no_place(kAnyLauncher).find("none of the variables"), std::string::npos);
}

}  // namespace
}  // namespace outpace::launch
