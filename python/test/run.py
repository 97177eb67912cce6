"""run.py [FOLDER]: all tests beside this file, by a Python that has torch.

FOLDER has the package, built; without it, PYTHON_PACKAGE names it.
"""

import os
import pathlib
import subprocess
import sys


def main():
    package = (sys.argv[1:] or [os.environ["PYTHON_PACKAGE"]])[0]
    for program in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([program, "-c", "import torch, numpy"], capture_output=True).returncode == 0:
            break
    else:
        print("skipped: there is no torch for Python: apt install python3-torch")
        return 0
    failed = 0
    for test in sorted(pathlib.Path(__file__).parent.glob("*_test.py")):
        print(test.name, flush=True)
        failed |= subprocess.run([program, "-B", test],
                                 env={**os.environ, "PYTHONPATH": package}).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
