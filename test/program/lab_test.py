"""`outpace-lab`, the program that tests `outpace`, and an `outpace` that has nothing of it.

chaos_test.py has `outpace-lab chaos`.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from jobs import OUTPACE, OUTPACE_LAB, ProgramTest, main  # noqa: E402

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = {"chaos": "chaos.md", "relay": "thin-links.md", "swarm": "simulation.md"}  # Where a command's options are.


class LabTest(ProgramTest):
    def lab(self, *words, code=0, program=OUTPACE_LAB, variables=None):
        process = self.start(*words, program=program, variables=variables)
        self.assertEqual(process.wait(), code, process.err)
        return process

    def assert_refused(self, why, *words, program=OUTPACE_LAB):
        process = self.lab(*words, code=2, program=program)
        self.assertEqual(process.err, f"{pathlib.Path(program).name}: {why}\n")
        self.assertEqual(process.out, "")


class Words(LabTest):
    """Its commands and options, and those that moved to it."""

    def test_help_lists_the_instruments_and_no_process_of_theirs(self):
        found = self.lab("--help").out
        for command in PAGES:
            self.assertRegex(found, rf"\n  {command} ")
        self.assertNotIn("chaos-process", found)

    def test_wrong_words_are_refused_in_one_line(self):
        self.assert_refused("a command is missing; known: chaos, relay, swarm, options (outpace-lab --help)")
        self.assert_refused("unknown command 'swram'; did you mean 'swarm'?", "swram")
        self.assert_refused("swarm: unknown option '--seed'; did you mean '--seeds'?",
                            "swarm", "--seed", 3)
        self.assert_refused("chaos: unknown option '--workers'; see outpace-lab chaos --help",
                            "chaos", "--workers", 3)

    def test_the_product_names_the_command_that_it_used_to_have(self):
        self.assert_refused("'chaos' is a command of another program; run outpace-lab chaos "
                            "(docs/chaos.md)", "chaos", "--seed", 7, program=OUTPACE)
        self.assert_refused("simulate: '--swarm' is a command of another program; run outpace-lab "
                            "swarm (docs/simulation.md)",
                            "simulate", "--swarm", "--seeds", "0..9", program=OUTPACE)

    def test_variables_of_the_product_change_no_plan(self):
        words = ("chaos", "--seed", 7, "--plan")
        plain = self.lab(*words).out
        self.assertIn("seed 7", plain)
        other = "sync" if "async" in plain.splitlines()[0] else "async"
        self.assertEqual(self.lab(*words, variables={"OUTPACE_POLICY": other,
                                                     "OUTPACE_NETWORK": "mlp"}).out, plain)

    def test_the_pages_have_the_options_that_the_program_has(self):
        sections = self.lab("options").out.split("\n## outpace-lab ")[1:]
        tables = dict(section.split("\n\n", 1) for section in sections)
        self.assertEqual(set(tables), set(PAGES))
        for command, page in PAGES.items():
            with self.subTest(command):
                self.assertTrue(
                    "\n\n" + tables[command].strip() + "\n\n" in (DOCS / page).read_text(),
                    f"copy what `outpace-lab options` prints to docs/{page}")

    def test_chaos_without_a_product_beside_it_says_so(self):
        alone = self.folder / "outpace-lab"
        shutil.copy(OUTPACE_LAB, alone)
        process = self.lab("chaos", "--seed", 7, code=2, program=alone)
        self.assertEqual(
            process.err.splitlines()[-1],
            f"outpace-lab: {self.folder}/outpace, the program to test, is not there; build it "
            "beside this one")


class Swarm(LabTest):
    def test_random_jobs_with_random_faults_keep_all_invariants(self):
        found = json.loads(self.lab("swarm", "--seeds", "0..999", "--jobs", 2, "--json").out)
        self.assertEqual(found["seeds"], 1000)
        self.assertGreaterEqual(found["events_least"], 1000)
        self.assertEqual(set(found["policies"]),
                         {"sync", "backup", "dynamic", "async", "ksync", "kbatchsync", "kasync",
                          "kbatchasync", "adasync", "softsync", "ssp", "dssp", "psp", "saps",
                          "switch", "auto"})
        for kind, times in found["faults"].items():
            self.assertGreater(times, 100, kind)
        peers = found["without_server"]
        self.assertEqual(set(peers["topologies"]),
                         {"ring", *(f"gossip, {kind}"
                                    for kind in ("coupled", "free", "pull", "push", "easgd"))})
        self.assertEqual(sum(peers["topologies"].values()), 1000)
        for kind, times in peers["faults"].items():
            self.assertGreater(times, 20, kind)

    def test_the_same_seeds_give_the_same_sums(self):
        found = []
        for jobs in (1, 2):
            process = self.lab("swarm", "--seeds", "5000..5039", "--jobs", jobs, "--json")
            found.append(json.loads(process.out))
            del found[-1]["wall_seconds"]
        self.assertEqual(*found)

    def test_a_time_budget_ends_it_before_its_seeds(self):
        process = self.lab("swarm", "--seeds", "0..999999999", "--time-budget", "300ms", "--json")
        self.assertGreater(json.loads(process.out)["seeds"], 0)

    def test_bad_input_is_refused_in_one_line(self):
        for part, words in (("--seeds is '9..0'", ("--seeds", "9..0")),
                            ("--seeds is 'all'", ("--seeds", "all")),
                            ("--jobs is '0'", ("--jobs", 0)),
                            ("--policy", ("--policy", "sync")),
                            ("--time-budget", ("--time-budget", "soon"))):
            with self.subTest(part):
                process = self.lab("swarm", *words, code=2)
                self.assertEqual(len(process.err.splitlines()), 1, process.err)
                self.assertIn(part, process.err)
                self.assertEqual(process.out, "")


class Product(LabTest):
    """`outpace` has no instrument: neither its words nor its code."""

    def test_help_and_options_name_no_instrument(self):
        for word in ("--help", "options") if self.with_libtorch().exists() else ("--help",):
            found = self.lab(word, program=OUTPACE).out
            self.assertIn("simulate", found)
            self.assertIsNone(re.search(r"(?i)chaos|swarm", found), word)

    def with_libtorch(self):
        return pathlib.Path(OUTPACE).with_name("outpace-torch")

    def test_no_code_of_the_lab_is_linked(self):
        ours = re.compile(r"outpace::(chaos|chaos_run|swarm|lab_cli)::")
        self.assertTrue(any(ours.search(one) for one in self.symbols(OUTPACE_LAB)))
        for program in filter(pathlib.Path.exists, (pathlib.Path(OUTPACE), self.with_libtorch())):
            with self.subTest(program):
                found = self.symbols(program)
                self.assertTrue(any("outpace::cli::" in one for one in found))
                self.assertEqual([one for one in found if ours.search(one)], [])

    def symbols(self, program):
        return subprocess.run(["nm", "-C", program], check=True, capture_output=True,
                              text=True).stdout.splitlines()


if __name__ == "__main__":
    main()
