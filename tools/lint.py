"""Runs clang-tidy on the program's sources, but not on what has passed before.

    tools/lint.py build/dev [--jobs 2] [--no-cache]

A source is known by a hash of all that clang-tidy's answer depends on: the preprocessed text, every
file of ours that it includes (comments too, for a NOLINT is one), the compile flags, .clang-tidy,
clang-tidy's version and this script. The hash of a source that passed is kept in the cache folder;
a source whose hash is there is skipped. Hashes do not depend on where the clone is.

The sources of a folder that are left are checked as one file, because most of clang-tidy's time goes
into the headers that they share. If it fails, none of them counts as passed. Tests, benchmarks,
generated code and what includes libtorch, whose headers alone take minutes, are left out.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

ENTRY_DAYS = 60  # A hash that nobody asked for in this time is removed.
LINTED = re.compile(r"CMakeFiles/outpace(?!_messages|_events)[\w-]*(?<!_test)\.dir/")
LIBTORCH = "torch/csrc/api/include"
# These flags do not change what clang-tidy says, and differ from build to build.
IGNORED_FLAG = re.compile(r"-(g\d?|O\w|f\w+-prefix-map=.*|D_GLIBCXX_ASSERTIONS)$")
INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
LINE_MARKER = re.compile(rb'^# \d+ "([^"<]+)"', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Source:
    path: pathlib.Path
    group: str  # What is checked as one file: a target's sources.
    flags: tuple  # The compiler's, without names of files.
    folder: str  # Where the compiler is started.


def flags_of(command):
    """The flags that decide how a file is read."""
    words, flags = iter(shlex.split(command)), []
    for word in words:
        if word in ("-o", "-c"):
            next(words)
        elif (word.startswith("-") or flags) and not IGNORED_FLAG.match(word):
            flags.append(word)
    return tuple(flags)


def sources_of(build):
    """What the build compiles into the program, without tests and what includes libtorch."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        target = LINTED.search(entry["command"])
        if not target or LIBTORCH in entry["command"]:
            continue
        compiled = pathlib.Path(entry["file"])
        files = [compiled]
        if "/Unity/" in entry["file"]:  # CMake's: several sources as one.
            files = [pathlib.Path(name) for name in INCLUDE.findall(compiled.read_text())]
        for path in files:
            found[path] = Source(path, target[0], flags_of(entry["command"]), entry["directory"])
    return [found[path] for path in sorted(found)]


@dataclasses.dataclass(frozen=True)
class Looked:
    hash: str | None  # None: it cannot even be preprocessed.
    stamps: tuple  # For each of our files: path, time of the last change, size.


def stamp(path):
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size


def size(group):
    return sum(source.path.stat().st_size for source in group)


class Lint:
    """Knows what has passed, and finds out about the rest."""

    def __init__(self, root, cache, clang_tidy="clang-tidy", compiler="c++"):
        self.root = root
        self.cache = cache  # None: nothing is known and nothing is kept.
        self.clang_tidy = clang_tidy
        self.compiler = compiler
        version = subprocess.run([clang_tidy, "--version"], capture_output=True, check=True)
        self.config = root / ".clang-tidy"
        self.common = [version.stdout, self.config.read_bytes(),
                       pathlib.Path(__file__).read_bytes()]

    def look_at(self, source):
        """What decides whether the source passes: its hash, and our files that it is made of."""
        text = subprocess.run([self.compiler, *source.flags, "-E", str(source.path)],
                              cwd=source.folder, capture_output=True, check=False)
        if text.returncode != 0:
            return Looked(None, ())  # clang-tidy will say what is wrong.
        here = str(self.root).encode()
        parts = [*self.common, " ".join(source.flags).encode().replace(here, b"."),
                 text.stdout.replace(here, b".")]
        stamps = []
        for name in sorted(set(LINE_MARKER.findall(text.stdout))):
            path = pathlib.Path(source.folder, os.fsdecode(name)).resolve()
            if path.is_relative_to(self.root) and path.is_file():
                stamps.append(stamp(path))
                parts += [str(path.relative_to(self.root)).encode(), path.read_bytes()]
        whole = hashlib.sha256()
        for part in parts:
            whole.update(len(part).to_bytes(8, "big") + part)
        return Looked(whole.hexdigest(), tuple(stamps))

    def passed_before(self, looked):
        if self.cache is None or looked.hash is None or not (self.cache / looked.hash).exists():
            return False
        (self.cache / looked.hash).touch()
        return True

    def keep(self, looked):
        """Remembers what passed, unless a file was written while clang-tidy read it."""
        if self.cache is None or looked.hash is None:
            return
        if any(stamp(path) != (path, *rest) for path, *rest in looked.stamps):
            return
        self.cache.mkdir(parents=True, exist_ok=True)
        (self.cache / looked.hash).touch()

    def check(self, sources):
        """What clang-tidy says of these as one file; empty if nothing."""
        with tempfile.TemporaryDirectory() as folder:
            unit = pathlib.Path(folder, "unit.cc")
            unit.write_text("".join(f'#include "{source.path}"\n' for source in sources))
            done = subprocess.run(
                [self.clang_tidy, "--quiet", f"--config-file={self.config}", str(unit), "--",
                 *sources[0].flags],
                cwd=sources[0].folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return ""
        return done.stdout + done.stderr or f"clang-tidy ended with {done.returncode}\n"

    def run(self, sources, jobs):
        """Checks what has not passed before; returns what was said of those that do not pass."""
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            looked = dict(zip(sources, pool.map(self.look_at, sources)))
            groups = {}
            for source in sources:
                if not self.passed_before(looked[source]):
                    groups.setdefault((source.group, source.flags), []).append(source)
            left = sum(len(group) for group in groups.values())
            print(f"lint: {len(sources)} sources; {len(sources) - left} have passed before",
                  flush=True)
            by_size = sorted(groups.values(), key=size, reverse=True)  # The longest first.
            failures = []
            for group, said in zip(by_size, pool.map(self.check, by_size)):
                if said:
                    failures.append(said)
                    continue
                for source in group:
                    self.keep(looked[source])
        print(f"lint: {left} checked in {time.monotonic() - began:.0f} s, in {len(groups)} groups; "
              f"{len(failures)} failed", flush=True)
        return failures


def remove_old(cache, now):
    if cache is not None and cache.is_dir():
        for entry in cache.iterdir():
            if now - entry.stat().st_mtime > ENTRY_DAYS * 86400:
                entry.unlink(missing_ok=True)


def cache_folder():
    above = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(above, "outpace-lint")


def main():
    parser = argparse.ArgumentParser(description="clang-tidy on what has not passed before")
    parser.add_argument("build", type=pathlib.Path, help="a configured build, e.g. build/dev")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time")
    parser.add_argument("--no-cache", action="store_true", help="check everything, keep nothing")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    cache = None if options.no_cache else cache_folder()
    sources = sources_of(options.build)
    if not sources:
        sys.exit(f"lint: {options.build}/compile_commands.json names no source of the program")
    failures = Lint(root, cache).run(sources, options.jobs)
    remove_old(cache, time.time())
    for said in failures:
        print(said.replace(f"{root}/", ""))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
