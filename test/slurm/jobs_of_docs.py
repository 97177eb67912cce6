"""docs/slurm.md on a real Slurm: srun on two nodes, scancel, requeue, a node that dies, a time limit, a job array.

Prints what happened.

  python3 -B test/slurm/jobs_of_docs.py build/release        # takes root; make test-slurm
"""

import json
import pathlib
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
from cluster import Cluster, wait_until  # noqa: E402
from job_array import workers_come_and_go  # noqa: E402
from time_limit import in_turns  # noqa: E402

HERE = pathlib.Path(__file__).resolve()
SCRIPTS = HERE.parents[2] / "examples/slurm"
WORK = ("--network", "mlp", "--data", "fashion-mnist", "--updates", "200")
LONG = ("--epochs", "1000", "--checkpoint-every", "1s")


class Docs:
    """The commands of docs/slurm.md, each in a folder of its own that all nodes see."""

    def __init__(self, cluster, folder):
        self.cluster = cluster
        self.folder = folder
        self.rows = []

    def say(self, case, command, happened, right):
        self.rows.append((case, command, happened, right))
        print(f"{'ok ' if right else 'NOT'} {case}: {happened}", flush=True)

    def make_job(self, name, certificates=True):
        folder = self.folder / name
        (folder / "job").mkdir(parents=True)
        if certificates:
            self.cluster.run("outpace", "certs", "job", cwd=folder, check=True)
        for script in SCRIPTS.glob("*.sbatch"):
            shutil.copy(script, folder)
        return folder

    def submit(self, folder, *words, script="train.sbatch", options=()):
        done = self.cluster.run("sbatch", "--parsable", *options, script, *words, cwd=folder, check=True)
        return done.stdout.strip()

    def output(self, folder, job):
        """A task of an array is JOB_INDEX."""
        path = folder / f"slurm-{job}.out"
        return path.read_text() if path.exists() else ""

    def updates(self, folder, job):
        """Of the newest checkpoint."""
        names = [path.name for path in (folder / "runs" / job / "checkpoints").glob("g*-u*")
                 if not path.name.endswith(".unfinished")]
        return max((int(name.partition("-u")[2]) for name in names), default=0)

    def until_trained(self, folder, job, more_than=0):
        try:
            wait_until(lambda: self.updates(folder, job) > more_than, "a checkpoint of the run", 120)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.output(folder, job)}") from None

    def until_over(self, job, seconds=120):
        over = ("COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT")
        return wait_until(lambda: next((state for state in (self.cluster.job_state(job),)
                                        if state in over), None), f"the end of job {job}", seconds)

    def summary(self, folder, job):
        path = folder / "runs" / job / "summary.json"
        return json.loads(path.read_text()) if path.exists() else {}

    # ---- What the page says ----

    def srun(self, case, certificates, *options):
        folder = self.make_job(case, certificates)
        done = self.cluster.run("srun", "-N", 2, "-n", 4, "outpace", "train", "--token-file",
                                "job/token", *WORK, "--out", "run", "--json", *options,
                                on="n1", cwd=folder)
        return folder, done

    def srun_with_certificates(self):
        folder, done = self.srun("certificates", True)
        path = folder / "run" / "summary.json"
        summary = json.loads(path.read_text()) if path.exists() else {}
        accepted = [one["accepted"] for one in summary.get("workers_detail", [])]
        hosts = {line.split()[0] for line in done.stderr.splitlines() if "of 4, local rank" in line}
        self.say("srun", "srun -N 2 -n 4 outpace train --token-file job/token",
                 f"exit {done.returncode}, {len([one for one in accepted if one])} of 4 workers trained, "
                 f"{summary.get('updates', 0)} updates" + self.last_line(done),
                 done.returncode == 0 and len(accepted) == 4 and all(accepted) and bool(hosts))

    def last_line(self, done):
        if done.returncode == 0:
            return ""
        lines = [line for line in done.stderr.splitlines() if "outpace: " in line]
        return "; " + (lines[-1] if lines else done.stderr[-200:])

    def srun_without_certificates(self):
        _, done = self.srun("bare", False)
        said = "make certificates with `outpace certs job`" in done.stderr
        self.say("no certificates", "the same, without outpace certs job",
                 f"exit {done.returncode}" + self.last_line(done), done.returncode != 0 and said)

    def cancelled(self):
        folder = self.make_job("cancelled")
        job = self.submit(folder, *LONG)
        self.until_trained(folder, job)
        self.cluster.ask("scancel", job)
        state = self.until_over(job)
        wait_until(lambda: set(self.cluster.states().values()) == {"idle"}, "idle nodes")
        summary = self.summary(folder, job)
        weights = (folder / "runs" / job / "weights.safetensors").exists()
        self.say("scancel", "sbatch train.sbatch; scancel JOB",
                 f"{state}; ended: {summary.get('why_ended')}; weights "
                 f"{'written' if weights else 'missing'}",
                 state == "CANCELLED" and weights and "why_ended" in summary)

    def requeued(self):
        self.sent_back("requeued", "requeue", "scontrol", "requeue")

    def signalled(self):
        self.sent_back("signalled", "signal", "scancel", "--signal=TERM")

    def sent_back(self, name, case, *command):
        folder = self.make_job(name)
        job = self.submit(folder, *LONG)
        self.until_trained(folder, job)
        self.cluster.ask(*command, job)
        wait_until(lambda: "goes on from update" in self.output(folder, job),
                   "the job to go on after it was requeued", 240)
        went_on = int(re.search(r"goes on from update ([\d,]+)",
                                self.output(folder, job))[1].replace(",", ""))
        self.until_trained(folder, job, more_than=went_on)
        self.cluster.ask("scancel", job)
        self.until_over(job)
        self.say(case, f"sbatch train.sbatch; {' '.join(command)} JOB",
                 f"goes on from update {went_on:,}; then {self.updates(folder, job):,} updates",
                 0 < went_on < self.updates(folder, job))

    def node_down(self):
        folder = self.make_job("down")
        job = self.submit(folder, *LONG)
        self.until_trained(folder, job)
        self.cluster.kill_node("n2")
        wait_until(lambda: self.output(folder, job).count("taken for dead") +
                   self.output(folder, job).count("connection lost") >= 2,
                   "the server to miss two workers", 120)
        wait_until(lambda: self.cluster.states().get("n2", "").startswith("down"), "n2 to be down")
        before = self.updates(folder, job)
        self.until_trained(folder, job, more_than=before)
        state = self.cluster.job_state(job)
        self.cluster.ask("scancel", job)
        self.until_over(job)
        self.say("node down", "sbatch train.sbatch; n2 loses its power",
                 f"{state} while n2 is down; {before:,} updates by then, "
                 f"{self.updates(folder, job):,} later",
                 state == "RUNNING" and self.updates(folder, job) > before)
        self.cluster.restore_node("n2")

    def time_limit(self):
        in_turns(self)

    def job_array(self):
        workers_come_and_go(self)

    def table(self):
        lines = ["", "| case | command | what happened | |", "|---|---|---|---|"]
        lines += [f"| {case} | {command} | {happened} | {'as documented' if right else 'WRONG'} |"
                  for case, command, happened, right in self.rows]
        return "\n".join(lines)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="outpace-slurm-"))
    cluster = Cluster(folder / "slurm")
    cluster.environment["PATH"] = f"{build}:{cluster.environment['PATH']}"
    docs = Docs(cluster, folder)
    cases = [docs.srun_without_certificates, docs.srun_with_certificates, docs.cancelled,
             docs.requeued, docs.signalled, docs.node_down, docs.time_limit, docs.job_array]
    wanted = sys.argv[2:]
    try:
        cluster.start()
        for case in cases:
            if not wanted or case.__name__ in wanted:
                case()
    finally:
        cluster.stop()
        print(docs.table(), flush=True)
    shutil.rmtree(folder)
    return 0 if docs.rows and all(row[3] for row in docs.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
