"""make_wheel.py BUILD OUT: the wheel of python/outpace, from a build's folder, into the folder OUT.

The wheel holds liboutpace.so and those of the libraries it needs that a bare Debian does not have.
Needs Debian's python3-pip, python3-setuptools and python3-wheel, and no network.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BROUGHT = ("libprotobuf-lite.so.32", "libisal.so.2")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    build, out = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        fill(stage, build / "python" / "outpace")
        run(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet",
            "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder + "/out",
            folder)
        out.mkdir(parents=True, exist_ok=True)
        (wheel,) = (stage / "out").glob("*.whl")
        shutil.copy(wheel, out)
        print(out / wheel.name)


def fill(stage, built):
    """What setup.py expects around it."""
    shutil.copytree(built, stage / "outpace", ignore=shutil.ignore_patterns(
        "__pycache__", "liboutpace.so.*"))  # A wheel has no links: the library is in it once.
    library = stage / "outpace" / "liboutpace.so"
    run("strip", "--strip-unneeded", library)
    for name, path in needed_by(library).items():
        if name in BROUGHT:
            shutil.copy(path, stage / "outpace" / name)
    for name in ("python/setup.py", "python/setup.cfg", "LICENSE"):
        shutil.copy(ROOT / name, stage)
    version = re.search(r"project\(outpace VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    settings = stage / "setup.cfg"
    settings.write_text(settings.read_text().replace(
        "[metadata]", f"[metadata]\nversion = {version[1]}", 1))


def needed_by(library):
    """{name: path} of the shared libraries that the loader finds for this one."""
    listed = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (\S+)", listed, re.MULTILINE))


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


if __name__ == "__main__":
    main()
