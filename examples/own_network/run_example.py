"""run_example.py OUTPACE OWN_NETWORK [POLICY]: runs a server and two workers, and checks the result.

Exits 0 if both workers end with code 0 and an accuracy of at least 95 %. Leaves nothing running:
every wait has a deadline, and the three processes end with this one.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

WORKERS = 2
DEADLINE_S = 180  # For the whole script; a run takes some seconds.
# The rate falls to zero over the 60 epochs of 2,000 examples. At a constant rate Adam takes a jump
# now and then, and a run may end just after one.
JOB = ["--workers", str(WORKERS), "--epochs", "60", "--batch", "50",
       "--optimizer", "adam", "--lr", "0.01", "--schedule", "cosine:over=120000",
       "--staleness", "none", "--patience", "30s"]
REPORT = re.compile(r"accepted (\d+), wasted (\d+), loss ([\d.]+) at first and ([\d.]+) at last, "
                    r"accuracy ([\d.]+)")


def main():
    outpace, own_network, policy = (sys.argv[1:] + ["async"])[:3]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    end = time.monotonic() + DEADLINE_S
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(outpace, own_network, policy, folder, end, processes)
        finally:
            for process in processes:
                process.kill()  # Does nothing if it has ended.
                process.wait()


def run(outpace, own_network, policy, folder, end, processes):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OUTPACE_")}
    token_file = os.path.join(folder, "token")
    server = subprocess.Popen(
        [outpace, "server", "--listen", "127.0.0.1:0", "--token-file", token_file,
         "--out", os.path.join(folder, "run"), "--policy", policy, *JOB],
        env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    processes.append(server)
    address = address_of(server, end)

    workers = []
    for rank in range(WORKERS):
        workers.append(subprocess.Popen(
            [own_network], stdout=subprocess.PIPE, text=True,
            env={**clean, "OUTPACE_SERVER": address, "OUTPACE_TOKEN_FILE": token_file,
                 "OUTPACE_WORKER": str(rank)}))
        processes.append(workers[-1])
    reports = [worker.communicate(timeout=end - time.monotonic())[0] for worker in workers]
    print(*reports, sep="", end="")
    codes = [process.wait(timeout=end - time.monotonic()) for process in processes]
    expect(codes == [0] * len(processes), f"exit codes of server and workers: {codes}")
    for report in reports:
        found = REPORT.fullmatch(report.strip())
        expect(found, f"not a report: '{report}'")
        accepted, _, first_loss, last_loss, accuracy = map(float, found.groups())
        expect(accepted > 0, "a worker did not contribute")
        expect(last_loss < 0.5 * first_loss, "the loss did not fall by half")
        expect(accuracy >= 0.95, "the network does not know the spirals")


def address_of(server, end):
    """The address that the server listens on. Copies the server's messages to standard error."""
    found = []
    listening = threading.Event()

    def pass_on():
        for line in server.stderr:
            match = re.search(r"listening on (\S+);", line)
            if match:
                found.append(match[1])
                listening.set()
            sys.stderr.write(line)
        listening.set()  # The server has ended: do not wait for it.

    threading.Thread(target=pass_on, daemon=True).start()
    listening.wait(timeout=end - time.monotonic())
    expect(found, "the server does not listen")
    return found[0]


def expect(holds, otherwise):
    if not holds:
        sys.exit(f"run_example.py: {otherwise}")


if __name__ == "__main__":
    main()
