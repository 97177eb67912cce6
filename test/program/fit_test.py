"""`outpace fit` writes a runtime model to a file, which `outpace cutoff` and `dynamic` then use."""

import json
import sys

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, read_json_lines  # noqa: E402

EXIT_USAGE = 2
EXIT_UNREADABLE = 6
# One of four workers takes five times as long, but for every eighth iteration.
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
        self.refuse("m.safetensors exists; name another file, or add --resume",
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


class DeepJoint(Fit):
    def test_is_fitted_to_one_cluster_and_tried_there(self):
        self.path("r.csv", ROWS)
        self.path("three.csv", "0.1,0.11,0.5\n" * 80)
        fitted = self.outpace("fit", "r.csv", "--model", "deep-joint", "-o", "j.safetensors",
                              "--updates", "20")
        self.assertIn("j.safetensors: a deep-joint runtime model of", fitted.out)
        self.outpace("fit", "r.csv", "-o", "m.safetensors", "--updates", "5")
        found = json.loads(self.outpace("cutoff", "r.csv", "--models", "deep-joint,deep", "--model-file",
                                        "j.safetensors,m.safetensors", "--imputation",
                                        "none,truncated,plain,true", "--json").out)
        for row in found["results"][2:-1]:
            self.assertGreater(row["omega"], 0.0, row)
        self.assertEqual(len(found["results"]), 3 + 2 * 3 * 4)
        self.refuse("'j.safetensors' was fitted to 4 workers, and the runtimes have 3",
                    "cutoff", "three.csv", "--models", "deep-joint", "--model-file", "j.safetensors")
        self.refuse("'m.safetensors' has weights of deep, which no model of --models uses",
                    "cutoff", "r.csv", "--models", "deep-joint", "--model-file",
                    "j.safetensors,m.safetensors")
        self.refuse("'j.safetensors' has weights of deep-joint, as 'j.safetensors' has", "cutoff", "r.csv",
                    "--models", "deep-joint", "--model-file", "j.safetensors,j.safetensors")
        self.refuse("three.csv: 3 workers, and r.csv has 4; deep-joint is fitted to one cluster",
                    "fit", "r.csv", "three.csv", "--model", "deep-joint", "-o", "x.safetensors")
        self.refuse("cannot use weights of deep; say model=deep", "fit", "r.csv", "--model",
                    "deep-joint", "-o", "m.safetensors", "--resume")
        self.refuse("cannot use weights of deep-joint; say model=deep-joint", "simulate", "--policy",
                    "dynamic", "--workers", "4", "--runtime-model", "j.safetensors")

    def test_decides_a_run_by_the_papers_recipe(self):
        self.path("r.csv", ROWS)
        self.outpace("fit", "r.csv", "--model", "deep-joint", "-o", "j.safetensors", "--updates", "20")
        self.outpace("simulate", "--workers", "4", "--policy",
                     "dynamic:model=deep-joint,decide=before,imputation=plain", "--runtime-model",
                     "j.safetensors", "--delays", "r.csv", "--iterations", "100", "--out", "run")
        decided = [line["reason"] for line in read_json_lines(self.folder / "run/decisions.jsonl")[1:]]
        self.assertTrue(any("waited long enough" in reason for reason in decided))
        self.assertIn("all identical", self.outpace("replay", "run").out)


class UnderDynamic(Fit):
    def test_live_and_simulated_runs_replay_with_the_file_they_kept(self):
        self.path("r.csv", ROWS)
        self.outpace("fit", "r.csv", "-o", "m.safetensors", "--updates", "20")
        job = LedgerJob(self, "dynamic:model=deep", workers=4, epochs=10,
                        options=("--runtime-model", "m.safetensors"))
        job.finish()
        runs = [job.run]
        for policy in ("dynamic:model=deep,decide=before",
                       "switch(sync until updates>50 then dynamic)"):
            runs.append(self.folder / f"simulated-{len(runs)}")
            self.outpace("simulate", "--workers", "4", "--policy", policy, "--runtime-model",
                         "m.safetensors", "--delays", "r.csv", "--iterations", "400",
                         "--out", str(runs[-1]))
        self.path("m.safetensors", "gone")
        for run in runs:
            decided = [line["reason"] for line in read_json_lines(run / "decisions.jsonl")[1:]]
            self.assertTrue(any("waited long enough" in reason for reason in decided), run)
            self.assertIn("all identical", self.outpace("replay", str(run)).out)
        self.outpace("whatif", str(runs[1]), "--json")

    def test_a_file_without_use_or_a_model_without_file(self):
        self.path("r.csv", ROWS)
        self.path("m.safetensors", "not at all")
        self.refuse("--runtime-model conflicts with --policy sync", "simulate", "--policy", "sync",
                    "--runtime-model", "m.safetensors")
        self.refuse("--runtime-model conflicts with --policy dynamic:model=ewma", "simulate", "--policy",
                    "dynamic:model=ewma", "--runtime-model", "m.safetensors")
        self.refuse("the runtime model 'deep' needs a file", "simulate", "--policy",
                    "dynamic:model=deep")
        self.refuse("cannot read m.safetensors", "simulate", "--policy", "dynamic",
                    "--runtime-model", "m.safetensors", code=EXIT_UNREADABLE)


class BadInput(Fit):
    def test_files_and_traces(self):
        self.path("r.csv", ROWS)
        self.path("short.csv", "0.1,0.2\n" * 5)
        self.path("ragged.csv", "0.1,0.2\n0.1\n")
        self.path("m.safetensors", "not at all")
        self.refuse("it takes deep or deep-joint, for the other models learn during the run",
                    "fit", "r.csv", "--model", "kalman", "-o", "x.safetensors")
        self.refuse("5 iterations; fitting takes at least",
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
