"""keep_records.py OUTPACE FOLDER: makes small records by this program, which every later one has to read.

FOLDER gets a run with a server, whose log is in parts and which is ended before its end, so that it can be
resumed; a gossip; and a profile.
kept_test.py reads all folders of test/kept: one for each version that was released.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

TRAIN = ("--network", "mlp", "--data", "csv:points.csv", "--batch", "8", "--seed", "1")
SERVER = ("--workers", "3", "--policy", "dynamic", "--updates", "100000", "--decisions", "capped:mib=1",
          "--checkpoint-every", "100", "--checkpoint-keep", "1", "--out", "server")
GOSSIP = ("--workers", "3", "--topology", "gossip", "--epochs", "1", "--out", "gossip")
NOT_KEPT = ("logs/*", "server.log", "lock")  # What no command reads afterwards.


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    program, folder = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    if folder.exists():
        sys.exit(f"keep_records: {folder} is there already; a version's records are made once")
    folder.mkdir(parents=True)
    (folder / "points.csv").write_text(points())
    end_after_updates(program, folder)
    for words in (("train", *GOSSIP, *TRAIN),
                  ("profile", *TRAIN, "--iterations", "20", "--output", "profile.json")):
        subprocess.run([program, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    for run in ("server", "gossip"):
        for pattern in NOT_KEPT:
            for file in (folder / run).glob(pattern):
                file.unlink()


def end_after_updates(program, folder):
    """The run with a server, ended in order once it has its third part of decisions."""
    run = subprocess.Popen([program, "train", *SERVER, *TRAIN], cwd=folder, stdout=subprocess.DEVNULL)
    while not (folder / "server" / "decisions-3.jsonl").exists():
        if run.poll() is not None:
            sys.exit(f"keep_records: the run ended too early, with {run.returncode}")
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    if run.wait() != 128 + signal.SIGINT:
        sys.exit(f"keep_records: the run ended with {run.returncode}")


def points():
    """Three clouds of points in space: rows x,y,z,cloud."""
    draw = random.Random(1)
    rows = ([f"{draw.gauss(axis == cloud, 0.5):.2f}" for axis in range(3)] + [str(cloud)]
            for _ in range(200) for cloud in range(3))
    return "".join(",".join(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
