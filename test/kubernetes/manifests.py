"""examples/kubernetes held to the schemas of Kubernetes, and copies with one error each, which must be refused.

  python3 -B test/kubernetes/manifests.py        # takes node and npm; make test-kubernetes
"""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MANIFESTS = sorted((HERE.parents[1] / "examples/kubernetes").glob("*.yaml"))
PACKAGES = ("kubernetes-models@4.5.1", "yaml@2")
SPOILT = (  # What is replaced in the first manifest that has it, by what.
    ("backoffLimit:", "backofLimit:"),
    ("completions: 8", "completions: eight"),
    ("preStop:", "prestop:"),
    (', status: "True"', ""),
    ("kind: Job\n", "kind: Work\n"),
    ("mountPath: /secret", "mountPth: /secret"),
    ("action: Ignore", "action: Forget"),
)


def check(modules, *files):
    return subprocess.run(["node", HERE / "check_manifests.mjs", modules, *files],
                          capture_output=True, text=True, check=False)


def main():
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="outpace-kubernetes-") as name:
        folder = pathlib.Path(name)
        subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--silent",
                        *PACKAGES], check=True)
        modules = folder / "node_modules"
        done = check(modules, *MANIFESTS)
        print(done.stdout + done.stderr, end="")
        wrong += done.returncode != 0
        for before, after in SPOILT:
            text = next(text for text in (path.read_text() for path in MANIFESTS) if before in text)
            spoilt = folder / "spoilt.yaml"
            spoilt.write_text(text.replace(before, after))
            done = check(modules, spoilt)
            found = next((line for line in done.stdout.splitlines() if line.startswith("NOT ")), None)
            wrong += found is None
            print(f"{'ok  refused' if found else 'NOT refused'}: {before.strip()} as "
                  f"{after.strip() or 'nothing'}: {(found or done.stdout)[4:]}")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
