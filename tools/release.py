"""release.py VERSION: checks that this commit can be released as VERSION, and makes its tag.

The version has to stand in CMakeLists.txt, CITATION.cff and a dated heading of CHANGELOG.md; test/kept must have
records that it wrote, which later versions read; nothing may be uncommitted; and `make test` must have passed
since the last change. All that is missing is said at once.
The tag is annotated, and has the version's section of CHANGELOG.md. Pushing it is up to you.
"""

import pathlib
import re
import subprocess
import sys


def main():
    if len(sys.argv) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", sys.argv[1]):
        sys.exit(__doc__.splitlines()[0] + "\nVERSION is as 0.1.0")
    version = sys.argv[1]
    root = pathlib.Path.cwd()
    section, wrong = changes(root, version)
    wrong += versions(root, version) + state(root, version)
    if wrong:
        sys.exit("\n".join(f"release: {what}" for what in wrong))
    git(root, "tag", "--annotate", f"v{version}", "--cleanup=whitespace",
        "--message", f"Outpace {version}\n\n{section}")
    print(f"tagged v{version}; to publish it: git push origin v{version}")


def changes(root, version):
    """The section of the version in CHANGELOG.md, and what is wrong with it."""
    text = (root / "CHANGELOG.md").read_text()
    found = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text,
                      re.MULTILINE | re.DOTALL)
    if not found:
        return "", [f"CHANGELOG.md has no heading `## [{version}] - YYYY-MM-DD`; rename [Unreleased]"]
    section = found[1].strip()
    return section, [] if section else [f"CHANGELOG.md says nothing below [{version}]"]


def versions(root, version):
    wrong = []
    for name, pattern in (("CMakeLists.txt", r"^project\(outpace VERSION ([\d.]+)"),
                          ("CITATION.cff", r"^version: \"?([\d.]+)")):
        found = re.search(pattern, (root / name).read_text(), re.MULTILINE)
        if not found or found[1] != version:
            wrong.append(f"{name} has version {found[1] if found else 'none'}, not {version}")
    if not (root / "test" / "kept" / version).is_dir():
        wrong.append(f"test/kept/{version} is missing: python3 tools/keep_records.py build/release/outpace "
                     f"test/kept/{version}")
    return wrong


def state(root, version):
    """What is wrong with the clone: uncommitted changes, tests that did not pass, a tag there is."""
    wrong = []
    if changed := git(root, "status", "--porcelain").splitlines():
        wrong.append(f"{len(changed)} files are not committed: {changed[0].split()[-1]}, ...")
    if git(root, "tag", "--list", f"v{version}"):
        wrong.append(f"there is a tag v{version} already")
    asked = subprocess.run(["make", "--question", "--no-print-directory", "build/dev/tests-passed"],
                           cwd=root, capture_output=True)
    if asked.returncode:
        wrong.append("the tests have not passed since the last change: make test")
    return wrong


def git(root, *words):
    ran = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"release: git {words[0]}: {ran.stderr.strip()}")
    return ran.stdout


if __name__ == "__main__":
    main()
