"""Makes the wheel of outpace; tools/make_wheel.py calls it, in a folder that has library and program."""

import platform

from setuptools import setup
from wheel.bdist_wheel import bdist_wheel


class LibraryWheel(bdist_wheel):
    """One wheel for every Python 3.9 and later, because ctypes loads the library."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        # glibc of Debian 12; tools/make_wheel.py looks at each symbol.
        return "py3", "none", f"manylinux_2_36_{platform.machine()}"


setup(cmdclass={"bdist_wheel": LibraryWheel})
