"""liboutpace.so as a C program uses it: real servers, and workers written in C."""

import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main  # noqa: E402

C_WORKER = os.environ.get("C_WORKER", "")
LIBRARY = os.environ.get("C_LIBRARY", "")


class CJob(LedgerJob):
    def start_worker(self, worker, batch_seconds, *options):
        return self.test.start(f"unix:{self.test.folder}/s", self.token, worker, self.examples,
                               program=C_WORKER)


class Worker(ProgramTest):
    def test_applies_each_example_once_an_epoch(self):
        job = CJob(self, "async", workers=3, examples=256)
        job.finish()
        job.assert_each_example_used(job.summary())

    def test_ends_with_the_servers_code(self):
        self.path("token", "not-the-secret-of-this-job\n")
        server = self.start("server", "--workers", 1, "--listen", f"unix:{self.folder}/s",
                            "--token-file", "other")
        server.until_said("listening on")
        worker = self.start(f"unix:{self.folder}/s", "token", 0, 16, program=C_WORKER)
        self.assertEqual(worker.wait(), 3, worker.err)
        self.assertIn("c_worker: ", worker.err)

    def test_names_a_variable_that_is_wrong(self):
        worker = self.start("unix:s", "token", "first", 16, program=C_WORKER)
        self.assertEqual(worker.wait(), 2, worker.err)


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitizer's library has names of its own")
class Library(unittest.TestCase):
    def tool(self, *words):
        return subprocess.run([*words, LIBRARY], check=True, capture_output=True, text=True).stdout

    def test_exports_only_c_functions(self):
        names = [line.split()[-1] for line in
                 self.tool("nm", "-D", "--defined-only").splitlines()]
        self.assertGreater(len(names), 5)
        self.assertEqual([name for name in names if not name.startswith("outpace_")], [])

    def test_needs_nothing_that_the_wheel_or_a_bare_debian_has_not(self):
        needed = {line.partition("[")[2].rstrip("]") for line in
                  self.tool("readelf", "-d").splitlines() if "(NEEDED)" in line}
        self.assertLessEqual(needed, {"libprotobuf-lite.so.32", "libisal.so.2", "libm.so.6",
                                      "libc.so.6", "ld-linux-x86-64.so.2"})


if __name__ == "__main__":
    main()
