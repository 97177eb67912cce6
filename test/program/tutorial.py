"""Runs a tutorial of docs/tutorials as its reader does: block by block, in real terminals.

    ```sh                                   typed into the first terminal, line for line as it stands
    ```sh title="machine 2"                 into another; "machine 2, second terminal" is one more
    ```python title="train.py"              a file, which every machine gets
    ```text                                 what the last command shows
    ```text title="typed on machine 2"      answers a command; ^C is Ctrl-C

Shown lines must come, in their order; others may come between them. In a shown line a number, with its
unit, stands for any number with any unit, unless it counts or names workers; an accuracy may differ by
15 points. A bar stands for any bar, blanks for any blanks, and `...` for anything. In what is typed, `...` stands for what the terminals have shown there. A command must end with
exit code 0, unless the page goes on with `echo $?`.
"""

import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading

sys.dont_write_bytecode = True
from jobs import wait_until  # noqa: E402

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials"
FENCE = re.compile(r'^```(\w+)(?: title="([^"]*)")?$(.*?)^```$', re.MULTILINE | re.DOTALL)
FIRST = "machine 1"  # The terminal of a block that names none.
NUMBER = r"[-+]?\d[\d,.]*(?:\s?(?:ns|us|ms|s|B|[KMG]iB|[kMG]B)\b)?"
AS_SHOWN = r"\b(?:workers?|live) \d+(?:/\d+| and \d+)?|\b\d+ (?:of \d+ )?workers\b|\b\d+ local steps"
VARIES = re.compile(rf"(?P<as_shown>{AS_SHOWN})|(?P<any>\.\.\.)|(?P<bar>[█▏▎▍▌▋▊▉]+)|(?P<number>(?<![A-Za-z]){NUMBER})|(?P<blank>\s+)")
ACCURACY = re.compile(r"\baccuracy (\d[\d.]*\d)(%?)")
ACCURACY_MOST = 0.15  # By which one may differ.
COLUMNS = 160
# What a shell begins with: its prompt shows the last exit code, and a block ends where it fails.
START = """PS1=''; PS2=''; PROMPT_COMMAND='echo "[exit code $?]"'; trap 'return 2>/dev/null' ERR\n"""
PROMPT = re.compile(r"^\[exit code (\d+)\]", re.MULTILINE)
TYPED = "typed on "


def blocks(text):
    """Yields (kind, title, text) of the page's fenced blocks."""
    for block in FENCE.finditer(text):
        yield block[1], block[2] or "", block[3].strip("\n")


def pattern(line):
    """What a shown line stands for."""
    patterns = {"any": ".*", "bar": "[█▏▎▍▌▋▊▉]*", "number": NUMBER, "blank": r"\s+"}
    parts, end = [], 0
    for varies in VARIES.finditer(line):
        stands_for = patterns.get(varies.lastgroup) or re.escape(varies[0])
        parts += [re.escape(line[end:varies.start()]), stands_for]
        end = varies.end()
    return re.compile("".join([*parts, re.escape(line[end:])]))


def agrees(line, shown):
    """Whether a line is what the page shows."""
    if not pattern(shown).fullmatch(line):
        return False
    accuracies = [[float(number) / (100 if percent else 1) for number, percent in ACCURACY.findall(one)]
                  for one in (line, shown)]
    return all(abs(one - other) <= ACCURACY_MOST for one, other in zip(*accuracies))


def missing(shown, lines):
    """The first of the shown lines that does not come in its turn; None if all do."""
    at = iter(lines)
    for line in filter(None, map(str.strip, shown.splitlines())):
        if not any(agrees(one.strip(), line) for one in at):
            return line
    return None


class Terminal:
    """A shell in a terminal of its own, on a machine that `prefix` enters."""

    def __init__(self, folder, environment, prefix=()):
        self.out, self.typed, self.begin = "", 0, 0
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        settings = termios.tcgetattr(theirs)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(theirs, termios.TCSANOW, settings)
        self.folder, self.descriptor = folder, ours
        (folder / ".rc").write_text(START)
        self.popen = subprocess.Popen(
            [*prefix, "bash", "--noprofile", "--noediting", "--rcfile", ".rc", "-i"], cwd=folder,
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env={**environment, "TERM": "dumb"})
        os.close(theirs)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while True:
            try:
                data = os.read(self.descriptor, 65536)
            except OSError:  # The shell has ended.
                return
            if not data:
                return
            self.out += data.decode(errors="replace")

    def run(self, commands):
        """Has the shell run them; `finished()` says whether it has."""
        self.typed += 1
        self.begin = len(self.out)
        script = f".block-{self.typed}"
        (self.folder / script).write_text(commands + "\n")
        self.type(f". ./{script}\n")

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def lines(self):
        """What the last commands have shown, as it looks: a line that is drawn anew is several."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.out[self.begin:])
        return re.split(r"[\r\n]+", text)

    def finished(self):
        """Whether the shell has come to its prompt, or its end."""
        return len(PROMPT.findall(self.out)) > self.typed or self.popen.poll() is not None

    def code(self):
        return int(PROMPT.findall(self.out)[-1])

    def close(self):
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()
        self.reader.join(1.0)
        os.close(self.descriptor)


class Reader:
    """Follows a page. `machine(number)`: (the words that enter it, its folder)."""

    def __init__(self, environment, machine, seconds):
        self.environment, self.machine, self.seconds = environment, machine, seconds
        self.terminals, self.folders = {}, {}
        self.used = []  # Terminals that have run a command; the last one is the last.

    def follow(self, page, only_files=False):
        steps = list(blocks(page))
        last = None
        for kind, title, text in steps:
            if kind == "sh" and not only_files:
                last = self.terminal(title or FIRST)
                self.until_finished(last, goes_on=text == "echo $?")
                last.run(text)
                self.used = [one for one in self.used if one is not last] + [last]
            elif kind == "text" and title.startswith(TYPED) and not only_files:
                self.answer(self.terminal(title.removeprefix(TYPED)), text)
            elif kind == "text" and not only_files:
                last = self.terminal(title) if title else last
                self.until_shown(last, text)
            elif title and kind != "text" and kind != "sh":
                for number in (1, 2):
                    (self.folder(number) / title).write_text(text + "\n")
        for terminal in self.terminals.values():
            self.until_finished(terminal)

    def folder(self, number):
        if number not in self.folders:
            self.folders[number] = self.machine(number)
        return self.folders[number][1]

    def terminal(self, title):
        if title not in self.terminals:
            number = int(re.match(r"machine (\d)", title)[1])
            folder = self.folder(number)
            self.terminals[title] = Terminal(folder, self.environment, self.folders[number][0])
        return self.terminals[title]

    def until_finished(self, terminal, goes_on=False):
        wait_until(terminal.finished, "the end of a command that showed:\n" + terminal.out[-2000:],
                   self.seconds)
        if terminal.code() != 0 and not goes_on:
            raise AssertionError(f"exit code {terminal.code()}:\n{terminal.out[terminal.begin:]}")

    def until_shown(self, terminal, shown):
        def come():
            return missing(shown, terminal.lines()) is None or terminal.finished()
        try:
            wait_until(come, "what the page shows", self.seconds)
        finally:
            line = missing(shown, terminal.lines())
            if line is not None:
                raise AssertionError(f"the page shows\n{line}\nbut the terminal\n"
                                     + "\n".join(terminal.lines()))

    def answer(self, terminal, text):
        if text == "^C":
            terminal.type("\x03")
            return
        looked_for = re.compile(re.escape(text).replace(re.escape("..."), r"\S+"))

        def found():
            """The last one that the terminal has shown which ran a command last."""
            return next((looked_for.findall(other.out)[-1] for other in reversed(self.used)
                         if looked_for.search(other.out)), None)
        terminal.type(wait_until(found, f"a terminal that shows {text}", self.seconds) + "\n")

    def close(self):
        for terminal in self.terminals.values():
            terminal.close()
