"""Users' own data with the real program: tables, images and text, written by the test."""

import gzip
import json
import struct
import sys

sys.dont_write_bytecode = True
from jobs import ProgramTest, main, read_weights  # noqa: E402


class Own(ProgramTest):
    def train(self, *options, run="run"):
        process = self.start("train", "--workers", 2, "--out", self.folder / run, "--json",
                             *options)
        self.assertEqual(process.wait(), 0, process.err)
        self.assert_nothing_left()
        return json.loads(process.out)

    def shapes(self, run="run"):
        _, header = read_weights(self.folder / run / "weights.safetensors")
        return {name: tensor["shape"] for name, tensor in header.items()
                if name != "__metadata__"}

    def write_table(self):
        """200 rows, of which 20 are the test part: the class is how many of the first two features
        are positive; they are in other units than the third, which says nothing."""
        rows = ["left,right,noise,class"]
        for row in range(200):
            left = (row * 37 % 101 - 50) / 10
            right = (row * 53 % 103 - 51) * 1000
            rows.append(f"{left},{right},{row * 7 % 13},{(left > 0) + (right > 0)}")
        return self.path("table.csv", "\n".join(rows) + "\n")

    def test_a_table(self):
        summary = self.train("--data", f"csv:{self.write_table()}", "--network", "mlp",
                             "--policy", "sync", "--batch", 10, "--epochs", 30)
        self.assertEqual(self.shapes()["0.weight"], [128, 3])
        self.assertEqual(self.shapes()["2.weight"], [3, 128])
        self.assertEqual(summary["examples"], 30 * 180)
        self.assertEqual(summary["examples_used_per_epoch_min"], 1)
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)
        self.assertGreaterEqual(summary["final_accuracy"], 0.9)

    def test_a_table_in_virtual_time(self):
        process = self.start("simulate", "--learn", "mlp", "--data", f"csv:{self.write_table()}",
                             "--workers", 2, "--policy", "sync", "--batch", 10, "--epochs", 30,
                             "--json")
        self.assertEqual(process.wait(), 0, process.err)
        summary = json.loads(process.out)
        self.assertEqual(summary["examples"], 30 * 180)
        self.assertGreaterEqual(summary["final_accuracy"], 0.9)

    def test_images(self):
        def write(part, examples):
            """Images of 9x12 in three classes: a bar at the left, in the middle or at the right."""
            labels = bytes(example % 3 for example in range(examples))
            pixels = b"".join(bytes(255 if column // 4 == label else (row * column) % 60
                                    for row in range(9) for column in range(12))
                              for label in labels)
            images = struct.pack(">IIII", 0x803, examples, 9, 12) + pixels
            self.path(f"images/{part}-images-idx3-ubyte.gz", gzip.compress(images))
            self.path(f"images/{part}-labels-idx1-ubyte",
                      struct.pack(">II", 0x801, examples) + labels)

        (self.folder / "images").mkdir()
        write("train", 90)
        write("t10k", 30)
        for network, last in (("cnn", [3, 32]), ("resnet8", [3, 64])):
            with self.subTest(network):
                summary = self.train("--data", f"idx:{self.folder}/images", "--network", network,
                                     "--policy", "async", "--batch", 10, "--epochs", 15,
                                     run=network)
                self.assertEqual(summary["examples_used_per_epoch_max"], 1)
                self.assertEqual(summary["final_accuracy"], 1.0)
                self.assertIn(last, self.shapes(network).values())

    def write_colours(self):
        """Colour images of 16x16 in three classes: a class has most of one colour."""
        (self.folder / "colours").mkdir()
        for part, examples in (("train", 90), ("t10k", 30)):
            labels = bytes(example % 3 for example in range(examples))
            pixels = b"".join(bytes(200 if channel == label else (place * (7 + example)) % 120
                                    for place in range(256) for channel in range(3))
                              for example, label in enumerate(labels))
            self.path(f"colours/{part}-images-idx4-ubyte",
                      struct.pack(">IIIII", 0x804, examples, 16, 16, 3) + pixels)
            self.path(f"colours/{part}-labels-idx1-ubyte",
                      struct.pack(">II", 0x801, examples) + labels)
        return f"idx:{self.folder}/colours,augment=crop+flip"

    def test_colour_images_and_running_statistics(self):
        data = self.write_colours()
        for policy in ("sync", "async"):
            with self.subTest(policy):
                summary = self.train("--data", data, "--network", "resnet18:width=2", "--policy",
                                     policy, "--batch", 10, "--epochs", 24, "--lr", 0.05,
                                     run=policy)
                # The evaluator has no statistics but those that the server averaged.
                self.assertGreaterEqual(summary["final_accuracy"], 0.9)
                self.assertEqual(self.shapes(policy)["layer4.1.bn2.running_var"], [16])

    def test_one_worker_has_the_statistics_of_virtual_time(self):
        data = self.write_colours()
        job = ["--data", data, "--workers", 1, "--policy", "sync", "--batch", 10, "--updates", 20,
               "--lr", 0.05]
        live = self.start("train", "--network", "resnet18:width=2", "--json", "--out",
                          self.folder / "live", *job)
        self.assertEqual(live.wait(), 0, live.err)
        simulated = self.start("simulate", "--learn", "resnet18:width=2", "--json", *job)
        self.assertEqual(simulated.wait(), 0, simulated.err)
        one, other = json.loads(live.out), json.loads(simulated.out)
        self.assertEqual(one["final_accuracy"], other["final_accuracy"])
        self.assertAlmostEqual(one["final_loss"], other["final_loss"], places=4)

    def test_running_statistics_need_a_server_and_unclipped_gradients(self):
        data = self.write_colours()
        for options, message in (
                (("--topology", "ring"), "--topology ring conflicts with --network resnet18"),
                (("--clip-norm", 1), "--clip-norm conflicts with the network's buffers")):
            with self.subTest(options):
                process = self.start("train", "--network", "resnet18", "--data", data, "--workers",
                                     2, "--out", self.folder / "refused", *options)
                self.assertEqual(process.wait(), 2)
                self.assertIn(message, process.err)
                self.assertFalse((self.folder / "refused").exists())

    def test_text(self):
        text = self.path("text", "she sells sea shells by the sea shore. " * 100)
        summary = self.train("--data", f"text:{text},context=32",
                             "--network", "charlm:layers=1,width=32,heads=4", "--policy", "sync",
                             "--optimizer", "adam", "--lr", 0.01, "--batch", 8, "--updates", 150)
        self.assertEqual(self.shapes()["embedding.positions"], [32, 32])
        self.assertEqual(self.shapes()["logits.weight"], [len(set(text.read_text())), 32])
        self.assertLess(summary["final_loss"], 0.5)  # Nats a character; 2.7 at first.
        self.assertGreater(summary["final_accuracy"], 0.8)


if __name__ == "__main__":
    main()
