"""Measures what a machine saves on the network when its workers hand in one gradient.

    sudo python3 -B tools/two_levels.py --outpace build/release/outpace

The server has a host of its own, and the workers share another one (tools/network_hosts.py); a link
of --rate is between them. One run has the workers push by themselves, the other has `outpace reduce`
before them; both train under sync with the same seed for as many updates. Printed: bytes over the
link, examples a second beside the critical path, and how far the weights are apart.

The critical path of an update is the weights of all workers over the link, one after the other at its
full rate, then the last one's mini-batch (its delay alone), then its gradient over the link. With
`outpace reduce` there is one of each.
"""

import argparse
import json
import math
import pathlib
import signal
import subprocess
import sys
import tempfile

import measured_runs
import network_hosts
import thin_links


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--lab", metavar="PROGRAM", help="outpace-lab (default: beside --outpace)")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--step", type=float, default=0.2, help="seconds of delay of a mini-batch (0.2)")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--updates", type=int, default=40)
    parser.add_argument("--rate", default="100mbit", help="of the link (100mbit)")
    parser.add_argument("--round-trip", type=float, default=1.0, help="milliseconds (1)")
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--data", default="fashion-mnist", metavar="SPEC")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object, last")
    options = parser.parse_args(arguments)
    options.outpace = str(pathlib.Path(options.outpace).resolve())
    options.lab = options.lab or str(pathlib.Path(options.outpace).with_name("outpace-lab"))
    options.insecure_no_tls, options.factors = True, [1] * options.workers  # For thin_links.Job.
    return options


class Job(thin_links.Job):
    def begin(self, reduces):
        options = self.options
        self.write_files()
        server = self.start(0, "server", [
            options.outpace, "server", "--listen", self.address(), *self.safety(), "--policy", "sync",
            "--workers", 1 if reduces else options.workers, "--batch", options.batch, "--updates",
            options.updates, "--seed", options.seed, "--lr", 0.1, "--out", self.folder / "run", "--json"],
            stdout=subprocess.PIPE)
        self.await_words("server", "listening on")
        place = self.address()
        safety = self.safety()
        if reduces:
            place = f"unix:{self.folder}/machine"
            self.start(1, "machine", [
                options.outpace, "reduce", "--server", self.address(), *safety, "--worker", 0,
                "--workers-here", options.workers, "--listen", place, "--out", self.folder / "machine-run"])
            self.await_words("machine", "workers at")
            safety = safety[:2]
        for worker in range(options.workers):
            self.start(1, f"worker-{worker}", [
                options.outpace, "worker", "--server", place, *safety, "--worker", worker, "--workers",
                options.workers, "--network", options.network, "--data", options.data, "--seed",
                options.seed, "--delays", self.folder / "delays.csv"])
        return server

    def await_words(self, name, words):
        log = self.folder / f"{name}.log"
        while words not in log.read_text():
            if self.children[-1].poll() is not None:
                raise measured_runs.RunFailed(self.last_words(name))


def weights(path):
    """All numbers of a safetensors file."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    return memoryview(data[begin:]).cast("f")


def run(options, reduces):
    far = network_hosts.Far(options.lab, options.round_trip / 1000)
    with tempfile.TemporaryDirectory(prefix="two-levels-") as name, network_hosts.Hosts(
            2, options.rate, far=far) as hosts, Job(options, hosts, pathlib.Path(name)) as job:
        server = job.begin(reduces)
        out = server.stdout.read().decode()
        summary = measured_runs.last_json_object(out)
        if server.wait() != 0 or not summary:
            raise measured_runs.RunFailed(job.last_words("server"))
        up, down = hosts.bytes(1)
        numbers = weights(job.folder / "run" / "weights.safetensors")
        seconds = summary["seconds"]
        transfer = 8 * 4 * len(numbers) / hosts.bits_per_second()
        path = options.step + transfer * (2 if reduces else options.workers + 1)
        return {"bytes_up": up, "bytes_down": down, "numbers": len(numbers), "examples": summary["examples"],
                "updates": summary["updates"], "seconds": seconds,
                "examples_per_second": summary["examples"] / seconds,
                "critical_path_seconds": path,
                "examples_of_critical_path": options.workers * options.batch / path}, numbers


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ends in order, as Ctrl-C does.
    try:
        one, flat = run(options, reduces=False)
        two, reduced = run(options, reduces=True)
        apart = math.dist(flat, reduced) / math.sqrt(sum(number * number for number in flat))
    except (OSError, measured_runs.RunFailed, subprocess.CalledProcessError) as error:
        print(f"two_levels.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("two_levels.py: stopped", file=sys.stderr)
        return 130
    rows = [("measured", "each pushes", "one pushes", "ratio")]
    for what, field in (("MB up", "bytes_up"), ("MB down", "bytes_down")):
        rows.append((what, f"{one[field] / 1e6:,.2f}", f"{two[field] / 1e6:,.2f}",
                     f"{two[field] / one[field]:.3f}"))
    for what, field in (("updates", "updates"), ("seconds", "seconds"),
                        ("examples a second", "examples_per_second"),
                        ("examples a second, critical path", "examples_of_critical_path")):
        rows.append((what, f"{one[field]:,.1f}", f"{two[field]:,.1f}", f"{two[field] / one[field]:.3f}"))
    print("\n".join(measured_runs.table(rows)))
    print(f"{one['numbers']:,} weights; relative distance of the two runs' weights: {apart:.2e}", flush=True)
    if options.json:
        print(json.dumps({"one": one, "two": two, "apart": apart}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
