"""Compares iterations of paced workers with the critical path of their dependency graph.

Each process has a host of its own: a network namespace whose link has a limited rate. Workers wait
instead of computing, layer by layer, and push gradients of the real size over TCP to a real server.
Each row is measured whole (--slice 0) and with slices.

The graph of an iteration: a layer's forward pass needs its weights and the layer before, a layer's
backward pass needs the layer behind, a layer's gradient needs its backward pass. All weights and all
gradients cross the server's link, one direction each. Workers in step (sync) share it evenly. Others
drift apart: for them the critical path is that of a worker alone, or the time that the link needs for
an iteration of all of them, whichever is longer. The path has neither the server's work on gradients,
nor system calls, nor the wait for a processor. Both numbers are times of one iteration of a worker.

All rows are printed and written to a file. The exit code is 1 if a row with slices takes more than
--most times its critical path. Needs root, for the hosts.
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import measured_runs
import network_hosts
import validate_throughput

PORT = 5000
WARM_UP = 5  # Iterations of each worker that do not count.
# The share of a frame on the link: 1448 of 1514 bytes are numbers.
PAYLOAD_OF_LINK = 1448 / 1514
# Layers with the same size and time. Seconds of an iteration's computing, by bytes of weights.
NETWORKS = {"1MB": {"bytes": 1e6, "layers": 16, "forward": 0.020, "backward": 0.040},
            "10MB": {"bytes": 1e7, "layers": 16, "forward": 0.200, "backward": 0.400}}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=sorted(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--policies", nargs="+", default=["sync", "async"], metavar="POLICY")
    parser.add_argument("--workers", nargs="+", type=int, default=[4])
    parser.add_argument("--slices", nargs="+", default=["256KiB"], metavar="SIZE",
                        help="as the worker's --slice; whole gradients are measured too")
    parser.add_argument("--rate", type=int, default=1000, metavar="MBIT", help="of each link, Mbit/s")
    parser.add_argument("--iterations", type=int, default=40, help="of each worker")
    parser.add_argument("--most", type=float, default=1.15, metavar="FACTOR",
                        help="critical paths that an iteration with slices may take")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/validate-slices.json"))
    return parser.parse_args(arguments)


def layers_of(network):
    """(bytes, forward seconds, backward seconds) of each layer, in order."""
    count = network["layers"]
    size = int(network["bytes"] / 4 / count) * 4
    return [(size, network["forward"] / count, network["backward"] / count)] * count


def write_profile(path, layers):
    """A profile, as `outpace profile` writes it, of layers with one tensor each."""
    compute = sum(forward + backward for _, forward, backward in layers)
    path.write_text(json.dumps({
        "format": "outpace-profile", "version": 1, "kind": "measured", "network": "paced",
        "data": "none", "batch": 32, "dataset_examples": 10**6,
        "tensors": [{"numbers": size // 4} for size, _, _ in layers],
        "layers": [{"forward_seconds": forward, "backward_seconds": backward}
                   for _, forward, backward in layers],
        "iterations": [{"compute_seconds": compute, "rest_seconds": 0}] * 4,
        "apply_seconds": 0, "message_seconds": 0, "byte_seconds": 0}))


def critical_path(layers, workers, bytes_per_second):
    """Seconds of one iteration of `workers` workers in phase, which share the server's link."""
    arrived = done = 0.0  # The weights, at each worker; its computing.
    for size, forward, _ in layers:
        arrived += workers * size / bytes_per_second
        done = max(done, arrived) + forward
    pushed = 0.0  # The gradients of all workers, at the server.
    for size, _, backward in reversed(layers):
        done += backward
        pushed = max(pushed, done) + workers * size / bytes_per_second
    return pushed


def path_of(policy, layers, workers, bytes_per_second):
    """Seconds of one iteration; the least that is possible."""
    if policy == "sync":
        return critical_path(layers, workers, bytes_per_second)
    link = workers * sum(size for size, _, _ in layers) / bytes_per_second
    return max(critical_path(layers, 1, bytes_per_second), link)


def iteration_seconds(decisions, workers, gradients):
    """Mean seconds of an iteration of one worker, from the times at which weights moved.

    `gradients`: those of an update. The first updates do not count.
    """
    commits = []
    for line in decisions:
        entry = json.loads(line)
        if any(action["type"] == "commit" for action in entry.get("actions", [])):
            commits.append(entry["now"] / 1e9)
    first = WARM_UP * workers // gradients
    updates = len(commits) - 1 - first
    return (commits[-1] - commits[first]) / updates * workers / gradients


def measure(options, hosts, folder, row):
    """Runs a server and its workers, each on a host of its own."""
    token, out = folder / "token", folder / f"run-{time.monotonic_ns()}"
    token.unlink(missing_ok=True)
    address = f"{hosts.address(0)}:{PORT}"
    children = []
    try:
        server = subprocess.Popen(
            hosts.command(0, [options.outpace, "server", "--listen", address, "--insecure-no-tls",
                              "--workers", str(row["workers"]), "--policy", row["policy"],
                              "--token-file", str(token), "--iterations",
                              str(options.iterations * row["workers"]), "--checkpoint-every", "off",
                              "--out", str(out)]),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        children.append(server)
        while not token.exists() and server.poll() is None:
            time.sleep(0.01)
        for worker in range(row["workers"]):
            children.append(subprocess.Popen(
                hosts.command(worker + 1, [
                    options.outpace, "worker", "--server", address, "--insecure-no-tls",
                    "--token-file", str(token), "--worker", str(worker), "--workers",
                    str(row["workers"]), "--paced", str(row["profile"]), "--slice", row["slice"]]),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        _, errors = server.communicate(timeout=600)
        if server.returncode != 0:
            raise measured_runs.RunFailed(f"the server failed: {errors.strip()[-300:]}")
    finally:
        for child in children:
            if child.poll() is None:
                child.terminate()
            child.wait()
    with open(out / "decisions.jsonl", encoding="utf-8") as decisions:
        return iteration_seconds(decisions, row["workers"],
                                 row["workers"] if row["policy"] == "sync" else 1)


def show(row):
    load = validate_throughput.is_quiet(row)
    print(f"{row['network']:>7} {row['workers']:3} {row['policy']:8} {row['slice']:>8} "
          f"{1e3 * row['measured']:9.1f} ms {1e3 * row['path']:9.1f} ms {row['ratio']:6.2f} "
          f"{100 * row['load']:4.0f} % {100 * row['stolen']:4.0f} %{'' if load else ' busy'}",
          flush=True)


def measure_all(options, folder):
    rows = []
    rate = options.rate * 1e6 / 8 * PAYLOAD_OF_LINK
    for workers in options.workers:
        with network_hosts.Hosts(workers + 1, f"{options.rate}mbit", fair=True) as hosts:
            for name in options.networks:
                layers = layers_of(NETWORKS[name])
                profile = folder / f"{name}.json"
                write_profile(profile, layers)
                for policy in options.policies:
                    for size in ("0", *options.slices):
                        row = {"network": name, "workers": workers, "policy": policy, "slice": size,
                               "profile": profile,
                               "path": path_of(policy, layers, workers, rate)}
                        row["measured"], row["load"], row["stolen"] = validate_throughput.least_stolen(
                            lambda row=row: loaded(options, hosts, folder, row))
                        row["ratio"] = row["measured"] / row["path"]
                        row["profile"] = str(profile)
                        show(row)
                        rows.append(row)
    return rows


def loaded(options, hosts, folder, row):
    load = validate_throughput.Load()
    return measure(options, hosts, folder, row), *load.now()


def main(arguments):
    options = parse(arguments)
    measured_runs.quiet_or_warn()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # Take the hosts down.
    print(f"links of {options.rate} Mbit/s; time of one iteration of one worker\n"
          "network   W policy      slice     measured critical path  ratio   load stolen", flush=True)
    with tempfile.TemporaryDirectory() as name:
        rows = measure_all(options, pathlib.Path(name))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    worst = max((row["ratio"] for row in rows if row["slice"] != "0"), default=0.0)
    print(f"with slices at most {worst:.2f} critical paths; {options.most:g} are allowed")
    print(f"written to {options.out}")
    return 0 if worst <= options.most else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (measured_runs.RunFailed, OSError) as error:
        print(f"validate_slices.py: {error}", file=sys.stderr)
        sys.exit(1)
