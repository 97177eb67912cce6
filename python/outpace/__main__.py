"""`python -m outpace`, and the command that pip installs: becomes the program that is in the wheel.

A package without the program, as that of a build's folder or of Debian, takes the one of the PATH.
"""

import os
import pathlib
import sys


def _program() -> "pathlib.Path | None":
    places = [pathlib.Path(__file__).parent / "_program"]
    places += [pathlib.Path(place) for place in os.environ.get("PATH", "").split(":") if place]
    for place in places:
        path = place / "outpace"
        if os.access(path, os.X_OK) and path.is_file():
            with open(path, "rb") as file:  # Not pip's command, which would start this again.
                if file.read(4) == b"\x7fELF":
                    return path
    return None


def main() -> None:
    program = _program()
    if program is None:
        sys.exit("outpace: this package is without the program, and the PATH has none; install the "
                 "wheel, or see docs/install.md")
    sys.stdout.flush()
    os.execv(program, [str(program), *sys.argv[1:]])


if __name__ == "__main__":
    main()
