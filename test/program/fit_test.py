"""`outpace fit`: a runtime model into a file, and `outpace cutoff` with the file."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main  # noqa: E402

EXIT_USAGE = 2
EXIT_UNREADABLE = 6
# Of four workers one takes five times as long, but in every eighth iteration.
ROWS = "".join(f"0.1,0.11,0.09,{0.1 if i % 8 == 0 else 0.5}\n" for i in range(80))


class Fit(ProgramTest):
    def outpace(self, *words, code=0):
        process = self.start(*words)
        self.assertEqual(process.wait(), code, process.err)
        self.assert_nothing_left()
        return process

    def refuse(self, says, *words, code=EXIT_USAGE):
        with self.subTest(" ".join(words)):
            process = self.outpace(*words, code=code)
            self.assertEqual(process.out, "")
            self.assertEqual(len(process.err.splitlines()), 1, process.err)
            self.assertIn(says, process.err)


class Deep(Fit):
    def test_is_fitted_goes_on_and_is_tried(self):
        self.path("r.csv", ROWS)
        fitted = self.outpace("fit", "r.csv", "-o", "m.safetensors", "--updates", "20")
        self.assertIn("m.safetensors: a deep runtime model of", fitted.out)
        self.assertIn("fit:    20 of 20 updates, lower bound", fitted.err)
        self.refuse("m.safetensors exists; --resume goes on with it",
                    "fit", "r.csv", "-o", "m.safetensors")
        self.outpace("fit", "r.csv", "-o", "m.safetensors", "--resume", "--updates", "5")
        # A file for four workers forecasts three.
        self.path("three.csv", "0.1,0.11,0.5\n" * 40)
        for trace, models in (("r.csv", "deep,auto"), ("three.csv", "deep")):
            found = json.loads(self.outpace("cutoff", trace, "--models", models, "--model-file",
                                            "m.safetensors", "--json").out)
            omega = [row["omega"] for row in found["results"] if row["decide"]]
            self.assertEqual(len(omega), 3 * len(models.split(",")))
            for gradients in omega:
                self.assertGreater(gradients, 0.0)


class BadInput(Fit):
    def test_files_and_traces(self):
        self.path("r.csv", ROWS)
        self.path("short.csv", "0.1,0.2\n" * 5)
        self.path("ragged.csv", "0.1,0.2\n0.1\n")
        self.path("m.safetensors", "not at all")
        self.refuse("only 'deep' is fitted beforehand",
                    "fit", "r.csv", "--model", "kalman", "-o", "x.safetensors")
        self.refuse("5 iterations to fit to; it takes at least",
                    "fit", "short.csv", "-o", "x.safetensors")
        self.refuse("ragged.csv:2", "fit", "ragged.csv", "-o", "x.safetensors")
        self.refuse("cannot read m.safetensors", "fit", "r.csv", "-o", "m.safetensors", "--resume",
                    code=EXIT_UNREADABLE)
        self.refuse("cannot read m.safetensors", "cutoff", "r.csv", "--model-file", "m.safetensors",
                    code=EXIT_UNREADABLE)
        self.refuse("leaves nothing to fit 'deep' to", "cutoff", "r.csv", "--models", "deep",
                    "--fit-fraction", "0")


if __name__ == "__main__":
    main()
