"""What is on a worker is on all: first values, buffers, averages, and the optimizer's state."""

import json
import operator
import signal
import struct
import sys

sys.dont_write_bytecode = True
from jobs import main  # noqa: E402
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest  # noqa: E402

STATE = SCRIPTS / "state.py"


def numbers_of(path, name):
    """The float32 numbers of one tensor of a safetensors file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + length])[name]["data_offsets"]
    return list(struct.unpack(f"<{(end - begin) // 4}f", data[8 + length:][begin:end]))


class State(PythonTest):
    def case(self, *words, policy="sync", code=0, options=()):
        """What the processes printed last, by process, and what the run said."""
        self.run = self.folder / "-".join(("run", *words))
        job = self.start("run", "--workers", 2, "--policy", policy, "--out", self.run, "--json",
                         *options, "--show-output", "all", "--", PYTHON, "-B", STATE, *words,
                         variables={"PYTHONPATH": PACKAGE})
        self.assertEqual(job.wait(), code, job.err)
        self.assert_nothing_left()
        found = {}
        for log in sorted((self.run / "logs").glob("*.out")):
            for line in log.read_text().splitlines():
                if line.startswith("{"):
                    found[log.stem] = json.loads(line)
        return found, job.err

    def last_loss(self):
        lines = (self.run / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines][-1]["loss"]

    def test_frozen_layers_and_buffers_are_worker_0s_everywhere(self):
        found, _ = self.case("unseeded")
        self.assertEqual(len(found), 3, "two workers and the evaluator")
        self.assertEqual(len({one["before"] for one in found.values()}), 3)
        for name in ("frozen", "buffers"):
            self.assertEqual(len({str(one[name]) for one in found.values()}), 1, name)
        flat = [number for row in found["worker-1"]["frozen"] for number in row]
        for path in (self.run / "constants.safetensors", self.folder / "net.safetensors"):
            self.assertEqual(numbers_of(path, "frozen.weight"), flat)

    def test_worker_0s_checkpoint_is_where_the_run_begins(self):
        server = self.server("--policy", "sync", workers=2)
        first = self.python(STATE, "loads", rank=1)
        self.until(first, lambda: self.waits(first), "worker 1 to wait for worker 0")
        second = self.python(STATE, "loads", rank=0)
        self.finish(server, first, second)
        for worker in (first, second):
            self.assertEqual(self.lines(worker)[-1]["weight"], 100.0)

    def test_spectral_normalisation_is_right_in_the_evaluator(self):
        for style in ("old", "new"):
            found, _ = self.case("spectral", style)
            for worker in (0, 1):
                self.assertLess(found[f"worker-{worker}"]["loss"], 0.05)
            self.assertLess(self.last_loss(), 0.05)
            self.assertGreater(found["evaluator"]["steps"], 0)

    def test_a_scripts_own_average_is_what_the_evaluator_measures(self):
        found, _ = self.case("averaged", "yes")
        self.assertGreater(found["worker-0"]["averaged"], 20)
        self.assertAlmostEqual(self.last_loss(), found["worker-0"]["loss"], delta=0.01)
        self.assertLess(self.last_loss(), 0.1)

    def test_an_average_that_does_not_travel_is_not_measured(self):
        _, said = self.case("averaged", "no")
        self.assertIn("write job.wrap(net, optimizer, averages=it)", said)
        self.assertNotIn("accuracy", (self.run / "metrics.jsonl").read_text())

    def test_the_state_of_the_optimizer_is_refused_and_not_empty(self):
        _, said = self.case("moments", code=2)
        self.assertIn("optimizer.state_dict(): the server makes this optimizer's steps and has its "
                      "state", said)
        self.assertFalse((self.folder / "checkpoint.pt").exists())

    def off(self, when, *kinds, options=()):
        """How far the run's last weights are from PyTorch's, for each kind of optimizer."""
        found, _ = self.case("checkpoint", when, *kinds, options=("--batch", 320, *options))
        weights = self.run / "weights.safetensors"
        names = [f"{i}.weight" for i in range(len(kinds))] if len(kinds) > 1 else ["weight"]
        return [max(map(abs, map(operator.sub, numbers_of(weights, name), right)))
                for name, right in zip(names, found["worker-0"]["right"])]

    def test_a_checkpoint_of_pytorch_goes_on_with_its_moments(self):
        for kinds in (("momentum",), ("adam", "adamw", "rmsprop", "adagrad", "adadelta")):
            for when in ("before", "after"):
                for kind, off in zip(kinds, self.off(when, *kinds)):
                    self.assertLess(off, 2e-6, (kind, when))
            for kind, off in zip(kinds, self.off("weights", *kinds)):
                self.assertGreater(off, 1e-4, kind)  # As it would be without them.

    def test_moments_that_count_for_nothing_are_named(self):
        self.off("before", "adam")
        weights = self.run / "weights.safetensors"
        weights.rename(self.folder / "w.safetensors")
        self.run.rename(self.folder / "first")
        self.off("before", "adam", options=("--weights", self.folder / "w.safetensors"))
        self.assertIn("and not with the state that this script's optimizer has loaded",
                      (self.run / "logs" / "worker-0.out").read_text())

    def test_a_run_from_a_file_begins_with_its_buffers(self):
        self.case("goes_on")
        weights = self.run / "weights.safetensors"
        steps, = numbers_of(weights, "steps")
        mean = numbers_of(weights, "1.running_mean")[0]
        self.assertGreater(steps, 20)
        self.run.rename(self.folder / "before")
        found, _ = self.case("goes_on", options=("--weights", self.folder / "before" / weights.name))
        for worker in ("worker-0", "worker-1"):
            self.assertEqual(found[worker]["begun"][0], steps)
            self.assertAlmostEqual(found[worker]["begun"][1], mean, places=6)
            self.assertGreater(found[worker]["steps"], steps + 20)
        self.assertIn("the server has no frozen parameters and buffers of this network",
                      (self.run / "logs" / "worker-0.log").read_text())
        measured = json.loads((self.run / "metrics.jsonl").read_text().splitlines()[-1])
        self.assertGreater(measured["steps"], steps + 20)

    def test_other_workers_of_a_run_that_goes_on_have_them(self):
        def workers():
            return [self.python(STATE, "unseeded", rank=rank) for rank in range(2)]

        server = self.server("--policy", "sync", "--checkpoint-every", 1, "--batch", 1, workers=2)
        lost = workers()
        self.until(server, lambda: [one for one in (self.run / "checkpoints").glob("*")
                                    if one.suffix != ".unfinished"], "a checkpoint")
        for process in (server, *lost):
            process.send(signal.SIGKILL)
            process.wait()
        kept = (self.run / "constants.safetensors").read_bytes()
        frozen = numbers_of(self.run / "constants.safetensors", "frozen.weight")
        (self.folder / "s").unlink(missing_ok=True)
        server = self.start("server", "--resume", self.run)
        server.until_said("listening on")
        later = workers()
        self.finish(server, *later)
        found = [self.lines(one)[-1] for one in later]
        self.assertEqual(len({str(one["buffers"]) for one in found}), 1)
        for one in found:
            self.assertEqual([number for row in one["frozen"] for number in row], frozen)
        self.assertEqual((self.run / "constants.safetensors").read_bytes(), kept)


if __name__ == "__main__":
    main()
