"""`outpace profile --from-trace`: both dialects of PyTorch's profiler, and files that are not traces.

The test writes the files in PyTorch's form; in class Real, PyTorch writes them.
"""

import gzip
import json
import pathlib
import shutil
import statistics
import sys
import unittest

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

EXIT_USAGE = 2
NODE = "autograd::engine::evaluate_function: "


def small_step(number, slow=1.0):
    """(name, begin, duration, args, category) of a step of 10 ms: 3 forward, 5 backward, 1 SGD."""
    numbers = 4 * number
    gradient = {"Sequence number": 2**64 - 1, "Input Dims": [[1000, 25]], "Input type": ["float"]}
    events = [
        (f"ProfilerStep#{number}", 0, 10, {}, "user_annotation"),
        ("aten::linear", 0.5, 3, {"Sequence number": numbers}, "cpu_op"),
        (NODE + "AddmmBackward0", 3.5, 4, {"Sequence number": numbers}, "cpu_op"),
        (NODE + "torch" + "::autograd::AccumulateGrad", 7.5, 1, {}, "cpu_op"),
        ("torch" + "::autograd::AccumulateGrad", 7.5, 1, gradient, "cpu_op"),
        ("Optimizer.step#SGD.step", 8.75, 1, {}, "user_annotation"),
    ]
    return [(name, slow * (10 * number + begin), slow * duration, args, category)
            for name, begin, duration, args, category in events]


def kineto(steps=8, slow=1.0):
    events = [{"ph": "M", "name": "process_name", "pid": 4711, "tid": 0, "ts": 0.0,
               "args": {"name": "python3"}}]
    for number in range(steps):
        events += [{"ph": "X", "cat": category, "name": name, "pid": 4711, "tid": 4711,
                    "ts": round(1e3 * begin, 3), "dur": round(1e3 * duration, 3), "args": args}
                   for name, begin, duration, args, category in small_step(number, slow)]
    return {"schemaVersion": 1, "deviceProperties": [], "displayTimeUnit": "ms",
            "baseTimeNanoseconds": 1712345678000000000, "traceEvents": events}


def legacy(steps=8):
    return [{"name": name, "ph": "X", "ts": round(1e3 * begin), "dur": round(1e3 * duration),
             "tid": 1, "pid": "CPU functions", "args": {}}
            for number in range(steps)
            for name, begin, duration, _, _ in small_step(number)
            if not name.startswith("ProfilerStep")]


class PytorchTrace(ProgramTest):
    def outpace(self, *words, code=0):
        process = self.start(*words)
        self.assertEqual(process.wait(), code, process.err)
        self.assert_nothing_left()
        return process

    def profile(self, *words):
        out = self.outpace("profile", "--from-trace", *words, "-o", "p.json").out
        return out, json.loads(self.path("p.json").read_text())


class Dialects(PytorchTrace):
    def test_kineto_packed_is_profiled_and_predicted_from(self):
        self.path("t.json.gz").write_bytes(gzip.compress(json.dumps(kineto()).encode()))
        out, written = self.profile("t.json.gz", "--batch", "32")
        self.assertIn("t.json.gz: Kineto dialect, 8 steps by ProfilerStep, the first left out", out)
        self.assertIn("step          10.000 ms (median of 7", out)
        self.assertRegex(out, r"forward +3\.000 ms\n.*backward +5\.000 ms\n.*optimizer +1\.000 ms")
        self.assertIn("0.1 MB, by the shapes of gradients (1)", out)
        self.assertEqual([round(one["compute_seconds"], 9) for one in written["iterations"]],
                         7 * [0.009])
        self.assertEqual(len(written["layers"]), 1)
        self.assertEqual(written["not_measured"], {"apply_seconds": "optimizer",
                                                   "byte_seconds": "zero",
                                                   "message_seconds": "zero"})
        predicted = self.outpace("predict", "p.json", "--workers", "1,4", "--policy", "sync",
                                 "--topology", "ps,ring", "--json")
        self.assertIn("not measured, because the profile comes from a trace: apply_seconds (taken from",
                      predicted.err)
        found = {(one["model"], one["workers"], one["topology"]): one["examples_per_second"]
                 for one in json.loads(predicted.out)["predictions"]}
        for model in ("fine", "coarse"):  # 32 examples in 9 and 1 ms.
            self.assertAlmostEqual(found[(model, 1, "ps")], 3200, delta=2)

    def test_legacy_needs_the_payload(self):
        self.path("t.json", json.dumps(legacy()))
        refused = self.outpace("profile", "--from-trace", "t.json", "--batch", "32", "-o", "p.json",
                               code=EXIT_USAGE)
        self.assertIn("give --parameters 11.7M, which is sum(p.numel()", refused.err)
        out, written = self.profile("t.json", "--batch", "32", "--parameters", "25k", "--apply",
                                    "2ms", "--message", "100us", "--copy-rate", "1GBps")
        self.assertIn("legacy dialect, 8 steps by Optimizer.step", out)
        self.assertIn("as given", out)
        self.assertEqual(written["payload_bytes"], 100000)
        self.assertEqual(written["layers"], [])
        self.assertEqual([written[key] for key in ("apply_seconds", "message_seconds",
                                                   "byte_seconds")], [2e-3, 1e-4, 1e-9])
        self.assertNotIn("not_measured", written)
        self.assertEqual(self.outpace("predict", "p.json", "--workers", "1").err, "")

    def test_ranks_are_mixed_and_the_slow_named(self):
        self.path("0.json", json.dumps(kineto()))
        self.path("1.json", json.dumps(kineto(slow=1.5)))
        out, written = self.profile("0.json", "1.json", "--batch", "32")
        self.assertEqual(len(written["iterations"]), 14)
        self.assertIn("1.json: computes 1.50 times as long as the fastest", out)


TRAIN = """
import torch
network = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)

def step():
    optimizer.zero_grad()
    network(torch.randn(16, 64)).square().sum().backward()
    optimizer.step()

with torch.autograd.profiler.profile() as profile:
    for _ in range(8):
        step()
profile.export_chrome_trace("autograd.json")
schedule = torch.profiler.schedule(wait=0, warmup=1, active=8, repeat=1)
with torch.profiler.profile(schedule=schedule, record_shapes=True) as profile:
    for _ in range(9):
        step()
        profile.step()
profile.export_chrome_trace("profiler.json")
"""


@unittest.skipUnless(shutil.which("torchrun"), "there is no PyTorch: apt install python3-torch")
class Real(PytorchTrace):
    def test_what_this_pytorch_writes_is_read(self):
        # torchrun's own interpreter has PyTorch, whatever `python3` is.
        python = pathlib.Path(shutil.which("torchrun")).read_text().splitlines()[0].strip("#! ")
        trained = self.start("-c", TRAIN, program=python)
        self.assertEqual(trained.wait(), 0, trained.err)
        # By the optimizer all eight are found, by prof.step() those after the profiler's warm-up.
        for name, source in (("autograd.json", "Optimizer.step"), ("profiler.json", "ProfilerStep")):
            out, written = self.profile(name, "--batch", "16", "--parameters", "2410")
            self.assertIn(f"8 steps by {source}, the first left out", out)
            self.assertEqual(len(written["iterations"]), 7)
            for one in written["iterations"]:
                self.assertGreater(one["compute_seconds"], 0)
                self.assertGreater(one["rest_seconds"], 0)
            self.assertEqual(written["not_measured"]["apply_seconds"], "optimizer")
        if (self.folder / "profiler.json").read_text().startswith("["):
            refused = self.outpace("profile", "--from-trace", "profiler.json", "--batch", "16",
                                   "-o", "q.json", code=EXIT_USAGE)
            self.assertIn("which has no Kineto, exports no shapes", refused.err)


class Gpu(PytorchTrace):
    """A trace that PyTorch 2.11 wrote of tools/gpu_step.py --network mlp on an NVIDIA H200: nine
    steps of three linear layers and two ReLUs, with kernels."""

    TRACE = pathlib.Path(__file__).parent / "traces" / "h200.json.gz"

    def first_kernels(self, step, events):
        """When the first kernel of each layer's forward pass begins, and of the loss, in seconds:
        of those that the processor started during the layer's operation."""
        kernels = {one["args"]["correlation"]: one["ts"] for one in events
                   if one.get("cat") in ("kernel", "gpu_memset")}
        launches = [one for one in events if one.get("cat") in ("cuda_runtime", "cuda_driver")
                    and one["args"].get("correlation") in kernels]

        def within(one, other):
            return other["ts"] <= one["ts"] < other["ts"] + other["dur"]

        layers = sorted((one["ts"], one) for one in events
                        if one["name"] in ("aten::linear", "aten::relu", "aten::cross_entropy_loss")
                        and within(one, step))
        self.assertEqual(len(layers), 6)
        return [1e-6 * min(kernels[launch["args"]["correlation"]] for launch in launches
                           if within(launch, layer)) for _, layer in layers]

    def test_gives_the_layers_of_its_kernels(self):
        out, written = self.profile(self.TRACE, "--batch", "128")
        self.assertIn("Kineto dialect, 9 steps by ProfilerStep", out)
        self.assertIn("118 MB, by the shapes of gradients (6)", out)
        self.assertEqual([one["tensors"] for one in written["layers"]], [2, 0, 2, 0, 2])
        events = [one for one in json.loads(gzip.decompress(self.TRACE.read_bytes()))["traceEvents"]
                  if one["ph"] == "X"]
        steps = [one for one in events if one.get("cat") == "user_annotation"
                 and one["name"].startswith("ProfilerStep")]
        passes = [self.first_kernels(step, events) for step in steps[1:]]
        for layer in range(4):  # The last one's forward pass ends with the loss.
            expected = statistics.median(one[layer + 1] - one[layer] for one in passes)
            self.assertAlmostEqual(written["layers"][layer]["forward_seconds"], expected,
                                   delta=1e-9)

    def test_hides_communication_behind_the_backward_pass(self):
        _, written = self.profile(self.TRACE, "--batch", "128")
        self.path("without.json", json.dumps({**written, "layers": []}))
        iteration = {}
        for profile in ("p.json", "without.json"):
            out = self.outpace("predict", profile, "--workers", "4", "--policy", "sync",
                               "--topology", "ring", "--bandwidth", "1000Gbps", "--json").out
            (fine,) = (one for one in json.loads(out)["predictions"] if one["model"] == "fine")
            iteration[profile] = 4 * 128 / fine["examples_per_second"]
        backward = [one["backward_seconds"] for one in written["layers"]]
        hidden = iteration["without.json"] - iteration["p.json"]
        # The middle layer has 67 MB, whose sum takes 0.8 ms. It begins with a first bucket in the
        # layer's backward pass, or at its end, and lasts longer than what is left to compute. What
        # the last layer has takes 2 us.
        self.assertGreater(hidden, sum(backward[:2]))
        self.assertLess(hidden, sum(backward[:3]) + 3e-6)


class BadInput(PytorchTrace):
    def refuse(self, says, *words):
        with self.subTest(" ".join(words)):
            process = self.outpace("profile", *words, "-o", "p.json", code=EXIT_USAGE)
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(says, process.err)
            self.assertFalse(self.path("p.json").exists())

    def test_files(self):
        whole = json.dumps(kineto())
        files = {
            "empty.json": b"", "list.json": b"[]", "text.json": b"step,seconds\n1,2\n",
            "cut.json": whole[:-1000].encode(),
            "cut.json.gz": gzip.compress(whole.encode())[:-200],
            "damaged.json.gz": gzip.compress(whole.encode())[:-8] + b"damaged!",
            "other.json": json.dumps({"traceEvents": [
                {"name": "RunTask", "cat": "toplevel", "ph": "X", "ts": 1, "dur": 2, "pid": 1,
                 "tid": 1, "args": {}}]}).encode(),
            "forward.json": json.dumps([one for one in legacy() if "auto" not in one["name"]]
                                       ).encode(),
            "steps.json": json.dumps([one for one in legacy() if "Opt" not in one["name"]]
                                     ).encode(),
            "few.json": json.dumps(kineto(steps=4)).encode(),
            "negative.json": whole.replace('"dur": 3000.0', '"dur": -3', 1).encode(),
            "infinite.json": whole.replace('"dur": 3000.0', '"dur": 1e999', 1).encode(),
            "nested.json": b"[" * 1_000_000,
            "bomb.json.gz": gzip.compress(b'["' + b"a" * 40_000_000, 1),
        }
        for name, content in files.items():
            self.path(name).write_bytes(content)
        for name, says in {
            "empty.json": "is empty",
            "list.json": "no backward pass",
            "text.json": "byte 1: is no JSON",
            "cut.json": "is truncated: its JSON does not end within",
            "cut.json.gz": "is cut short: what gzip packed goes on",
            "damaged.json.gz": "cannot be read: damaged, by gzip's check",
            "other.json": "among its 1 events; expected a trace of training",
            "forward.json": "no backward pass",
            "steps.json": "call prof.step() after each step",
            "few.json": "4 steps with a backward pass; 4 are needed after one for warm-up",
            "negative.json": "event 3: 'dur' is -3; it takes microseconds",
            "infinite.json": "a number too large to be a time",
            "nested.json": "is nested more than 64 deep",
            "bomb.json.gz": "has a value of more than 16777216 bytes",
            "missing.json": "cannot be opened: No such file",
            ".": "is no regular file",
        }.items():
            self.refuse(says, "--from-trace", name, "--batch", "32")

    def test_options(self):
        self.path("t.json", json.dumps(kineto()))
        trace = ("--from-trace", "t.json")
        self.refuse("--from-trace takes --batch", *trace)
        self.refuse("--network conflicts with --from-trace", *trace, "--batch", "32",
                    "--network", "cnn")
        self.refuse("--payload without --from-trace", "--payload", "1MB")
        self.refuse("--batch is '0'; it takes a whole number from 1", *trace, "--batch", "0")
        for option, value in (("parameters", "many"), ("parameters", "-1M"), ("payload", "44.7"),
                              ("apply", "soon"), ("copy-rate", "0GBps")):
            self.refuse(f"--{option} is '{value}'", *trace, "--batch", "32",
                        f"--{option}={value}")
        self.refuse("--parameters conflicts with --payload", *trace, "--batch", "32", "--parameters", "1M",
                    "--payload", "4MB")
        self.refuse("and more than 1.72e+10 bytes", *trace, "--batch", "32", "--parameters",
                    "1e300")


if __name__ == "__main__":
    main()
