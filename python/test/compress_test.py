"""The option `compress` of Worker.join() and job.wrap(), without a server."""

import os
import tempfile
import unittest
from unittest import mock

import torch

import outpace
import outpace.torch as op
from outpace.torch._evaluator import EvaluatorJob
from outpace.torch._worker import WorkerJob

RIGHT = ("none", "bf16", "fp16:feedback=0", "int8", "int4", "topk:share=0.02,bits=2,feedback=0.9")
WRONG = {"int3": "unknown compression 'int3'; did you mean 'int8'\\?$",
         "zip": "unknown compression 'zip'; known: none, bf16, fp16, int8, int4, topk$",
         "topk:bits=3": "compression 'topk:bits=3': bits is '3'; it takes 2\\|4\\|8$",
         "none:feedback=1": "'none' takes no options$"}


def network():
    torch.manual_seed(3)
    net = torch.nn.Linear(3, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


class Join(unittest.TestCase):
    def setUp(self):
        self.worker = outpace.Worker("unix:/nowhere", token="t", deadline=0.1)
        self.addCleanup(self.worker.close)

    def join(self, **options):
        self.worker.join({"a": (1,)}, [0.0], examples=1, **options)

    def test_a_wrong_one_is_a_line_that_names_join(self):
        for spec, said in WRONG.items():
            with self.subTest(spec), self.assertRaisesRegex(op.OutpaceError,
                                                            "^join: compress: .*" + said) as raised:
                self.join(compress=spec)
            self.assertEqual(raised.exception.exit_code, 2)
        with self.assertRaisesRegex(op.OutpaceError, "^join: compress=8; it takes a text such as"):
            self.join(compress=8)

    def test_a_right_one_goes_to_the_library(self):
        for spec in ("", *RIGHT):
            offered = []
            with self.subTest(spec), mock.patch.object(
                    self.worker._waiting, "call",
                    lambda function, handle, job, error, told=offered: told.append(job) or 0):
                self.join(compress=spec)
            self.assertEqual(offered[0].compress, spec.encode() or None)

    def test_the_variable_is_named_if_it_is_wrong(self):
        with tempfile.NamedTemporaryFile("w") as token:
            print("the-token-of-this-job", file=token, flush=True)
            with mock.patch.dict(os.environ, {"OUTPACE_SERVER": "unix:s", "OUTPACE_WORKER": "0",
                                              "OUTPACE_COMPRESS": "int3",
                                              "OUTPACE_TOKEN_FILE": token.name}):
                with self.assertRaisesRegex(op.OutpaceError,
                                            "^OUTPACE_COMPRESS: unknown compression 'int3'"):
                    outpace.Worker()


class Wrap(unittest.TestCase):
    def jobs(self):
        worker = mock.Mock(rank=0)
        job = WorkerJob(worker)
        with mock.patch.dict(os.environ, clear=True):
            return {"alone": op.init(), "worker": job, "evaluator": EvaluatorJob(mock.Mock())}

    def test_a_wrong_one_is_a_line_that_names_wrap_in_every_process(self):
        for kind, job in self.jobs().items():
            for spec, said in WRONG.items():
                with self.subTest(f"{kind}: {spec}"), self.assertRaisesRegex(
                        op.OutpaceError, "^wrap: compress: .*" + said):
                    job.wrap(*network(), compress=spec)
            with self.subTest(kind), self.assertRaisesRegex(
                    op.OutpaceError, "^wrap: compress=True; it takes a text such as \"int8\""):
                job.wrap(*network(), compress=True)

    def test_a_right_one_is_taken_in_every_process(self):
        for spec in RIGHT:
            for kind, job in self.jobs().items():
                with self.subTest(f"{kind}: {spec}"):
                    net, optimizer = network()
                    self.assertEqual(job.wrap(net, optimizer, compress=spec), (net, optimizer))

    def test_alone_it_changes_nothing(self):
        found = []
        for options in ({}, {"compress": "int4"}):
            job = self.jobs()["alone"]
            net, optimizer = job.wrap(*network(), **options)
            for x in job.loader(torch.ones(4, 3), batch_size=2):
                job.backward(net(x).square().sum())
                optimizer.step()
            found.append(net.weight.detach())
        self.assertTrue(torch.equal(*found))

    def test_a_worker_joins_with_it(self):
        for options, said in (({}, ""), ({"compress": "int4"}, "int4"),
                              ({"compress": "int8", "local_steps": 4}, "int8")):
            with self.subTest(options):
                job = self.jobs()["worker"]
                job.wrap(*network(), **options)
                job.loader(range(8))
                job._join()
                self.assertEqual(job.worker.join.call_args.kwargs["compress"], said)


if __name__ == "__main__":
    unittest.main()
