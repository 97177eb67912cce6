#!/usr/bin/env python3
"""Kills servers at random moments, and says how soon the next one's first update comes.

    make resume-soak KILLS=8        # of each policy

Each run must finish with an exact ledger: every example counts once an epoch.
"""

import json
import random
import signal
import statistics
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from jobs import OUTPACE, LedgerJob, ProgramTest  # noqa: E402

POLICIES = ("sync", "dynamic", "async", "saps:s=8,action=refresh", "ssp:s=2", "softsync:n=2")


def version_of(run):
    """The run's version; None while it has not begun again."""
    asked = subprocess.run([OUTPACE, "ctl", str(run), "status", "--json"], capture_output=True,
                           text=True, check=False)
    return json.loads(asked.stdout)["version"] if asked.returncode == 0 else None


class Soak(ProgramTest):
    def until_version_moves(self, job, begun):
        first = None
        while time.monotonic() - begun < 60:
            version = version_of(job.run)
            if version is not None:
                first = version if first is None else first
                if version > first:
                    return time.monotonic() - begun
        raise AssertionError(f"no update in a minute:\n{job.server.err}")

    def kill_often(self, policy, kills):
        draw = random.Random(policy)
        job = LedgerJob(self, policy, workers=4, examples=1024, epochs=4 * kills,
                        options=("--checkpoint-every", 50))
        seconds = []
        for _ in range(kills):
            job.until_gradients(0, job.gradients(0) + draw.randrange(20, 150))
            job.server.send(signal.SIGKILL)
            job.server.wait()
            begun = time.monotonic()
            job.server = self.start("server", "--resume", job.run, "--json")
            job.server.until_said("listening on")
            seconds.append(self.until_version_moves(job, begun))
        job.finish()
        job.assert_each_example_used(job.summary())
        return seconds

    def runTest(self):  # noqa: N802
        every = []
        for policy in POLICIES:
            seconds = self.kill_often(policy, KILLS)
            every += seconds
            print(f"{policy:26} {len(seconds):3} kills, ledger exact; first new update after "
                  f"{statistics.median(seconds):.2f} s (median), {max(seconds):.2f} s (worst)",
                  flush=True)
            self.setUp()  # A new folder.
        print(f"all: {len(every)} kills, {statistics.median(every):.2f} s (median), "
              f"{max(every):.2f} s (worst)")


if __name__ == "__main__":
    KILLS = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    test = Soak()
    test.setUp()
    try:
        test.runTest()
    finally:
        test.doCleanups()
