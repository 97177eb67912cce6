"""A job array whose tasks are the workers of a server: cancelled, requeued, and started again in mid-run."""

import json

from cluster import wait_until

SECONDS = 90  # Of training; the faults take about 60.


class Run:
    """What the server's record says of the run so far."""

    def __init__(self, docs, folder, server):
        self.docs = docs
        self.path = folder / "runs" / server
        self.folder = folder
        self.server = server

    def events(self):
        """All (kind, worker), of all servers that the run has had."""
        logs = sorted(self.path.glob("earlier/*/decisions.jsonl")) + [self.path / "decisions.jsonl"]
        lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()[1:]]
        events = [json.loads(line).get("event", {}) for line in lines if line.endswith("}")]
        return [(event.get("type"), event.get("worker")) for event in events]

    def count(self, kind, worker):
        return self.events().count((kind, worker))

    def until_contributes(self, worker, joined=1):
        """This worker has joined this often, and has pushed a gradient since."""
        def contributes():
            mine = [kind for kind, one in self.events() if one == worker]
            if mine.count("worker_joined") < joined:
                return False
            last = len(mine) - 1 - mine[::-1].index("worker_joined")
            return "gradient_arrived" in mine[last:]
        self.wait(contributes, f"a gradient of worker {worker}, which joins {joined} times")

    def until_left(self, worker, left=1):
        self.wait(lambda: self.count("worker_left", worker) >= left, f"worker {worker} to leave")

    def wait(self, condition, what):
        try:
            wait_until(condition, what, 120)
        except AssertionError as error:
            said = [path.read_text()[-3000:] for path in sorted(self.folder.glob("slurm-*.out"))]
            raise AssertionError("\n".join([str(error), *said])) from None


def workers_come_and_go(docs):
    cluster = docs.cluster
    folder = docs.make_job("array")
    server = docs.submit(folder, "--seconds", SECONDS, "--checkpoint-every", "5s", script="server.sbatch")
    array = docs.submit(folder, server, script="workers.sbatch", options=(f"--dependency=after:{server}",))
    run = Run(docs, folder, server)
    run.until_contributes(0)
    run.until_contributes(1)
    cluster.ask("scancel", f"{array}_1")         # The next index takes its place.
    run.until_left(1)
    run.until_contributes(2)
    cluster.ask("scontrol", "requeue", f"{array}_0")
    run.until_left(0)
    run.until_contributes(3)
    cluster.ask("scancel", f"{array}_2")
    run.until_left(2)
    run.until_contributes(0, joined=2)           # Slurm started it again.
    again = docs.submit(folder, server, script="workers.sbatch", options=("--array=1",))
    run.until_contributes(1, joined=2)           # This test did.
    cluster.ask("scontrol", "requeue", server)
    wait_until(lambda: "goes on from update" in docs.output(folder, server), "the server to go on", 120)
    state = docs.until_over(server, 300)
    tasks = {f"{array}_0": "COMPLETED", f"{array}_1": "CANCELLED", f"{array}_2": "CANCELLED",
             f"{array}_3": "COMPLETED", f"{again}_1": "COMPLETED"}
    ended = {task: docs.until_over(task) for task in tasks}
    summary = docs.summary(folder, server)
    used = summary.get("examples_used_per_epoch_min"), summary.get("examples_used_per_epoch_max")
    came = [one["incarnations"] for one in summary.get("workers_detail", [])]
    took_part = [one["accepted"] > 0 for one in summary.get("workers_detail", [])]
    docs.say("job array", "sbatch server.sbatch, workers.sbatch; scancel and requeue of tasks, and of the server",
             f"{state}, {summary.get('why_ended')}; ranks 0 to 3 joined {', '.join(map(str, came))} times; "
             f"{summary.get('updates', 0):,} updates; each example used {used[0]} to {used[1]} times an epoch",
             state == "COMPLETED" and summary.get("why_ended") == "time is up" and used == (1, 1)
             and ended == tasks and all(took_part) and len(came) == 4)
    if not docs.rows[-1][-1]:
        print(ended, docs.output(folder, server))
