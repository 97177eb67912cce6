"""Kinds of trouble that people reported of other libraries, under `outpace run` (docs/python-cases.md)."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import main  # noqa: E402
from python_jobs import PACKAGE, PYTHON, SCRIPTS, PythonTest  # noqa: E402

CASES = SCRIPTS / "cases"


class Kinds(PythonTest):
    def case(self, script, *words, workers=2, code=0, options=()):
        """What the processes printed last, by process, and what the run said."""
        self.run = self.folder / "-".join(("run", script, *words))
        job = self.start("run", "--workers", workers, "--policy", "sync", "--out", self.run, "--json",
                         *options, "--show-output", "all", "--", PYTHON, "-B",
                         CASES / f"{script}.py", *words,
                         variables={"PYTHONPATH": PACKAGE, "OMP_NUM_THREADS": "1"})
        self.assertEqual(job.wait(), code, job.err)
        self.assert_nothing_left()
        found = {}
        for log in sorted((self.run / "logs").glob("*.out")):
            for line in log.read_text().splitlines():
                if line.startswith("{"):
                    found[log.stem] = json.loads(line)
        return found, job.err

    def alone(self, script, *words):
        process = self.python(CASES / f"{script}.py", *words)
        self.finish(process)
        return self.lines(process)[-1]

    def check_freezing(self, when):
        found, _ = self.case("freezing", "train", when, options=("--batch", 16))
        for worker in found.values():
            self.assertEqual([moved > 0 for moved in worker["moved"]], [False, True, False, True])
        updates = {}  # By version: epoch, and the examples of both workers.
        for worker in found.values():
            for version, epoch, indices in worker["batches"]:
                updates.setdefault(version, (epoch, []))[1].extend(indices)
        epochs = [[indices for _, (epoch, indices) in sorted(updates.items()) if epoch == wanted]
                  for wanted in range(4)]
        self.assertEqual([[len(indices) for indices in one] for one in epochs], 4 * [4 * [32]])
        off = self.alone("freezing", "twin", json.dumps(epochs),
                         self.run / "weights.safetensors")["relative_l2"]
        print(f"frozen {when} wrap: relative L2 distance of the change {off:.2g}", file=sys.stderr)
        self.assertLess(off, 1e-4)

    def test_a_layer_that_is_frozen_and_unfrozen_moves_as_with_pytorch_alone(self):
        for when in ("before", "after"):
            with self.subTest(when):
                self.check_freezing(when)

    def test_parameters_and_buffers_of_all_kinds_are_trained_measured_and_loaded(self):
        found, _ = self.case("zoo", "train")
        for worker in ("worker-0", "worker-1"):
            self.assertLess(found[worker]["last"], found[worker]["first"] / 4)
        measured = self.summary()["final_loss"]
        of_run = self.alone("zoo", "loads", self.run / "weights.safetensors")
        self.assertAlmostEqual(of_run["loss"], measured, places=5)
        self.assertGreater(of_run["passes"], 30)
        saved = self.alone("zoo", "loads", self.folder / "zoo.safetensors")
        self.assertAlmostEqual(saved["loss"], found["worker-0"]["last"], places=5)
        self.assertTrue(of_run["mask"] and saved["mask"])

    def test_passes_of_two_losses_add_up(self):
        for how in ("plain", "counted"):
            found, _ = self.case("loops", "losses", how)
            self.assertEqual(self.summary()["updates"], 20)
            for worker in found.values():
                self.assertLess(worker["off"], 1e-5)

    def test_a_scale_that_is_too_large_costs_no_example(self):
        found, said = self.case("loops", "scaler")
        self.assertNotIn("left out", said)
        self.assertEqual(self.summary()["examples_used_per_epoch_min"], 1)
        self.assertGreater(max(one["skipped"] for one in found.values()), 0)
        self.assertLess(found["worker-0"]["loss"], 1e-3)

    def test_fewer_examples_than_a_mini_batch_has_are_used_once_an_epoch(self):
        found, _ = self.case("loops", "few")
        self.assertEqual(self.summary()["examples_used_per_epoch_max"], 1)
        self.assertEqual(sum(sum(one["sizes"]) for one in found.values()), 4 * 7)

    def test_a_forked_child_ends_with_its_own_code_and_the_run_goes_on(self):
        found, said = self.case("loops", "forked")
        for worker in found.values():
            self.assertEqual(set(worker["codes"]), {7})
        self.assertNotIn("Exception ignored", said)

    def test_a_script_without_a_guard_gets_one_line(self):
        _, said = self.case("unguarded", workers=1, code=2)
        self.assertIn("put what trains below `if __name__ == \"__main__\":`", said)


if __name__ == "__main__":
    main()
