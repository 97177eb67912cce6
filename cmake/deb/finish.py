"""finish.py STAGE VERSION MAINTAINER: completes the folders of CPack's components to what Debian packages have.

Strips programs and libraries, packs manual pages, and adds copyright, changelog and the overrides of
lintian. Each folder of STAGE is a component, whose files lie in usr/.
"""

import gzip
import os
import pathlib
import subprocess
import sys
import time
from email.utils import formatdate

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: outpace

Files: *
Copyright: 2026 The authors of Outpace
License: Apache-2.0
 On Debian systems the full text of the Apache License, Version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
"""
CHANGELOG = """outpace ({version}) unstable; urgency=medium

  * This version; changelog.gz says what is in it.

 -- {maintainer}  {date}
"""


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[0])
    stage, version, maintainer = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    for component in sorted(path for path in stage.iterdir() if (path / "usr").is_dir()):
        strip_all(component / "usr")
        for page in component.glob("usr/share/man/man*/*.[1-9]"):
            pack(page.read_bytes(), page.with_name(page.name + ".gz"))
            page.unlink()
        package = package_of(component)
        add_documents(component / "usr" / "share" / "doc" / package, version, maintainer)
        folder = component / "usr" / "share" / "lintian" / "overrides"
        folder.mkdir(parents=True)
        (folder / package).write_text("".join(
            path.read_text() for name in ("every", component.name)
            if (path := HERE / f"{name}.lintian-overrides").exists()))
        if component.name == "outpace-torch":
            page = component / "usr" / "share" / "man" / "man1" / "outpace-torch.1.gz"
            page.parent.mkdir(parents=True)
            page.symlink_to("outpace.1.gz")  # Of the package outpace, on which this one depends.
        if component.name == "python3-outpace":
            (library,) = (stage / "liboutpace").glob("usr/lib/**/liboutpace.so.*")
            link = component / "usr" / "lib" / "python3" / "dist-packages" / "outpace" / "liboutpace.so"
            link.symlink_to(os.path.relpath(component / library.relative_to(stage / "liboutpace"),
                                            link.parent))


def package_of(component):
    """The library's package has the number of its interface in its name."""
    if component.name != "liboutpace":
        return component.name
    (library,) = component.glob("usr/lib/**/liboutpace.so.*")
    return "liboutpace" + library.name.rpartition(".")[2]


def strip_all(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        head = path.read_bytes()[:8]
        if head.startswith(b"\x7fELF"):
            run("strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", path)
            path.chmod(0o755 if "bin" in path.parts else 0o644)
        elif head == b"!<arch>\n":
            run("strip", "--strip-debug", "--enable-deterministic-archives", path)


def add_documents(folder, version, maintainer):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "copyright").write_text(COPYRIGHT)
    pack((ROOT / "CHANGELOG.md").read_bytes(), folder / "changelog.gz")
    when = os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True).stdout
    text = CHANGELOG.format(version=version, maintainer=maintainer, date=formatdate(int(when or time.time())))
    pack(text.encode(), folder / "changelog.Debian.gz")


def pack(content, path):
    path.write_bytes(gzip.compress(content, 9, mtime=0))


def run(*words):
    subprocess.run(list(map(str, words)), check=True)


if __name__ == "__main__":
    main()
