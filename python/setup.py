"""Makes the wheel of outpace; tools/make_wheel.py calls it, in a folder that has the library."""

from setuptools import setup
from wheel.bdist_wheel import bdist_wheel


class LibraryWheel(bdist_wheel):
    """One wheel for every Python 3.9 and later, because ctypes loads the library."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"bdist_wheel": LibraryWheel})
