"""--tensorboard: event files that a reader of their published format understands."""

import json
import struct
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_json_lines  # noqa: E402


def crc32c(data):
    """Bit by bit, by the polynomial alone."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """{number: [values]} of a protobuf message."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        found.setdefault(key >> 3, []).append(value)
    return found


def events(path):
    """(step, {tag: value}) of each event; the first record says the version."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        length, check = struct.unpack_from("<QI", data, at)
        assert masked(data[at:at + 8]) == check, "the length's checksum"
        event = data[at + 12:at + 12 + length]
        assert masked(event) == struct.unpack_from("<I", data, at + 12 + length)[0], "checksum"
        found.append(fields(event))
        at += length + 16
    version, *rest = found
    assert version[3] == [b"brain.Event:2"], version
    scalars = [[fields(value) for value in fields(event[5][0])[1]] for event in rest]
    return [(event[2][0], {value[1][0].decode(): value[2][0] for value in values})
            for event, values in zip(rest, scalars)]


class TensorBoard(ProgramTest):
    def check(self, *words):
        out, board = self.folder / "run", self.folder / "board"
        process = self.start("train", "--workers", 2, "--json", "--out", out, "--tensorboard",
                             board, "--evaluate-every", 5120, *words)
        self.assertEqual(process.wait(), 0, process.err)
        summary = json.loads(process.out)
        (file,) = board.iterdir()
        read = events(file)
        accuracy = [(step, values["accuracy/test"]) for step, values in read
                    if "accuracy/test" in values]
        lines = read_json_lines(out / "metrics.jsonl")
        self.assertEqual([step for step, _ in accuracy],
                         [line["version"] for line in lines if "accuracy" in line])
        self.assertAlmostEqual(accuracy[-1][1], summary["final_accuracy"], places=6)
        course = [(step, values["loss/training"], values["workers/live"]) for step, values in read
                  if "loss/training" in values]
        self.assertTrue(course)
        told = {line["version"]: line for line in lines if "live" in line}
        for step, loss, live in course:
            self.assertAlmostEqual(loss, told[step]["training_loss"], places=5)
            self.assertEqual(live, told[step]["live"])
        return board

    def test_a_run_with_a_server_and_another_into_the_same_directory(self):
        board = self.check("--policy", "async", "--epochs", 1)
        process = self.start("train", "--workers", 1, "--updates", 5, "--out",
                             self.folder / "again", "--tensorboard", board)
        self.assertEqual(process.wait(), 0, process.err)
        self.assertEqual(len(list(board.iterdir())), 2)

    def test_a_ring(self):
        self.check("--topology", "ring", "--epochs", 1)

    def test_a_directory_that_cannot_be_made(self):
        process = self.start("train", "--workers", 1, "--tensorboard", "/proc/nowhere")
        self.assertEqual(process.wait(), 2)
        self.assertIn("--tensorboard: cannot write /proc/nowhere/", process.err)
        self.assertEqual(len(process.err.splitlines()), 1)


if __name__ == "__main__":
    main()
