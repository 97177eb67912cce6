"""Defaults < TOML file < environment < command line, and config.toml has the resulting values."""

import itertools
import json
import pathlib
import signal
import sys
import tomllib

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, wait_until  # noqa: E402


def values_and_origins(path):
    text = path.read_text()
    origins = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            setting, _, origin = line.rpartition("  # ")
            origins[setting.partition(" = ")[0]] = origin
    return tomllib.loads(text), origins


class Configuration(ProgramTest):
    def setUp(self):
        super().setUp()
        self.runs = itertools.count()


class Precedence(Configuration):
    def configuration(self, *words, variables=None, command="server"):
        """The configuration of a run that is ended as soon as it has begun."""
        run = self.folder / f"run-{next(self.runs)}"
        process = self.start(command, "--token-file", "token", "--out", run, *words,
                             variables=variables)
        process.until_said("listening on")
        process.send(signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assert_nothing_left()
        self.assertEqual(process.err.splitlines()[-1], "outpace: interrupted")
        return values_and_origins(run / "config.toml")

    def test_each_layer_replaces_those_below(self):
        file = self.path("job.toml", "workers = 3\nlr = 0.2\nbatch = 8\n"
                                     'policy = "ssp:s=2"\njson = false\n')
        values, origins = self.configuration(
            "--config", file, "--lr", "0.4", "--seed=7",
            variables={"OUTPACE_LR": "0.3", "OUTPACE_BATCH": "16", "OUTPACE_JSON": "true",
                       "OUTPACE_HEARTBEAT_TIMEOUT": "9s"})
        expected = {
            "workers": (3, str(file)),
            "policy": ("ssp:s=2", str(file)),
            "batch": (16, "environment"),
            "json": (True, "environment"),
            "heartbeat-timeout": ("9s", "environment"),
            "lr": (0.4, "command line"),
            "seed": (7, "command line"),
            "optimizer": ("script", "default"),
            "min-workers": (1, "default"),
            "schedule": ("constant", "default"),
        }
        for key, (value, origin) in expected.items():
            with self.subTest(key):
                self.assertEqual(values[key], value)
                self.assertEqual(origins[key], origin)
        self.assertEqual(values["token-file"], "token")

    def test_the_environment_names_the_file_too(self):
        file = self.path("job.toml", "workers = 3\n")
        values, origins = self.configuration(variables={"OUTPACE_CONFIG": str(file)})
        self.assertEqual((values["workers"], origins["workers"]), (3, str(file)))

    def test_what_a_run_wrote_configures_the_next_to_the_digit(self):
        given = ("--lr", "0.123456789012345678", "--weight-decay", ".5", "--workers", "2",
                 "--policy", "saps:s=8,action=preempt", "--schedule", "step:every=100,factor=0.5")
        first, _ = self.configuration(*given)
        self.assertEqual(first["lr"], 0.123456789012345678)
        written = self.folder / "run-0" / "config.toml"
        second, origins = self.configuration("--config", written)
        for key in set(first) - {"out", "token-file", "weight-decay"}:
            self.assertEqual(second[key], first[key], key)
            self.assertEqual(origins[key], str(written))
        self.assertEqual(float(second["weight-decay"]), 0.5)


class Replay(Configuration):
    """The same for `train`, some of whose options may be repeated."""

    def configuration(self, *words):
        run = self.folder / f"run-{next(self.runs)}"
        process = self.start("train", "--out", run, *words)
        wait_until((run / "config.toml").exists, "config.toml")
        process.send(signal.SIGTERM)
        self.assertEqual(process.wait(60), 143)
        self.assert_nothing_left()
        return values_and_origins(run / "config.toml")[0]

    def test_what_a_run_wrote_configures_the_next(self):
        delays = self.path("it's a delay.csv", "0.1,0.2\n")
        for turn, given in enumerate((("--workers", "2"),
                                       ("--workers", "2", "--slow", "worker=1,factor=2",
                                        "--slow", "worker=0,factor=3", "--delays", delays))):
            with self.subTest(given):
                first = self.configuration(*given)
                written = self.folder / f"run-{2 * turn}" / "config.toml"
                second = self.configuration("--config", written)
                first.pop("out"), second.pop("out")
                self.assertEqual(second, first)

    def test_a_child_is_told_what_its_parent_resolved_whatever_the_environment_says(self):
        run = self.folder / "run"
        process = self.start("train", "--out", run, "--workers", "1", "--network", "mlp",
                             "--updates", "3", "--batch", "8",
                             variables={"OUTPACE_BATCH": "16", "OUTPACE_NETWORK": "cnn"})
        self.assertEqual(process.wait(100), 0, process.err)
        values, origins = values_and_origins(run / "config.toml")
        self.assertEqual((values["batch"], values["network"]), (8, "mlp"))
        self.assertEqual(origins["network"], "command line")
        # A worker of another network would have been refused.
        self.assertEqual(json.loads((run / "summary.json").read_text())["updates"], 3)


class Options(ProgramTest):
    def test_the_page_of_options_is_what_the_program_says(self):
        page = pathlib.Path(__file__).parents[2] / "docs" / "options.md"
        process = self.start("options")
        self.assertEqual(process.wait(60), 0)
        self.assertEqual(process.out, page.read_text(), "make docs writes it anew")

    def test_the_page_lists_an_option_once_for_all_commands_that_take_it(self):
        process = self.start("options")
        self.assertEqual(process.wait(60), 0)
        rows = [line.split(" | ", 2) for line in process.out.splitlines() if line.startswith("| ")]
        same = [(name, rest) for name, _, rest in rows]
        self.assertEqual(len(same), len(set(same)))
        commands = {name: taken for name, taken, _ in rows}
        self.assertEqual(commands["| `--schedule`"], "train, run, server, peer, simulate")


if __name__ == "__main__":
    main()
