#!/usr/bin/env python3
"""Puts bugs into copies of the sources, to prove that `outpace-lab chaos` finds them.

    seed_bugs.py SOURCE_FOLDER OUT_FOLDER

As test/swarm/seed_bugs.py, whose functions it uses. The programs outpace_with_bugs and lab_with_bugs
are built from the copies; the environment variable SEEDED_BUG turns one bug on. program/chaos_test.py (classes
SeededBugs and SeededHangs) says which rule each of them breaks.
"""

import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
SWARM = pathlib.Path(__file__).resolve().parent.parent / "swarm" / "seed_bugs.py"

# Name, the rule that it breaks, what it does; its file; the text of the source, and what stands
# there instead. BUG is true while the bug is on.
BUGS = [
    ("applied_twice", "exactly once", "Every 50th update is applied twice.",
     "core/server/shard.cc",
     "  aggregate_.clear();\n",
     "  static int steps = 0;\n"
     "  if (BUG && ++steps % 50 == 0) {\n"
     "    optimizer_->step({.rate = step.rate, .mean_weight = 1.0, .weight_decay = 0.0},\n"
     "                     aggregate_.mean(),\n"
     "                     *weights_);\n"
     "  }\n"
     "  aggregate_.clear();\n"),
    ("lease_lost", "no hang", "The examples of a dead worker are never handed out again.",
     "core/server/coordinator.cc",
     "    leases_.give_back(worker, member->ranges);\n",
     "    if (!BUG) {\n"
     "      leases_.give_back(worker, member->ranges);\n"
     "    }\n"),
    ("generation_kept", "monotonic", "A server goes on in the generation of the one before it.",
     "face/run/resume.cc",
     "  ++found.head.generation;\n",
     "  found.head.generation += BUG ? 0U : 1U;\n"),
    ("checkpoint_passed_over", "checkpoint kept", "A server goes on from its oldest checkpoint.",
     "world/checkpoint/checkpoint.cc",
     "  const std::vector<fs::path> all = list(folder);\n  for (const fs::path& one : all) {\n"
     "    try {\n",
     "  const std::vector<fs::path> all = list(folder);\n  for (const fs::path& one : all) {\n"
     "    if (BUG && one != all.back()) {\n      continue;\n    }\n"
     "    try {\n"),
    ("checksum_ignored", "whole weights", "A record whose checksum is wrong is taken.",
     "world/wire/record_stream.cc",
     "checksums_ == Checksums::kCrc32c && crc32c(body)",
     "checksums_ == Checksums::kCrc32c && !BUG && crc32c(body)"),
    ("end_ignored", "no hang", "A worker does not end with its run.",
     "world/live/worker_session.cc",
     "      if (inbox_.stopped()->how == protocol::Farewell::kFinished) {\n",
     "      while (BUG) {\n        ::pause();\n      }\n"
     "      if (inbox_.stopped()->how == protocol::Farewell::kFinished) {\n"
     "        if (::outpace::seeded_bug == \"orphan_left\" && ::fork() == 0) {\n"
     "          while (true) {\n            ::pause();\n          }\n"
     "        }\n"),
]


def seed_bugs():
    spec = importlib.util.spec_from_file_location("swarm_seed_bugs", SWARM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    seed_bugs().main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), BUGS)
