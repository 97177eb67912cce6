"""make_wheel.py BUILD OUT: the wheel of python/outpace, from a build's folder, into the folder OUT.

The wheel holds liboutpace.so, the program `outpace`, and those of their libraries that a bare Debian 12
does not have; not libtorch. Its name promises glibc 2.36, and a wheel that needs more is refused.
Needs Debian's patchelf, python3-pip, python3-setuptools and python3-wheel, and no network.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The newest versions of symbols that Debian 12 has, and its libraries that every Debian 12 has.
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libz.so.1",
          "libgcc_s.so.1", "libstdc++.so.6"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    build, out = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        stage = pathlib.Path(folder)
        fill(stage, build)
        if wrong := unfit(stage / "outpace"):
            sys.exit("make_wheel: not for every Debian 12: " + "; ".join(wrong))
        run(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet",
            "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", folder + "/out",
            folder)
        out.mkdir(parents=True, exist_ok=True)
        (wheel,) = (stage / "out").glob("*.whl")
        shutil.copy(wheel, out)
        print(out / wheel.name)
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", file=sys.stderr)


def fill(stage, build):
    """What setup.py expects around it."""
    package = stage / "outpace"
    shutil.copytree(build / "python" / "outpace", package, ignore=shutil.ignore_patterns(
        "__pycache__", "liboutpace.so.*"))  # A wheel has no links: the library is in it once.
    library = package / "liboutpace.so"
    run("strip", "--strip-unneeded", library)
    copied = bring(needed_by(library), package, "$ORIGIN")
    # The program has a folder of its own: Python packages there would have its name.
    folder = package / "_program"
    folder.mkdir()
    program = shutil.copy(build / "outpace", folder / "outpace")
    run("strip", "--strip-unneeded", program)
    run("patchelf", "--set-rpath", "$ORIGIN:$ORIGIN/..", program)
    needed = {name: path for name, path in needed_by(build / "outpace").items()
              if not (package / name).exists()}
    copied += bring(needed, folder, "$ORIGIN:$ORIGIN/..")
    (stage / "licenses").mkdir()
    for path in copied:
        add_license(path, stage / "licenses")
    for name in ("python/setup.py", "python/setup.cfg", "LICENSE"):
        shutil.copy(ROOT / name, stage)
    version = re.search(r"project\(outpace VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    settings = stage / "setup.cfg"
    settings.write_text(settings.read_text().replace(
        "[metadata]", f"[metadata]\nversion = {version[1]}", 1))


def needed_by(file):
    """{name: path} of the shared libraries that the loader finds for this file."""
    listed = subprocess.run(["ldd", file], check=True, capture_output=True, text=True).stdout
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", listed, re.MULTILINE))


def bring(needed, folder, where):
    """Copies what a bare Debian does not have, to be found in `where`; gives the originals."""
    brought = {name: path for name, path in needed.items() if name not in SYSTEM}
    for name, path in brought.items():
        copy = shutil.copy(path, folder / name)
        run("patchelf", "--set-rpath", where, copy)
    return list(brought.values())


def add_license(path, folder):
    """The copyright file of the Debian package that has this library."""
    owner = ""
    for known in (path, str(pathlib.Path(path).resolve()), path.removeprefix("/usr"),
                  "/usr" + str(pathlib.Path(path).resolve())):
        found = subprocess.run(["dpkg-query", "--search", known], capture_output=True, text=True)
        owner = owner or found.stdout.partition(":")[0]
    text = pathlib.Path("/usr/share/doc") / owner / "copyright"
    if not owner or not text.exists():
        sys.exit(f"make_wheel: {path} is of no Debian package, so its license is not known")
    shutil.copy(text, folder / f"{owner}.copyright")


def unfit(package):
    """What in the folder would not load on a bare Debian 12, as sentences."""
    files = {path.name: path for path in sorted(package.rglob("*"))
             if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}
    wrong = []
    for name, path in files.items():
        said = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", path], check=True,
                              capture_output=True, text=True).stdout
        for needed in re.findall(r"\(NEEDED\).*\[(\S+)\]", said):
            if needed not in SYSTEM and needed not in files and not needed.startswith("ld-linux"):
                wrong.append(f"{name} needs {needed}")
        for kind, version in sorted(set(re.findall(r"Name: ([A-Z]+)_(\d[\d.]*)", said))):
            if kind in NEWEST and tuple(map(int, version.split("."))) > NEWEST[kind]:
                wrong.append(f"{name} needs {kind}_{version}")
    return wrong


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


if __name__ == "__main__":
    main()
