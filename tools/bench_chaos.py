"""Goodput while workers die and come back: Outpace's policies beside elastic DDP, in one run.

Eight workers train the same perceptron on Fashion-MNIST with the same mini-batches and delays. Each
worker is killed at random moments, on average every 60, 30 and 15 seconds, and comes back after a
second. The deaths are drawn from a seed, and are the same for every system.

Goodput is applied examples a second. What died with a process, and was computed again, counts once.
Each cell is the goodput and its share of the same system's without deaths.

  outpace      the server lives; each worker is started again alone
  elastic DDP  torchrun stops and restarts all workers; rank 0 writes a checkpoint every 10 s

`make bench-chaos` runs this; docs/chaos.md says how to read it.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import measured_runs
from measured_runs import RunFailed

PEER = "elastic DDP"
POLICIES = ("dynamic", "async", "sync")
BETWEEN_DEATHS = (60.0, 30.0, 15.0)  # Seconds, of one worker, on average.
BACK_AFTER = 1.0
TO_START = 120.0


def draw_deaths(seed, workers, between, seconds):
    """[(seconds since the start, worker)], in order; none if `between` is None."""
    deaths = []
    for worker in range(workers if between else 0):
        draw = random.Random(f"{seed} {worker}")
        at = draw.expovariate(1.0 / between)
        while at < seconds:
            deaths.append((at, worker))
            at += BACK_AFTER + draw.expovariate(1.0 / between)
    return sorted(deaths)


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise RunFailed(f"after {seconds:g} s still waiting for {what}")
        time.sleep(0.02)


def kill_all(processes):
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class OutpaceJob:
    """A server and its workers, started as processes of this one."""

    def __init__(self, options, policy, folder):
        self.options, self.folder = options, folder
        self.variables = {name: value for name, value in os.environ.items()
                          if not name.startswith("OUTPACE_")}
        self.delays = folder / "delays.csv"
        self.delays.write_text(",".join([str(options.delay)] * options.workers) + "\n")
        self.server = self.start(
            "server", "--policy", policy, "--workers", options.workers, "--batch", options.batch,
            "--lr", 0.1, "--epochs", 100000, "--listen", f"unix:{folder}/s", "--token-file",
            folder / "token", "--out", folder / "run", "--heartbeat-timeout", "5s",
            "--checkpoint-every", "10s", "--json", log="server")
        self.workers = []

    def begin(self):
        wait_until(lambda: "listening on" in (self.folder / "server.err").read_text(), TO_START,
                   "the server")
        self.workers = [self.start_worker(worker) for worker in range(self.options.workers)]
        wait_until(lambda: self.examples() > 0, TO_START, "the first update")

    def start(self, *words, log):
        command = [self.options.outpace, *map(str, words)]
        with open(self.folder / f"{log}.out", "w") as out, \
                open(self.folder / f"{log}.err", "w") as err:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                    start_new_session=True, env=self.variables)

    def start_worker(self, worker):
        return self.start("worker", "--server", f"unix:{self.folder}/s", "--token-file",
                          self.folder / "token", "--worker", worker, "--workers",
                          self.options.workers, "--network", "mlp", "--data", "fashion-mnist",
                          "--delays", self.delays, log=f"worker-{worker}")

    def examples(self):
        """Applied so far, as the run's metrics say."""
        path = self.folder / "run" / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        for line in reversed(lines):
            try:
                return json.loads(line).get("examples", 0)
            except ValueError:
                continue
        return 0

    def kill(self, worker):
        if self.workers[worker].poll() is not None:
            return False
        kill_all([self.workers[worker]])
        return True

    def come_back(self, worker):
        if self.workers[worker].poll() is not None:
            self.workers[worker] = self.start_worker(worker)

    def end(self):
        """Applied examples, and in how many seconds of the run's clock."""
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(60)
        kill_all(self.workers)
        result = measured_runs.last_json_object((self.folder / "server.out").read_text())
        if result is None:
            raise RunFailed((self.folder / "server.err").read_text()[-1000:])
        return result["examples"], result["seconds"]

    def clean(self):
        kill_all([self.server, *self.workers])


class PeerJob:
    """torchrun and its workers; it brings dead ones back itself, by starting all again."""

    def __init__(self, options, _policy, folder):
        self.folder = folder
        self.batch = options.batch * options.workers
        script = pathlib.Path(__file__).with_name("elastic_ddp.py")
        with open(folder / "log", "w") as log:
            self.torchrun = subprocess.Popen(
                [options.torchrun, "--standalone", "--nnodes=1",
                 f"--nproc_per_node={options.workers}", "--max_restarts=100000",
                 # By its defaults, torchrun 1.13 fails with Python 3.11.
                 "--monitor_interval=0.5", "--redirects=1", "--tee=1", str(script), "--folder",
                 str(folder), "--batch", str(options.batch), "--delay", str(options.delay), "--checkpoint-every", "10"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        self.first = None

    def begin(self):
        wait_until(lambda: self.progress() is not None, TO_START, "the first step of DDP")
        self.first = self.progress()

    def progress(self):
        """(step, time of it); None before the first."""
        try:
            words = (self.folder / "progress").read_text().split()
            return int(words[0]), float(words[1])
        except (OSError, ValueError, IndexError):
            return None

    def workers(self):
        """{rank: process id} of those that there are now."""
        found = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(stat.read_text().rpartition(")")[2].split()[1])
                if parent == self.torchrun.pid:
                    words = (stat.parent / "environ").read_bytes().decode().split("\0")
                    ranks = [word[5:] for word in words if word.startswith("RANK=")]
                    found.update({int(rank): int(stat.parent.name) for rank in ranks})
            except (OSError, ValueError):
                pass
        return found

    def kill(self, worker):
        process = self.workers().get(worker)
        if process is None:
            return False  # All are being restarted.
        os.kill(process, signal.SIGKILL)
        return True

    def come_back(self, worker):
        pass

    def end(self):
        step, at = self.progress()
        self.clean()
        return (step - self.first[0]) * self.batch, max(at, time.monotonic()) - self.first[1]

    def clean(self):
        ranks = self.workers()
        kill_all([self.torchrun])
        for process in ranks.values():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


def goodput(options, system, between):
    """(examples a second, deaths)."""
    deaths = draw_deaths(options.seed, options.workers, between, options.seconds)
    events = sorted([(at, "kill", worker) for at, worker in deaths] +
                    [(at + BACK_AFTER, "come_back", worker) for at, worker in deaths])
    died = 0
    with tempfile.TemporaryDirectory(prefix="bench-chaos-") as folder:
        job = (PeerJob if system == PEER else OutpaceJob)(options, system, pathlib.Path(folder))
        try:
            job.begin()
            begun = time.monotonic()
            for at, what, worker in [*events, (options.seconds, "end", 0)]:
                time.sleep(max(0.0, begun + min(at, options.seconds) - time.monotonic()))
                if what == "kill":
                    died += job.kill(worker)
                elif what == "come_back" and at < options.seconds:
                    job.come_back(worker)
            examples, seconds = job.end()
        finally:
            job.clean()
    return examples / seconds, died


def cell(rate, without):
    return f"{rate:.0f} ({100 * rate / without:.0f} %)" if without else f"{rate:.0f}"


def measure(options):
    rows = [("goodput, examples/s", "no deaths",
             *(f"every {between:g} s" for between in options.between))]
    for system in options.systems:
        without, _ = goodput(options, system, None)
        cells, all_died = [f"{without:.0f}"], []
        for between in options.between:
            rate, died = goodput(options, system, between)
            cells.append(cell(rate, without))
            all_died.append(died)
        print(f"{system}: {', '.join(cells)}; deaths {', '.join(map(str, all_died))}", flush=True)
        rows.append((system, *cells))
    return rows


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outpace", default="build/release/outpace")
    parser.add_argument("--torchrun", default="/usr/bin/torchrun")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds of a mini-batch")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--between", type=float, nargs="+", default=list(BETWEEN_DEATHS))
    parser.add_argument("--systems", nargs="+", default=[*POLICIES, PEER])
    options = parser.parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # What was started ends first.
    measured_runs.quiet_or_warn()
    try:
        print("\n" + "\n".join(measured_runs.table(measure(options))))
    except RunFailed as error:
        print(f"bench_chaos: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
