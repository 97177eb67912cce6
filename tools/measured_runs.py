"""Programs run one after the other; results are kept in a file, so that a stopped job goes on.

bench_peers.py and reproduce_staleness.py are made of this. A result is kept under a key that says
what was run; the file also says with which programs and on what machine (its identity), and results
of another identity are not mixed in.
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

QUIET_LOAD = 0.5  # A load average above this says that the machine has something else to do.


class RunFailed(Exception):
    pass


def last_json_object(text):
    """The JSON object that ends `text`, on one line or on many; None if there is none."""
    lines = text.splitlines()
    for first in (i for i, line in enumerate(lines) if line.startswith("{")):
        try:
            return json.loads("\n".join(lines[first:]))
        except ValueError:
            continue
    return None


def machine():
    """One line: processor, cores, memory."""
    def first(path, name):
        try:
            lines = pathlib.Path(path).read_text().splitlines()
        except OSError:
            return None
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)),
                    None)

    words = [first("/proc/cpuinfo", "model name") or os.uname().machine,
             f"{os.cpu_count()} cores"]
    memory = first("/proc/meminfo", "MemTotal")
    if memory:
        words.append(f"{int(memory.split()[0]) / 2**20:.0f} GiB")
    return ", ".join(words)


def load():
    """The load average of the last minute."""
    return os.getloadavg()[0]


def quiet_or_warn():
    """Says how busy the machine is before anything of ours runs."""
    now = load()
    print(f"{machine()}; load average {now:.2f}", flush=True)
    if now > QUIET_LOAD:
        print(f"WARNING: the load average is above {QUIET_LOAD}: something else runs here, and "
              "what is measured now is not to be quoted", flush=True)


def digest(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise RunFailed(f"{path}: {error.strerror}") from error


def run(command, seconds):
    """(exit code, standard output, standard error). Nothing that it started outlives this call.

    Raises RunFailed if it does not start, or has not ended after `seconds`.
    """
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
    except OSError as error:
        raise RunFailed(f"{command[0]}: {error.strerror}") from error
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"no end after {seconds:g} s: {' '.join(command)}") from error
    finally:
        if process.poll() is None:  # Ask first: what it started would otherwise lose its parent.
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()
        process.stderr.close()
    return process.returncode, out, errors


def failure(command, code, errors):
    tail = "\n".join(errors.splitlines()[-15:])
    return RunFailed(f"exit code {code}; its last words:\n{tail}\ncommand: {' '.join(command)}")


def outpace(program, arguments, seconds, command="train", script=()):
    """What `outpace train --json`, or another command, says of a run; `script` is what `outpace run`
    starts. The run's directory is gone afterwards.

    A run that diverged is a result too: its key "diverged" is true.
    """
    with tempfile.TemporaryDirectory(prefix="outpace-run-") as folder:
        line = [str(program), command, *arguments, "--json", "--out", os.path.join(folder, "run"),
                *(["--", *script] if script else [])]
        code, out, errors = run(line, seconds)
    result = last_json_object(out)
    diverged = result is not None and "diverged" in (result.get("why_ended") or "")
    if result is None or (code != 0 and not diverged):
        raise failure(line, code, errors)
    return {**result, "diverged": diverged}


class Runs:
    """Results by key, in a file that is written after every run."""

    def __init__(self, path, identity, fresh=False):
        self.path = pathlib.Path(path)
        self.identity = identity
        self.results = {}
        self.expected = 0  # Runs still to come, for the estimate of the time left.
        self.walls = []
        if self.path.exists() and not fresh:
            kept = json.loads(self.path.read_text())
            if kept["identity"] != identity:
                raise RunFailed(f"{path} was measured with other programs or on another machine; "
                                "--fresh starts over, --results keeps both")
            self.results = kept["runs"]

    def missing(self, keys):
        return [key for key in dict.fromkeys(keys) if key not in self.results]

    def get(self, key, measure):
        """The result kept under the key, or else what measure() returns, kept from now on."""
        if key not in self.results:
            busy = load()
            began = time.monotonic()
            try:
                result = measure()
            except RunFailed as error:
                raise RunFailed(f"{key}: {error}") from error
            wall = time.monotonic() - began
            self.results[key] = {**result, "load_before": busy, "wall_seconds": wall}
            self.save()
            self.walls.append(wall)
            self.expected = max(0, self.expected - 1)
            left = self.expected * sum(self.walls) / len(self.walls)
            print(f"  {key}: {words(result)}took {wall:.0f} s; {self.expected} to go, "
                  f"{duration(left)}", flush=True)
        return self.results[key]

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps({"identity": self.identity, "machine": machine(),
                                   "runs": self.results}, indent=1) + "\n")
        new.replace(self.path)


def words(result):
    """What matters most of one run, or nothing."""
    parts = []
    if result.get("examples_per_second") is not None:
        parts.append(f"{result['examples_per_second']:,.0f} examples/s, ")
    if result.get("seconds_to_target") is not None:
        parts.append(f"target after {result['seconds_to_target']:.2f} s, ")
    elif result.get("final_accuracy") is not None:
        parts.append(f"accuracy {result['final_accuracy']:.3f}, ")
    return "".join(parts)


def duration(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def table(rows):
    """Lines of text, aligned: the first row is the head, the first column is words."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0])] +
                       [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
             for row in rows]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]


def main(name, parse, measure, arguments):
    """The exit code of a tool: measure(options, folder) in a folder that is gone afterwards."""
    options = parse(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
            measure(options, pathlib.Path(folder))
    except RunFailed as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; what was measured is kept, and the same command goes on", file=sys.stderr)
        return 130
    return 0
