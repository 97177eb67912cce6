"""python_examples.py: what it reads and computes, on made-up runs. `make measure-examples` runs the
real programs."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import python_examples  # noqa: E402 (its folder has just been added)


def results(*metrics, updates=90):
    return [{"metric": metric, "updates": updates} for metric in metrics]


class Read(unittest.TestCase):
    def test_what_a_script_alone_has_found(self):
        said = ("outpace: epoch 0: accuracy 0.5000, loss 1.2500\nWARNING: 3\n"
                "outpace: loss 0.7500\noutpace: ended: the loss no longer falls\n")
        self.assertEqual(python_examples.evaluations(said),
                         [{"accuracy": 0.5, "loss": 1.25}, {"loss": 0.75}])

    def test_each_example_is_a_script(self):
        for name in python_examples.EXAMPLES:
            self.assertTrue((python_examples.SCRIPTS / f"{name}.py").exists(), name)


    def test_the_last_weights_must_be_measured(self):
        example = python_examples.EXAMPLES["gpt"]
        found = {"updates": 9, "evaluations": [{"version": 9, "loss": 1.5}]}
        self.assertEqual(python_examples.last_metric(example, found), 1.5)
        for evaluations in ([], [{"version": 8, "loss": 1.5}]):
            with self.assertRaisesRegex(python_examples.RunFailed, "not measured the last weights"):
                python_examples.last_metric(example, {"updates": 9, "evaluations": evaluations})


class Computed(unittest.TestCase):
    def test_alone_the_mini_batch_is_that_of_all_workers(self):
        example = python_examples.EXAMPLES["word_language_model"]
        self.assertEqual(python_examples.words_of(example, 2, 60)[-2:], ["--batch-size", "60"])
        self.assertEqual(python_examples.words_of(example, 2)[-2:], ["--batch-size", "20"])
        self.assertNotIn("--batch-size",
                         python_examples.words_of(python_examples.EXAMPLES["gpt"], 2))

    def test_a_job_lies_inside_overlaps_or_is_apart(self):
        of_alone = [1.0, 2.0, 3.0]
        for of_job, found in (([0.0, 2.5], "inside"), ([2.9, 9.0], "overlaps"),
                              ([3.5, 4.0], "apart"), ([0.1, 0.9], "apart")):
            self.assertEqual(python_examples.verdict(of_alone, of_job), found)
        self.assertEqual(python_examples.verdict([1.0], [1.0]), "-", "one seed has no spread")

    def test_a_row_has_mean_and_range_of_each(self):
        row = python_examples.row("gpt", {"alone": results(1.0, 2.0), "sync": results(1.5, 1.5),
                                          "dynamic": results(3.0, 4.0, updates=80)})
        self.assertEqual(row, ("gpt: loss", "80, 90", "1.5 (1 to 2)", "1.5 (1.5 to 1.5)", "inside",
                               "3.5 (3 to 4)", "apart"))


if __name__ == "__main__":
    unittest.main()
