"""Ranks and addresses from torchrun, mpirun, srun, mpiexec and Kubernetes. The first two are Debian's
programs; for the others, the test sets their variables."""

import json
import os
import shutil
import socket
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, ProgramTest, main  # noqa: E402
from configuration_test import values_and_origins  # noqa: E402

UPDATES = 5
TORCHRUN = ("--redirects", 1, "--tee", 1, "--no_python", "--rdzv_backend", "c10d",
            "--rdzv_endpoint", "localhost:0", "--nproc_per_node")
MPIRUN = ("--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo",
          "--mca", "oob_tcp_if_include", "lo", "--oversubscribe",
          *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "-n")


def free_port(below=1 << 16):
    """A port on which nothing listens now."""
    while True:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            if one.getsockname()[1] < below:
                return one.getsockname()[1]


def torchrun_variables(rank, world, port):
    return {"RANK": rank, "WORLD_SIZE": world, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": world,
            "GROUP_RANK": 0, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}


def slurm_variables(rank, world, job=4711):
    return {"SLURM_PROCID": rank, "SLURM_NTASKS": world, "SLURM_LOCALID": rank,
            "SLURM_STEP_ID": 0, "SLURM_STEP_NUM_NODES": 1, "SLURM_STEP_NODELIST": "127.0.0.[1-2]",
            "SLURM_JOB_ID": job}


class Launch(ProgramTest):
    def setUp(self):
        super().setUp()
        self.run = self.folder / "run"
        rows = [f"{row % 7},{row % 5},{row % 2}" for row in range(200)]
        table = self.path("table.csv", "\n".join(["a,b,class", *rows]) + "\n")
        self.data = ("--network", "mlp", "--data", f"csv:{table}")
        self.job = ("--policy", "sync", "--updates", UPDATES, "--batch", 4, "--out", self.run,
                    "--json")

    def start_with(self, variables, *words):
        return self.start(*words, variables={name: str(value) for name, value in variables.items()})

    def start_server(self, workers, listen="127.0.0.1:0"):
        """Starts a server; returns it and its address."""
        server = self.start("server", "--listen", listen, "--token-file", "token",
                            "--workers", workers, *self.job)
        server.until_said("listening on")
        return server, server.err.partition("listening on ")[2].partition(";")[0]

    def finish(self, *processes):
        for process in processes:
            self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()

    def assert_all_worked(self, workers):
        summary = json.loads((self.run / "summary.json").read_text())
        self.assertEqual([one["accepted"] for one in summary["workers_detail"]],
                         [UPDATES] * workers)

    def both_ways(self, launcher, options, title, rank_variable):
        """Runs `train` in every process, and then workers of a separate server."""
        words = (*options, 3, OUTPACE)
        process = self.start(*words, "train", "--token-file", "token", *self.data, *self.job,
                             program=launcher)
        self.finish(process)
        self.assert_all_worked(3)
        self.assertIn(f"worker 0 of 3, local rank 0 ({rank_variable} of {title}), and the "
                      "server, at unix:token.socket", process.err)
        self.assertIn(f"worker 2 of 3, local rank 2 ({rank_variable} of {title}); server "
                      "unix:token.socket", process.err)
        values, origins = values_and_origins(self.run / "config.toml")
        self.assertEqual((values["workers"], origins["workers"]), (3, title))

        shutil.rmtree(self.run)
        server, address = self.start_server(workers=3)
        workers = self.start(*words, "worker", "--server", address, "--token-file", "token",
                             *self.data, program=launcher)
        self.finish(server, workers)
        self.assert_all_worked(3)
        self.assertIn(f"worker 1 of 3, local rank 1 ({rank_variable} of {title}); server "
                      f"{address}", workers.err)


@unittest.skipUnless(shutil.which("torchrun"), "there is no torchrun: apt install python3-torch")
class Torchrun(Launch):
    def test_train_and_workers(self):
        self.both_ways("torchrun", TORCHRUN, "torchrun", "RANK")


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun: apt install openmpi-bin")
class Mpirun(Launch):
    def test_train_and_workers(self):
        self.both_ways("mpirun", MPIRUN, "Open MPI", "OMPI_COMM_WORLD_RANK")


class Variables(Launch):
    def test_of_torchrun_say_where_the_server_is(self):
        server, address = self.start_server(workers=2)
        port = int(address.rpartition(":")[2]) - 1
        workers = [self.start_with(torchrun_variables(rank, 2, port), "worker", "--token-file",
                                   "token", *self.data) for rank in range(2)]
        self.finish(server, *workers)
        self.assert_all_worked(2)
        self.assertIn(f"server {address}, as torchrun says", workers[0].err)

    def test_of_slurm_say_where_the_server_is(self):
        port = free_port(below=60_000)
        address = f"127.0.0.1:{port}"
        server, _ = self.start_server(workers=2, listen=address)
        workers = [self.start_with(slurm_variables(rank, 2, job=7 * 50_000 + port - 10_000),
                                   "worker", "--token-file", "token", *self.data)
                   for rank in range(2)]
        self.finish(server, *workers)
        self.assert_all_worked(2)
        self.assertIn("worker 1 of 2, local rank 1 (SLURM_PROCID of Slurm); server "
                      f"{address}, as Slurm says", workers[1].err)

    def test_of_pmi_give_the_rank(self):
        server, address = self.start_server(workers=2)
        workers = [self.start_with({"PMI_RANK": rank, "PMI_SIZE": 2}, "worker", "--token-file",
                                   "token", "--server", address, *self.data)
                   for rank in range(2)]
        self.finish(server, *workers)
        self.assert_all_worked(2)

    def test_of_kubernetes_give_the_rank_and_a_worker_waits_for_the_first(self):
        words = ("train", "--token-file", "token", "--workers", 2,
                 "--listen", f"127.0.0.1:{free_port()}", *self.data, *self.job)
        second = self.start_with({"JOB_COMPLETION_INDEX": 1}, *words)
        second.until_said("worker 1 of 2 (JOB_COMPLETION_INDEX of Kubernetes); server 127.0.0.1:")
        first = self.start_with({"JOB_COMPLETION_INDEX": 0}, *words)
        self.finish(second, first)
        self.assert_all_worked(2)
        self.assertEqual(json.loads(first.out)["workers"], 2)
        self.assertEqual(second.out, "")

    def test_of_slurm_on_one_machine_make_a_run_of_all(self):
        words = ("train", "--token-file", "token", *self.data, *self.job)
        processes = [self.start_with(slurm_variables(rank, 2), *words) for rank in range(2)]
        self.finish(*processes)
        self.assert_all_worked(2)

    def test_count_for_nothing_if_no_launcher_shall(self):
        variables = {**torchrun_variables(1, 2, 29500), "RANK": "x", "OUTPACE_LAUNCHER": "none"}
        self.finish(self.start_with(variables, "train", "--workers", 2, *self.data,
                                    *self.job))
        self.assert_all_worked(2)

    def test_count_for_nothing_in_the_runs_of_a_comparison(self):
        self.path("compare.toml", '[compare]\nmode = "live"\npolicies = ["sync"]\n'
                                  "seeds = [1]\nworkers = 2\nupdates = 2\ndata = 'csv:table.csv'\n")
        self.finish(self.start_with(torchrun_variables(1, 2, 29500), "compare", "compare.toml",
                                    "--out", "comparison"))


class Refused(Launch):
    def assert_refused(self, variables, words, *said):
        process = self.start_with(variables, *words)
        self.assertEqual(process.wait(), 2, process.err)
        line = process.err.splitlines()[-1]
        self.assertTrue(line.startswith("outpace: "), line)
        for one in said:
            self.assertIn(one, line)

    def test_variables_without_meaning(self):
        worker = ("worker", "--token-file", "token")
        slurm = slurm_variables(0, 2)
        self.assert_refused({**slurm, "SLURM_PROCID": "x"}, worker,
                            "SLURM_PROCID is 'x', not a number from 0 to 65535")
        self.assert_refused({**slurm, "SLURM_STEP_NODELIST": "gnode["}, worker,
                            "SLURM_STEP_NODELIST is 'gnode[', not a list of hosts")
        self.assert_refused(torchrun_variables(2, 2, 1), worker, "RANK is 2 and WORLD_SIZE is 2")
        self.assert_refused({"PMI_RANK": 0, "PMI_SIZE": 2}, worker,
                            "--server is missing: PMI does not say where it is")
        self.assert_refused({}, worker, "--worker is missing, and no launcher says it")

    def test_several_processes_without_a_token_that_they_share(self):
        self.assert_refused(torchrun_variables(0, 2, 1), ("train",),
                            "torchrun started 2 processes (WORLD_SIZE)", "--token-file")
        self.assert_refused({}, ("train", "--token-file", "token"), "none of the variables of")

    def test_several_machines_without_the_word_that_traffic_is_in_the_clear(self):
        variables = {**torchrun_variables(0, 2, 29500), "LOCAL_WORLD_SIZE": 1,
                     "MASTER_ADDR": "10.0.0.1"}
        self.assert_refused(variables, ("train", "--token-file", "token"),
                            "10.0.0.1:29501", "`outpace certs", "--insecure-no-tls")

    def test_several_machines_without_the_certificates_of_their_side(self):
        self.start("certs", "job").wait()
        for name in ("server.pem", "worker.pem"):
            (self.folder / "job" / name).unlink()
        for rank, missing in ((0, "server.pem"), (1, "worker.pem")):
            variables = {**torchrun_variables(rank, 2, 29500), "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 1,
                         "MASTER_ADDR": "10.0.0.1"}
            self.assert_refused(variables, ("train", "--token-file", "job/token"),
                                f"job/{missing}: missing, although job/ca.pem is there")


if __name__ == "__main__":
    main()
