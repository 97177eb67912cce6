"""Shared by the tests of the tools: a program that stands in for outpace."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

# Notes how it was called, in calls.jsonl beside it; what follows prints the result. `command` is
# train or simulate, `told` its options by name.
HEAD = """#!/usr/bin/env python3
import json, pathlib, sys
command, words = sys.argv[1], [word for word in sys.argv[2:] if word != "--json"]
told = dict(zip(words[::2], words[1::2]))
with open(pathlib.Path(__file__).parent / "calls.jsonl", "a") as calls:
    calls.write(json.dumps({"command": command, **told}) + "\\n")
pathlib.Path(told["--out"]).mkdir()
"""


class ToolTest(unittest.TestCase):
    """A temporary folder with a program `outpace`, made from HEAD and the class's RESULT."""

    RESULT = ""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.put_program(HEAD + self.RESULT)

    def put_program(self, text):
        path = self.folder / "outpace"
        path.write_text(text)
        path.chmod(0o755)

    def run_tool(self, tool, *arguments):
        """(exit code, standard output, standard error) of tool.main with the stand-in."""
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = tool.main([*arguments, "--outpace", str(self.folder / "outpace")])
        return code, out.getvalue(), errors.getvalue()

    def calls(self):
        return [json.loads(line) for line in (self.folder / "calls.jsonl").read_text().splitlines()]
