"""`outpace doctor`: a healthy machine, one without shared memory, a full disk, and the way to a server."""

import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import OUTPACE, ProgramTest, main  # noqa: E402
from namespaces import TwoHosts  # noqa: E402

FAKETIME = next(iter(sorted(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def why_no_mounts():
    """Why a process cannot have mounts of its own here; empty if it can."""
    tried = subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True,
                           text=True, check=False)
    return tried.stderr.strip()


NO_MOUNTS = why_no_mounts()


def lines_of(process):
    """{what: (grade, words)}"""
    found = re.findall(r"^(ok|mind|BAD) +(\S(?:.{0,13}?\S)?)  +(.*)$", process.out, re.MULTILINE)
    return {what: (grade, words) for grade, what, words in found}


class Machine(ProgramTest):
    def doctor(self, *words, code=0):
        process = self.start("doctor", *words)
        self.assertEqual(process.wait(), code, process.err + process.out)
        return lines_of(process), process.out.splitlines()[-1]

    def in_a_mount_of_its_own(self, before, *words):
        process = self.start("--mount", "sh", "-c", f"{before} && exec {OUTPACE} doctor {' '.join(words)}",
                             program="unshare")
        process.wait()
        return lines_of(process), process

    def test_a_healthy_machine(self):
        found, last = self.doctor("--out", self.folder / "runs")
        for what in ("program", "memory", "open files", "disk", "loopback", "clock"):
            self.assertEqual(found[what][0], "ok", found[what])
        self.assertIn("cores", found)
        self.assertIn("wire protocol", found["program"][1])
        self.assertIn("torch", found["python"][1])
        self.assertTrue(last.startswith("nothing is in the way of a run"), last)
        self.assertFalse((self.folder / "runs").exists(), "it leaves nothing")

    @unittest.skipIf(NO_MOUNTS, NO_MOUNTS)
    def test_a_machine_without_shared_memory(self):
        found, process = self.in_a_mount_of_its_own(
            "(umount -l /dev/shm 2>/dev/null || true) && mount -t tmpfs -o size=64k,mode=555 none /dev/shm",
            "--python", "''")
        self.assertEqual(process.popen.returncode, 0, process.out)
        self.assertEqual(found["shared memory"][0], "mind")
        self.assertIn("DataLoader", found["shared memory"][1])

    @unittest.skipIf(NO_MOUNTS, NO_MOUNTS)
    def test_a_full_disk(self):
        full = self.folder / "full"
        full.mkdir()
        found, process = self.in_a_mount_of_its_own(
            f"mount -t tmpfs -o size=64k none {full} && (cat /dev/zero > {full}/all 2>/dev/null || true)",
            "--python", "''", "--out", f"{full}/runs")
        self.assertEqual(process.popen.returncode, 1, process.out)
        self.assertEqual(found["disk"][0], "BAD")
        self.assertIn("No space left on device", found["disk"][1])
        self.assertEqual(process.out.splitlines()[-1], "one thing is in the way of a run")

    def test_a_python_that_is_none(self):
        found, _ = self.doctor("--python", "no-python")
        self.assertEqual(found["python"][0], "mind")
        self.assertIn("no-python: ", found["python"][1])

    def test_bad_input(self):
        for words, says in ((("--code-file", self.folder / "none"), "none"),
                            (("--code-file", self.path("code", "outpace1aaaa\n")), "code"),
                            (("--serve", "x"), "unknown option")):
            process = self.start("doctor", "--python", "", *words)
            self.assertEqual(process.wait(), 2, process.out)
            self.assertIn(says, process.err)
            self.assertEqual(len(process.err.splitlines()), 1)


class Server(TwoHosts):
    """From another host, over TLS."""

    def setUp(self):
        super().setUp()
        self.server = self.start_on(0, "server", "--listen", f"{self.ADDRESSES[0]}:4000", "--workers", 2,
                                    "--out", "run")
        self.server.until_said("machines join by: outpace join outpace1")
        self.code = self.path("code", self.server.err.partition("outpace join ")[2].split()[0] + "\n")

    def doctor(self, *words, code, variables=None):
        process = self.start_on(1, "doctor", "--python", "", *words, **({"variables": variables} if variables else {}))
        self.assertEqual(process.wait(), code, process.err + process.out)
        return lines_of(process)

    def test_the_run_takes_it(self):
        self.assertEqual(self.doctor("--code-file", self.code, code=0)["code"][0], "ok")
        port = self.doctor("--server", f"{self.ADDRESSES[0]}:4000", code=0)["port"]
        self.assertEqual(port[0], "ok")
        self.assertRegex(port[1], r"answers, after \d+\.\d ms")

    def test_a_closed_port(self):
        port = self.doctor("--server", f"{self.ADDRESSES[0]}:4001", code=1)["port"]
        self.assertEqual(port[0], "BAD")
        self.assertIn("Connection refused", port[1])
        self.assertIn("firewall", port[1])
        code = self.doctor("--server", f"{self.ADDRESSES[0]}:4001", "--code-file", self.code, code=1)["code"]
        self.assertIn("Connection refused", code[1])

    def test_a_clock_that_is_wrong(self):
        self.assertIsNotNone(FAKETIME, "tools/install-packages.sh test")
        found = self.doctor("--code-file", self.code, code=1,
                            variables={"LD_PRELOAD": str(FAKETIME), "FAKETIME": "-10d",
                                       "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"})
        self.assertEqual(found["code"][0], "BAD")
        self.assertIn("is the clock of this machine right?", found["code"][1])


if __name__ == "__main__":
    main()
