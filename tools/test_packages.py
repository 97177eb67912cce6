"""test_packages.py DEBS WHEEL WORK: tries the packages in a bare Debian 12, below the folder WORK.

The system is debootstrap's smallest, from the mirror of this machine's apt. In one copy apt installs
the .deb files of the folder DEBS, an example trains, and all is purged; in another, pip installs the
wheel in an environment. Neither has a compiler. Prints the seconds from nothing to the first update.
Where buildah is, the image of examples/container is built on the same system, and trains too.
Takes root. --only deb, wheel or image tries one of them.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITE = "bookworm"
EXAMPLE = ROOT / "examples" / "python" / "regression.py"
CONTAINERFILE = ROOT / "examples" / "container" / "Containerfile"
LEARNED = "weights [3.0, -2.0, 0.5, 1.0]"
TRAIN = "run --workers 2 --policy async --lr 0.1 --out /root/{run} {end} --"
# What apt and dpkg keep for themselves.
KEPT = re.compile(r"\./(var/(lib/(apt|dpkg|systemd|ucf)|cache|log)|proc|sys|dev|run|tmp|root|given)\b")


class Failed(Exception):
    """The packages are not right; the message says how."""


class System:
    """A Debian below a folder; what runs in it has namespaces of its own, and ends with the command."""

    def __init__(self, base, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        run("cp", "-a", "--reflink=auto", base, folder)
        (folder / "given").mkdir()

    def give(self, *files):
        for file in files:
            shutil.copy(file, self.folder / "given")

    def run(self, command, **more):
        """What it prints; it runs in sh, with the example and the packages in /given."""
        inside = (f"mount -t proc proc {self.folder}/proc && mount --rbind /dev {self.folder}/dev && "
                  f"exec chroot {self.folder} /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 "
                  "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "
                  "DEBIAN_FRONTEND=noninteractive sh -ec \"$1\"")
        ran = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                              inside, "sh", command], capture_output=True, text=True, **more)
        if ran.returncode:
            raise Failed(f"`{command}` exited with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        return ran.stdout

    def apt(self, words):
        self.run(f"apt-get -qq -y -o Dpkg::Use-Pty=0 {words}")

    def packages(self):
        return set(self.run("dpkg-query -W -f '${Package}\\n'").split())

    def files(self):
        found = self.run("cd / && find . -xdev -not -type d")
        return {line for line in found.splitlines() if not KEPT.match(line)}

    def assert_bare(self):
        for program in ("cc", "gcc", "g++", "clang", "cmake"):
            if self.run(f"command -v {program} || true"):
                raise Failed(f"this system should have no compiler, and has {program}")
        if dev := [name for name in self.packages() if name.endswith("-dev")]:
            raise Failed(f"this system should have no -dev package, and has {' '.join(dev)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("debs", type=pathlib.Path)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("work", type=lambda word: pathlib.Path(word).resolve())
    parser.add_argument("--only", choices=("deb", "wheel", "image"))
    options = parser.parse_args()
    debs = sorted(options.debs.glob("*.deb"))
    if not debs or not options.wheel.is_file():
        sys.exit(f"test_packages: no packages in {options.debs}, or no wheel {options.wheel}: make deb python")
    try:
        base = bare_system(options.work)
        if options.only in (None, "deb"):
            try_debs(System(base, options.work / "deb"), debs)
        if options.only in (None, "wheel"):
            try_wheel(System(base, options.work / "wheel"), options.wheel)
        if options.only in (None, "image"):
            try_image(base, options.debs, options.work)
    except (Failed, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"test_packages: {error}")


def bare_system(work):
    """Made once: a system of debootstrap, with this machine's sources of Debian and its names."""
    base = work / "base"
    if not (base / "made").exists():
        source, mirror = source_of_debian()
        work.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(base, ignore_errors=True)
        began = time.monotonic()
        run("debootstrap", "--variant=minbase", SUITE, base, mirror, stdout=subprocess.DEVNULL)
        (base / "etc/apt/sources.list").unlink(missing_ok=True)
        kept = base / "etc/apt/sources.list.d" / source.name
        shutil.copy(source, kept if source.suffix == ".sources" else base / "etc/apt/sources.list")
        for name in ("resolv.conf", "hosts"):
            shutil.copy(pathlib.Path("/etc") / name, base / "etc" / name)
        (base / "made").touch()
        print(f"bare system: {time.monotonic() - began:.0f} s, kept in {base}", flush=True)
    return base


def source_of_debian():
    """The file of /etc/apt that has Debian's own packages, and their mirror."""
    folder = pathlib.Path("/etc/apt")
    for file in (*sorted(folder.glob("sources.list.d/*.sources")), folder / "sources.list"):
        text = file.read_text() if file.exists() else ""
        for part in text.split("\n\n"):
            uri = re.search(r"^URIs: *(\S+)", part, re.MULTILINE)
            if uri and re.search(rf"^Suites:.*\b{SUITE}(\s|$)", part, re.MULTILINE):
                return file, uri[1]
        if line := re.search(rf"^deb +(?:\[.*?\] +)?(\S+) +{SUITE} ", text, re.MULTILINE):
            return file, line[1]
    raise Failed(f"apt of this machine has no source of Debian {SUITE}")


def try_debs(system, debs):
    system.give(*debs, EXAMPLE)
    system.apt("update")
    packages, files = system.packages(), system.files()
    began = time.monotonic()
    wanted = [f"/given/{deb.name}" for deb in debs
              if not deb.name.startswith(("liboutpace-dev", "outpace-torch"))]
    system.apt("install --no-install-recommends python3-numpy " + " ".join(wanted))
    installed = time.monotonic()
    system.assert_bare()
    train(system, "outpace", "python3", "deb", began, installed)
    system.run("outpace options --as bash >/dev/null 2>&1 || outpace --help >/dev/null")
    pages = system.run("dpkg -L outpace | grep -c /man1/outpace")
    print(f"  {pages.strip()} manual pages; purged with what came along", flush=True)
    system.run("rm -rf /root/*")
    system.apt("purge --autoremove python3-numpy outpace python3-outpace liboutpace9")
    if left := system.packages() - packages:
        raise Failed("the purge left the packages " + " ".join(sorted(left)))
    left = sorted(system.files() - files)
    if ours := [path for path in left if "outpace" in path]:
        raise Failed("the purge left " + " ".join(ours))
    print(f"  nothing of ours is left; of other packages: {' '.join(left) or 'nothing'}", flush=True)


def try_wheel(system, wheel):
    system.give(wheel, EXAMPLE)
    system.apt("update")
    began = time.monotonic()
    system.apt("install --no-install-recommends python3-venv python3-numpy")
    system.run("python3 -m venv --system-site-packages /root/venv && "
               f"/root/venv/bin/pip install --quiet --no-index /given/{wheel.name}")
    installed = time.monotonic()
    system.assert_bare()
    train(system, "/root/venv/bin/outpace", "/root/venv/bin/python3", "wheel", began, installed)
    train(system, "/root/venv/bin/python3 -m outpace", "/root/venv/bin/python3", "wheel, by -m",
          began, time.monotonic())


def try_image(base, debs, work):
    """examples/container, in a store of images of its own; no image is fetched."""
    if not shutil.which("buildah"):
        print("image: not built, there is no buildah", flush=True)
        return
    store, began = work / "images", time.monotonic()

    def buildah(*words):
        ran = subprocess.run(["buildah", "--root", store, "--runroot", work / "images-run",
                              "--storage-driver", "vfs", *map(str, words)], capture_output=True, text=True)
        if ran.returncode:
            raise Failed(f"buildah {words[0]} exited with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}")
        return ran.stdout.strip()

    try:
        bare = buildah("from", "scratch")
        buildah("add", "--quiet", bare, base, "/")
        buildah("commit", "--quiet", bare, "outpace-base")
        buildah("build", "--isolation", "chroot", "--build-arg", "BASE=localhost/outpace-base",
                "--tag", "outpace", "--file", CONTAINERFILE, debs)
        made = buildah("from", "--pull-never", "localhost/outpace")
        buildah("copy", "--quiet", made, EXAMPLE, f"/given/{EXAMPLE.name}")
        words = TRAIN.format(run="whole", end="--epochs 50").replace("/root/", "")
        said = buildah("run", "--isolation", "chroot", made, "--", "sh", "-ec",
                       f"id -u; outpace {words} python3 /given/{EXAMPLE.name}; cat whole/logs/worker-0.out")
        if not said.startswith("10001\n") or LEARNED not in said:
            raise Failed("the image is root's, or its example did not learn:\n" + said)
        print(f"image: built and trained in {time.monotonic() - began:.1f} s, as user 10001", flush=True)
    finally:
        shutil.rmtree(store, ignore_errors=True)


def train(system, program, python, name, began, installed):
    """One update, whose seconds are told, and a whole run, which has to learn the weights."""
    first = TRAIN.format(run="first", end="--updates 1")
    system.run(f"rm -rf /root/first /root/whole; {program} {first} {python} /given/{EXAMPLE.name}")
    print(f"{name}: first update {time.monotonic() - began:.1f} s after nothing was there, "
          f"{installed - began:.1f} s of it to install", flush=True)
    whole = TRAIN.format(run="whole", end="--epochs 50")
    said = system.run(f"{program} {whole} {python} /given/{EXAMPLE.name}; cat /root/whole/logs/worker-0.out")
    if LEARNED not in said:
        raise Failed("the example did not learn its weights:\n" + said)


def run(*words, **more):
    subprocess.run(list(map(str, words)), check=True, **more)


if __name__ == "__main__":
    main()
