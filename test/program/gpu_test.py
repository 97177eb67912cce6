"""The Python package with a network on a GPU. Without one, these tests are skipped."""

import json
import sys
import unittest

sys.dont_write_bytecode = True
import python_test  # noqa: E402
from jobs import main  # noqa: E402
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest, has_gpu  # noqa: E402

needs_gpu = unittest.skipUnless(has_gpu(), "this PyTorch sees no GPU")

TRACED = """
import torch
network = torch.nn.Sequential(torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(),
                              torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.Flatten(),
                              torch.nn.Linear(65536, 10)).cuda()
optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
images = torch.randn(32, 3, 32, 32, device="cuda")
schedule = torch.profiler.schedule(wait=0, warmup=2, active=8, repeat=1)
with torch.profiler.profile(schedule=schedule, record_shapes=True) as profile:
    for _ in range(10):
        optimizer.zero_grad()
        network(images).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        profile.step()
profile.export_chrome_trace("trace.json")
"""


@needs_gpu
class Equal(python_test.Equal):
    DEVICE = "cuda"


@needs_gpu
class Buffers(python_test.Buffers):
    WORDS = (*python_test.Buffers.WORDS, "--device", "cuda")


@needs_gpu
class Profiled(PythonTest):
    def layers_of(self, written, sizes):
        """The profile's layers take some of the time of its iterations, and no more."""
        profile = json.loads(written.read_text())
        self.assertEqual(profile["payload_bytes"], 4 * sum(sizes))
        layers = [one for one in profile["layers"] if one["tensors"] > 0]
        self.assertEqual([one["tensors"] for one in layers], [2] * (len(sizes) // 2))
        seconds = [one[way] for one in layers
                   for way in ("forward_seconds", "backward_seconds")]
        self.assertGreater(min(seconds), 0)
        computing = sorted(one["compute_seconds"] for one in profile["iterations"])
        self.assertLess(sum(seconds), 1.2 * computing[len(computing) // 2])

    def test_a_script_has_the_layers_of_its_kernels(self):
        written = self.folder / "p.json"
        run = self.start("profile", "--batch", 16, "--iterations", 20, "-o", written, "--", PYTHON,
                         "-B", SCRIPTS / "script.py", "--epochs", 3, "--device", "cuda",
                         variables={"PYTHONPATH": PACKAGE})
        self.finish(run)
        self.layers_of(written, [64, 32, 64, 2])

    def test_a_trace_has_the_layers_of_its_kernels(self):
        self.finish(self.start("-c", TRACED, program=PYTHON))
        written = self.folder / "p.json"
        run = self.start("profile", "--from-trace", "trace.json", "--batch", 32, "-o", written)
        self.finish(run)
        self.assertIn("8 steps by ProfilerStep", run.out)
        self.layers_of(written, [1728, 64, 36864, 64, 655360, 10])


if __name__ == "__main__":
    main()
