"""The commands of examples/kubernetes, each as process 1 of its namespace, ended as a kubelet ends pods."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
from jobs import (OUTPACE, ProgramTest, children_of, main, read_json_lines, wait_until,  # noqa: E402
                  whole_checkpoints)
from launch_test import free_port  # noqa: E402

MANIFEST = pathlib.Path(__file__).parents[2] / "examples/kubernetes/workers_come_and_go.yaml"
LEFT = 2.0 + 3.0  # Seconds: what a worker has, and what a busy machine adds.


def command_of(container):
    """What the shell of this container is told."""
    text = MANIFEST.read_text().partition(f"- name: {container}\n")[2]
    block = text.partition("- >-\n")[2].splitlines()
    indented = len(block[0]) - len(block[0].lstrip())
    lines = []
    for line in block:
        if len(line) - len(line.lstrip()) < indented:
            break
        lines.append(line.strip())
    return " ".join(lines)


def grace_of(container):
    """Seconds between SIGTERM and SIGKILL."""
    before = MANIFEST.read_text().partition(f"- name: {container}\n")[0]
    return int(re.findall(r"terminationGracePeriodSeconds: (\d+)", before)[-1])


PRE_STOP = re.search(r'preStop:\s+exec: \{command: (\[.*?\])\}', MANIFEST.read_text())[1]


def why_not():
    """Why there can be no namespace of processes here; empty if there can."""
    if not shutil.which("unshare"):
        return "there is no unshare: apt install util-linux"
    tried = subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, text=True,
                           check=False)
    return tried.stderr.strip()


class Pod:
    """A container with one process, which sees itself as process 1."""

    def __init__(self, test, container, command, variables):
        self.container = container
        environment = {"PATH": f"{pathlib.Path(OUTPACE).parent}:{os.environ['PATH']}", **variables}
        self.process = test.start("--pid", "--fork", "--kill-child", "/bin/sh", "-c", command,
                                  program="unshare", variables=environment)
        self.first = wait_until(lambda: next(iter(children_of(self.process.id)), None), "process 1")

    def delete(self, pre_stop=False):
        """The hook, then SIGTERM. Returns exit code and seconds."""
        begun = time.monotonic()
        if pre_stop:
            subprocess.run(["nsenter", "--target", str(self.first), "--pid", *json.loads(PRE_STOP)],
                           capture_output=True, check=False)
        else:
            os.kill(self.first, signal.SIGTERM)
        code = self.process.wait(grace_of(self.container))
        return code, time.monotonic() - begun


@unittest.skipIf(why_not(), why_not())
class Pods(ProgramTest):
    def setUp(self):
        super().setUp()
        rows = [f"{row % 7},{row % 5},{row % 2}" for row in range(256)]
        self.path("table.csv", "\n".join(["a,b,class", *rows, ""]))
        self.path("job").mkdir()
        self.assertEqual(self.start("certs", "job").wait(), 0)
        self.path("job/token", "a-token-of-the-test\n")
        self.volume = self.path("volume")
        self.volume.mkdir()
        self.run_directory = self.volume / "run"
        self.port = free_port()

    def start_pod(self, container, words="", **variables):
        own = self.path(f"own-{next(self.names)}")
        own.mkdir()
        folders = {"secret": self.path("job"), "tmp": own, "job": self.volume}
        command = re.sub(r"(?<![\w/])/(secret|tmp|job)\b", lambda found: str(folders[found[1]]),
                         command_of(container))
        for written, here in ((" --epochs 20", " --epochs 100000 --batch 8"),
                              ("fashion-mnist", f"csv:{self.folder}/table.csv"),
                              (" --resume", f"{words} --resume")):
            command = command.replace(written, here)
        command = re.sub(r"(outpace-server-0\.outpace|0\.0\.0\.0):4000", f"127.0.0.1:{self.port}", command)
        return Pod(self, container, command, variables)

    def start_worker(self, rank):
        return self.start_pod("worker", JOB_COMPLETION_INDEX=str(rank))

    def until_contributes(self, *ranks):
        """A gradient of each rank since it last joined, in the record of the present server."""
        def contribute():
            self.assertTrue(self.server.process.running(), self.server.process.err)
            events = [line["event"] for line in read_json_lines(self.run_directory / "decisions.jsonl")[1:]]
            last = {}
            for event in events:
                if event["type"] in ("worker_joined", "worker_left", "gradient_arrived"):
                    last[event["worker"]] = event["type"]
            return all(last.get(rank) == "gradient_arrived" for rank in ranks)
        wait_until(contribute, f"gradients of {ranks}")

    def test_are_drained_and_come_back(self):
        self.server = self.start_pod("server")
        self.server.process.until_said("listening on")
        workers = [self.start_worker(rank) for rank in range(3)]
        self.until_contributes(0, 1, 2)

        # Kubernetes takes exit code 0 for an index that is done, and starts it again after another.
        code, seconds = workers[1].delete(pre_stop=True)
        self.assertEqual(code, 128 + signal.SIGINT, workers[1].process.err)
        self.assertLess(seconds, LEFT)
        code, seconds = workers[2].delete()
        self.assertEqual(code, 0, workers[2].process.err)
        self.assertLess(seconds, LEFT)
        for rank in (1, 2):
            self.server.process.until_said(f"worker {rank} has left")
        workers[1] = self.start_worker(1)
        self.until_contributes(0, 1)

        code, _ = self.server.delete()
        self.assertEqual(code, 128 + signal.SIGTERM, self.server.process.err)
        at = json.loads((self.run_directory / "summary.json").read_text())["updates"]
        self.assertEqual(int(whole_checkpoints(self.run_directory)[-1].name.partition("-u")[2]), at)
        for worker in workers[:2]:
            self.assertEqual(worker.process.wait(), 1, worker.process.err)

        inspected = self.start("checkpoint", "inspect", self.run_directory)
        self.assertEqual(inspected.wait(), 0, inspected.err)
        epochs = json.loads(inspected.out)["coordinator"]["leases"]["epoch"] + 20
        self.server = self.start_pod("server", f" --epochs {epochs}")
        again = [self.start_worker(rank) for rank in range(2)]
        for pod in (self.server, *again):
            self.assertEqual(pod.process.wait(), 0, pod.process.err)
        self.assertIn(f"goes on from update {at:,}".replace(",", ""), self.server.process.err.replace(",", ""))
        self.assertNotIn("are lost", self.server.process.err)
        summary = json.loads((self.run_directory / "summary.json").read_text())
        self.assertEqual((summary["epochs_complete"], summary["examples_used_per_epoch_min"],
                          summary["examples_used_per_epoch_max"]), (epochs, 1, 1))
        self.assertGreaterEqual(summary["workers_detail"][1]["incarnations"], 3)
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
