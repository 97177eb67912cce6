"""The wheel, made and installed: it has the program and what both need, and nothing that a bare Debian 12
would not load."""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True
from jobs import OUTPACE, main  # noqa: E402
from python_jobs import EXAMPLES, PACKAGE, PYTHON, ROOT, PythonTest, needs_torch  # noqa: E402

MAKE_WHEEL = ROOT / "tools" / "make_wheel.py"
# What PEP 600 and Debian 12 have: https://peps.python.org/pep-0600/
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}
DEBIAN_HAS = re.compile(r"(lib(c|m|z|dl|rt|pthread|gcc_s|stdc\+\+)|ld-linux-x86-64)\.so\.\d")


@needs_torch
class Wheel(PythonTest):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.made.cleanup)
        said = subprocess.run([PYTHON, "-B", MAKE_WHEEL, pathlib.Path(PACKAGE).parent, cls.made.name],
                              check=True, capture_output=True, text=True)
        cls.wheel, cls.size = pathlib.Path(said.stdout.strip()), said.stderr
        cls.site = pathlib.Path(cls.made.name) / "site"
        subprocess.run([PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
                        "--no-deps", "--no-index", "--target", cls.site, cls.wheel], check=True)

    def installed(self, *words, program=PYTHON, **variables):
        """What this prints that was installed, in the environment of its package."""
        ran = self.start(*words, program=program,
                         variables={"PYTHONPATH": str(self.site), **variables})
        self.assertEqual(ran.wait(), 0, ran.err)
        return ran.out

    def test_its_name_promises_debian_12_and_its_size_is_said(self):
        self.assertRegex(self.wheel.name, r"^outpace-[\d.]+-py3-none-manylinux_2_36_x86_64\.whl$")
        self.assertRegex(self.size, r"outpace-.*\.whl: \d+\.\d MB\n")

    def test_its_library_loads_with_what_it_brings(self):
        """In a folder of its own, with its own protobuf and ISA-L."""
        script = "import outpace; outpace.role(); print(open('/proc/self/maps').read())"
        loaded = self.installed("-c", script)
        for name in ("liboutpace.so", "libprotobuf-lite.so.32", "libisal.so.2"):
            self.assertIn(f"{self.site}/outpace/{name}", loaded)
        self.assertTrue((self.site / "outpace" / "py.typed").exists())

    def test_its_program_trains_a_script(self):
        words = ("run", "--workers", 2, "--policy", "async", "--lr", 0.1, "--epochs", 3, "--json",
                 "--", PYTHON, EXAMPLES / "regression.py")
        for program, before in ((self.site / "bin" / "outpace", ()), (PYTHON, ("-m", "outpace"))):
            out = self.installed(*before, *words, program=program)
            self.assertEqual(json.loads(out.strip().splitlines()[-1])["epochs_complete"], 3, out)

    def test_its_program_is_the_one_that_was_built_and_finds_what_it_brings(self):
        """Also where Debian's own libraries are: a program and its libraries belong together."""
        version = self.start("--version")
        self.assertEqual(version.wait(), 0)
        self.assertEqual(self.installed("-m", "outpace", "--version"), version.out)
        program = self.site / "outpace" / "_program" / "outpace"
        for line in subprocess.run(["ldd", program], check=True, capture_output=True,
                                   text=True).stdout.splitlines():
            if "=>" in line and not DEBIAN_HAS.match(line.strip()):
                self.assertIn(str(self.site), str(pathlib.Path(line.split()[2]).resolve()))

    def test_what_takes_libtorch_says_so_in_one_line(self):
        ran = self.start("-m", "outpace", "train", "--out", self.folder / "run", program=PYTHON,
                         variables={"PYTHONPATH": str(self.site)})
        self.assertEqual(ran.wait(), 2)
        self.assertRegex(ran.err, r"\Aoutpace: .*takes libtorch.*\n\Z")

    def test_it_writes_its_options_without_libtorch(self):
        self.assertIn("complete -F _outpace outpace", self.installed("-m", "outpace", "options", "--as", "bash"))

    def test_no_symbol_or_library_is_newer_than_debian_12(self):
        files = {path.name: path for path in self.site.rglob("*")
                 if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"}
        self.assertLessEqual({"outpace", "liboutpace.so", "libprotobuf.so.32"}, set(files))
        for name, path in files.items():
            said = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", path],
                                  check=True, capture_output=True, text=True).stdout
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
            self.assertIn("libc.so.6", needed, name)
            for library in needed:
                self.assertTrue(library in files or DEBIAN_HAS.fullmatch(library),
                                f"{name} needs {library}")
            versions = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI)_([\d.]+)", said)
            self.assertTrue(versions, name)
            for kind, version in versions:
                self.assertLessEqual(tuple(map(int, version.split("."))), NEWEST[kind], name)

    def test_it_has_the_licenses_of_what_it_brings_and_no_libtorch(self):
        names = [path.name for path in self.site.rglob("*")]
        for package in ("libssl3", "libprotobuf32", "libisal2", "libfmt9"):
            self.assertIn(f"{package}.copyright", names)
        self.assertFalse([name for name in names if name.startswith(("libtorch", "libc10"))])

    def test_a_wheel_that_would_not_load_is_refused(self):
        spec = importlib.util.spec_from_file_location("make_wheel", MAKE_WHEEL)
        make_wheel = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(make_wheel)
        shutil.copy(OUTPACE, self.folder / "outpace")
        self.assertIn("outpace needs libprotobuf.so.32", make_wheel.unfit(self.folder))
        with mock.patch.dict(make_wheel.NEWEST, GLIBC=(2, 2, 5)):
            self.assertRegex("; ".join(make_wheel.unfit(self.folder)), r"outpace needs GLIBC_2\.\d\d")

    def test_a_package_without_the_program_takes_that_of_the_path_or_says_so(self):
        """Not the command that pip installed, which would start itself."""
        built = {"PYTHONPATH": PACKAGE}
        there = self.start("-m", "outpace", "--version", program=PYTHON, variables={
            **built, "PATH": f"{self.site / 'bin'}:{pathlib.Path(OUTPACE).parent}"})
        self.assertEqual(there.wait(), 0, there.err)
        missing = self.start("-m", "outpace", "--version", program=PYTHON, variables={
            **built, "PATH": str(self.site / "bin")})
        self.assertEqual(missing.wait(), 1)
        self.assertRegex(missing.err, r"\Aoutpace: this package is without the program.*\n\Z")


if __name__ == "__main__":
    main()
