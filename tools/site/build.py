"""Builds the site of `make site`: build/site/html. tools/install-packages.sh site brings what it needs."""

import pathlib
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import cpp_reference  # noqa: E402
import links  # noqa: E402
import pages  # noqa: E402
import python_reference  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main():
    out = ROOT / "build" / "site"
    shutil.rmtree(out, ignore_errors=True)
    stage = pages.Stage(ROOT, out / "pages", {**cpp_reference.pages(ROOT),
                                              **python_reference.pages(ROOT)})
    stage.add("README.md")
    stage.add(pages.INDEX)
    shutil.copyfile(HERE / "site.css", out / "pages" / "site.css")
    done = subprocess.run([sys.executable, "-B", "-m", "mkdocs", "build", "--quiet", "--strict",
                           "--config-file", HERE / "mkdocs.yml"])
    if done.returncode:
        return done.returncode
    problems = list(links.problems(out / "html"))
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"the site is {(out / 'html' / 'index.html').relative_to(ROOT)}; search needs a server: "
              "python3 -m http.server -d build/site/html")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
