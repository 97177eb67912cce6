"""Slurm's variables on two machines whose own name is 127.0.1.1 to themselves, as on Debian. Each machine is a
network namespace with an /etc/hosts of its own. Takes root and iproute2. test/slurm has Slurm itself."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import main  # noqa: E402
from namespaces import TwoHosts  # noqa: E402

UPDATES = 5
NAMES = ("node1", "node2")


class Slurm(TwoHosts):
    def setUp(self):
        super().setUp()
        for host in range(2):
            there = (f"127.0.1.1 {NAMES[host]}", f"{self.ADDRESSES[1 - host]} {NAMES[1 - host]}")
            self.write_etc(host, "hosts", "\n".join(["127.0.0.1 localhost", *there, ""]))
            self.write_etc(host, "nsswitch.conf", "hosts: files\n")
        rows = [f"{row % 7},{row % 5},{row % 2}" for row in range(200)]
        self.path("table.csv", "\n".join(["a,b,class", *rows]) + "\n")
        (self.folder / "job").mkdir()

    def start_train(self, *words):
        """`srun -N 2 -n 4 outpace train`: ranks 0 and 1 on the first machine."""
        return [self.start_on(
            rank // 2, "train", "--token-file", "job/token", "--network", "mlp", "--data",
            "csv:table.csv", "--policy", "sync", "--updates", UPDATES, "--batch", 4, "--out", "run",
            "--json", *words,
            variables={name: str(value) for name, value in {
                "SLURM_PROCID": rank, "SLURM_NTASKS": 4, "SLURM_LOCALID": rank % 2,
                "SLURM_STEP_ID": 0, "SLURM_STEP_NUM_NODES": 2, "SLURM_STEP_NODELIST": "node[1-2]",
                "SLURM_JOB_ID": 4711}.items()})
            for rank in range(4)]

    def make_certificates(self):
        certs = self.start("certs", "job")
        self.assertEqual(certs.wait(), 0, certs.err)

    def assert_all_worked(self, ranks):
        for process in ranks:
            self.assertEqual(process.wait(), 0, process.err)
        summary = json.loads(ranks[0].out)
        self.assertEqual([one["accepted"] for one in summary["workers_detail"]], [UPDATES] * 4)

    def assert_refused(self, process, *said):
        self.assertEqual(process.wait(), 2, process.err)
        for one in said:
            self.assertIn(one, process.err.splitlines()[-1])

    def test_all_ranks_reach_the_first_one_over_tls(self):
        self.make_certificates()
        ranks = self.start_train()
        self.assert_all_worked(ranks)
        self.assertIn("at node1:14711, on all addresses of this machine", ranks[0].err)

    def test_without_certificates_each_says_how_to_make_them(self):
        for process in self.start_train():
            self.assert_refused(process, "make certificates with `outpace certs job`")

    def test_unencrypted_the_first_one_takes_no_name_that_is_only_its_own(self):
        first, *others = self.start_train("--insecure-no-tls")
        self.assert_refused(
            first, "cannot listen on node1:14711: node1 is 127.0.1.1 on this machine, where no other "
            f"machine can connect; write --listen {self.ADDRESSES[0]}:14711, or")
        for process in others:
            process.popen.kill()
            process.wait()
        self.assert_all_worked(
            self.start_train("--insecure-no-tls", "--listen", f"{self.ADDRESSES[0]}:14711"))

    def test_a_server_takes_no_name_that_is_only_its_own(self):
        self.make_certificates()
        self.assert_refused(
            self.start_on(0, "server", "--listen", "node1:4000", "--token-file", "job/token"),
            f"write --listen {self.ADDRESSES[0]}:4000, or --listen 127.0.0.1:4000")

    def test_nor_does_the_page_of_a_run(self):
        self.make_certificates()
        self.assert_refused(
            self.start_on(0, "server", "--listen", f"{self.ADDRESSES[0]}:0", "--token-file", "job/token",
                          "--dashboard=node1:0"),
            "--dashboard node1:0: node1 is 127.0.1.1 on this machine, where no other machine can connect")


if __name__ == "__main__":
    main()
