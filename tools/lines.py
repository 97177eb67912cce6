"""Counts lines by folder, tests apart, and how they changed since a commit.

    tools/lines.py                    # of this commit
    tools/lines.py --since 1723b5c    # beside those of another one

A folder that moved to another wing keeps its row: rows are named by folder. `make lines SINCE=...`
runs this. What is not committed does not count.
"""

import argparse
import pathlib
import re
import subprocess
import sys

SUFFIXES = (".cc", ".h", ".proto", ".js", ".css", ".html", ".py")
TOPS = ("src", "lab", "include", "python", "examples", "bench", "fuzz", "test", "tools")
OF_TESTS = ("test", "fuzz")  # All of it.


def row_of(path):
    """(wing, folder) of a file; None: it is not counted."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[0] not in TOPS or not path.endswith(SUFFIXES):
        return None
    if parts[0] == "src" and len(parts) > 2:
        return (parts[1], parts[2]) if len(parts) > 3 else ("src", parts[1])
    if parts[0] == "lab" and len(parts) > 2:
        return "lab", parts[1]
    return "", parts[0]


def is_test(path):
    parts = pathlib.PurePosixPath(path).parts
    return parts[0] in OF_TESTS or "test" in parts or re.search(r"_test\.\w+$|_test\.h$", path)


def count(root, commit):
    """{folder: [wing, lines, lines of tests]} at a commit."""
    listed = subprocess.run(["git", "-C", str(root), "grep", "-I", "-c", "", commit],
                            capture_output=True, text=True, check=False)
    if listed.returncode > 1:
        raise SystemExit(f"lines: {listed.stderr.strip()}")
    rows = {}
    for line in listed.stdout.splitlines():
        path, lines = line.removeprefix(commit + ":").rsplit(":", 1)
        place = row_of(path)
        if place:
            row = rows.setdefault(place[1], [place[0], 0, 0])
            row[2 if is_test(path) else 1] += int(lines)
    return rows


def table(now, before):
    """The lines of the table; `before` is None without another commit."""
    head = f"{'wing':<10}{'folder':<16}{'lines':>9}{'tests':>9}"
    out = [head + (f"{'lines':>11}{'tests':>9}  (change)" if before is not None else "")]
    sums = [0, 0, 0, 0]
    for folder in sorted({*now, *(before or {})}, key=lambda one: (now.get(one, ["~"])[0], one)):
        wing, lines, tests = now.get(folder, ["gone", 0, 0])
        _, old, old_tests = (before or {}).get(folder, ["", 0, 0])
        out.append(f"{wing:<10}{folder:<16}{lines:>9,}{tests:>9,}"
                   + (f"{lines - old:>+11,}{tests - old_tests:>+9,}" if before is not None else ""))
        for i, number in enumerate((lines, tests, lines - old, tests - old_tests)):
            sums[i] += number
    out.append(f"{'all':<26}{sums[0]:>9,}{sums[1]:>9,}"
               + (f"{sums[2]:>+11,}{sums[3]:>+9,}" if before is not None else ""))
    return out


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="COMMIT")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent)
    options = parser.parse_args(arguments)
    before = count(options.root, options.since) if options.since else None
    print("\n".join(table(count(options.root, "HEAD"), before)))


if __name__ == "__main__":
    main(sys.argv[1:])
