"""Trains on hosts with long, thin links, all on this machine, and measures what crosses the links.

    sudo python3 -B tools/thin_links.py --outpace build/release/outpace --data text:FILE,context=64 \
        --network charlm:layers=5,width=128 --seconds 60 --server-options "--local-steps 50"

The server and every worker has a host of its own (tools/network_hosts.py). Links carry --rate; the
workers' are long, with a round trip of --round-trip and --loss. Certificates are made by
`outpace certs`. A worker's mini-batch takes --step seconds times its factor on top of its computing
(--delays), so few cores suffice. The workers' own rates count the delays alone, so that what
computing takes beside them lowers the share, too.

Ten million weights, with ten minutes a run and H = 50 (measured: docs/thin-links.md):

    sudo python3 -B tools/thin_links.py --outpace build/release/outpace --data text:FILE,context=32 \
        --network charlm:layers=3,width=512,heads=8 --batch 1 --step 1 --seconds 600 \
        --server-options "--policy dynamic --local-steps 50 --optimizer adamw --lr 0.001"

With --kill-every, a worker is killed (SIGKILL) each time, in turn, and started again at once.
Goodput is the examples that counted, over those that the workers' own rates make due.
"""

import argparse
import contextlib
import json
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import measured_runs
import network_hosts

PORT = 7171
END_SECONDS = 300  # For the last evaluation, after the run's time.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--lab", metavar="PROGRAM", help="outpace-lab (default: beside --outpace)")
    parser.add_argument("--factors", type=float, nargs="+", default=[1, 1, 2, 4], metavar="FACTOR",
                        help="slowness of each worker (default: 1 1 2 4)")
    parser.add_argument("--step", type=float, default=0.2, help="seconds of delay at factor 1 (0.2)")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rate", default="100mbit", help="of each link (100mbit)")
    parser.add_argument("--round-trip", type=float, default=50.0, help="milliseconds (50)")
    parser.add_argument("--loss", type=float, default=0.001, help="chance of a packet (0.001)")
    parser.add_argument("--congestion", default="", help="TCP's congestion control (the kernel's choice)")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--network", default="charlm:layers=5,width=128")
    parser.add_argument("--data", required=True, metavar="SPEC", help="such as text:FILE,context=64")
    parser.add_argument("--server-options", type=shlex.split, default=[], metavar="WORDS")
    parser.add_argument("--worker-options", type=shlex.split, default=[], metavar="WORDS")
    parser.add_argument("--no-evaluator", action="store_true", help="measure no test loss")
    parser.add_argument("--insecure-no-tls", action="store_true")
    parser.add_argument("--kill-every", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object, last")
    options = parser.parse_args(arguments)
    if min(*options.factors, options.step, options.seconds) <= 0:
        parser.error("--factors, --step and --seconds are above 0")
    options.outpace = str(pathlib.Path(options.outpace).resolve())
    options.lab = options.lab or str(pathlib.Path(options.outpace).with_name("outpace-lab"))
    return options


class Job:
    """The processes of a run, each on its host; none is left when it ends."""

    def __init__(self, options, hosts, folder):
        self.options, self.hosts, self.folder = options, hosts, folder
        self.logs = contextlib.ExitStack()
        self.children = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.logs.close()

    def start(self, host, name, words, **streams):
        log = self.logs.enter_context(open(self.folder / f"{name}.log", "ab"))
        child = subprocess.Popen(self.hosts.command(host, list(map(str, words))), stdin=subprocess.DEVNULL,
                                 stderr=log, **{"stdout": log, **streams}, start_new_session=True,
                                 preexec_fn=network_hosts.die_with_parent)
        self.children.append(child)
        return child

    def safety(self):
        return ["--token-file", self.folder / "job" / "token",
                *(["--insecure-no-tls"] if self.options.insecure_no_tls else [])]

    def start_server(self):
        self.write_files()
        server = self.start(0, "server", [
            self.options.outpace, "server", "--listen", self.address(), *self.safety(), "--workers",
            len(self.options.factors), "--batch", self.options.batch, "--seconds",
            f"{self.options.seconds:g}s", "--evaluate-every", 10**9, "--seed", self.options.seed,
            "--out", self.folder / "run", "--json", *self.options.server_options],
            stdout=subprocess.PIPE)
        while "listening on" not in (self.folder / "server.log").read_text():
            if server.poll() is not None:
                raise measured_runs.RunFailed(self.last_words("server"))
            time.sleep(0.02)
        return server

    def write_files(self):
        """The certificates, and the workers' delays: one row, which repeats."""
        (self.folder / "job").mkdir()
        if not self.options.insecure_no_tls:
            made = subprocess.run([self.options.outpace, "certs", str(self.folder / "job")],
                                  capture_output=True, text=True, check=False)
            if made.returncode != 0:
                raise measured_runs.RunFailed(made.stderr.strip())
        (self.folder / "delays.csv").write_text(
            ",".join(f"{self.options.step * factor:g}" for factor in self.options.factors) + "\n")

    def address(self):
        return f"{self.hosts.address(0)}:{PORT}"

    def start_worker(self, worker):
        return self.start(worker + 1, f"worker-{worker}", [
            self.options.outpace, "worker", "--server", self.address(), *self.safety(), "--worker", worker,
            "--workers", len(self.options.factors), "--network", self.options.network, "--data",
            self.options.data, "--seed", self.options.seed, "--delays", self.folder / "delays.csv",
            *self.options.worker_options])

    def start_evaluator(self):
        return self.start(0, "evaluator", [
            self.options.outpace, "evaluator", "--server", self.address(), *self.safety(), "--network",
            self.options.network, "--data", self.options.data, "--seed", self.options.seed])

    def last_words(self, name):
        return f"{name}: " + " / ".join((self.folder / f"{name}.log").read_text().splitlines()[-3:])


def until_begun(job, server):
    """Waits for the first weights handed out, which is when the run's time begins."""
    while not (job.folder / "run" / "metrics.jsonl").exists() or not (
            job.folder / "run" / "metrics.jsonl").stat().st_size:
        if server.poll() is not None:
            raise measured_runs.RunFailed(job.last_words("server"))
        time.sleep(0.05)


def supervise(job, server, workers):
    """Until the server ends; kills workers in turn if asked to. Returns how many were killed."""
    killed, begun = 0, time.monotonic()
    end = begun + job.options.seconds
    while server.poll() is None:
        now = time.monotonic()
        if now > end + END_SECONDS:
            raise measured_runs.RunFailed("the server does not end; " + job.last_words("server"))
        every = job.options.kill_every
        if every and now < end and now - begun > (killed + 1) * every:
            victim = killed % len(workers)
            workers[victim].send_signal(signal.SIGKILL)
            workers[victim].wait()
            workers[victim] = job.start_worker(victim)
            killed += 1
        time.sleep(0.05)
    return killed


def run(options, hosts, folder):
    with Job(options, hosts, folder) as job:
        server = job.start_server()
        workers = [job.start_worker(worker) for worker in range(len(options.factors))]
        if not options.no_evaluator:
            job.start_evaluator()
        until_begun(job, server)
        killed = supervise(job, server, workers)
        summary = measured_runs.last_json_object(server.stdout.read().decode())
        if server.returncode != 0 or not summary:
            raise measured_runs.RunFailed(job.last_words("server"))
        moved = [hosts.bytes(host) for host in range(1, hosts.count)]
        relayed = hosts.end_relays()
    return result(options, summary, moved, relayed, killed)


def own_rate(options):
    """Examples a second of all workers without a server, if computing took no time beside the delays."""
    return sum(options.batch / (options.step * factor) for factor in options.factors)


def result(options, summary, moved, relayed, killed):
    up, down = (sum(one[way] for one in moved) for way in (0, 1))
    updates = max(1, summary.get("updates", 0))
    seconds = summary["seconds"]
    due = own_rate(options) * seconds
    evaluations = summary.get("evaluations") or [{}]
    return {"seconds": seconds, "updates": summary.get("updates", 0), "bytes_up": up, "bytes_down": down,
            "bytes_per_update": (up + down) / updates,
            "bytes_of_workers": [{"up": one[0], "down": one[1]} for one in moved],
            "examples": summary["examples"], "examples_per_second": summary["examples"] / seconds,
            "own_rate": own_rate(options), "share": summary["examples"] / due,
            "gradients_dropped": summary.get("gradients_dropped"),
            "gradients_cancelled": summary.get("gradients_cancelled"),
            "test_loss": evaluations[-1].get("loss"), "killed": killed,
            "goodput": summary["examples"] / due, "links": relayed}


def lines(found, hosts):
    rows = [("measured", "value"), ("seconds", f"{found['seconds']:.1f}"), ("updates", f"{found['updates']:,}"),
            ("MB up, all workers", f"{found['bytes_up'] / 1e6:,.2f}"),
            ("MB down, all workers", f"{found['bytes_down'] / 1e6:,.2f}"),
            ("MB an update, both ways", f"{found['bytes_per_update'] / 1e6:,.3f}"),
            ("examples that counted", f"{found['examples']:,}"),
            ("examples a second", f"{found['examples_per_second']:.1f}"),
            ("own rates, delays alone", f"{found['own_rate']:.1f}"), ("share of own rates", f"{found['share']:.3f}"),
            ("test loss", "-" if found["test_loss"] is None else f"{found['test_loss']:.4f}")]
    if found["killed"]:
        rows += [("workers killed", str(found["killed"])), ("goodput", f"{found['goodput']:.3f}")]
    return [*measured_runs.table(rows), f"rates by {hosts.limits}, losses by {hosts.loses}"]


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ends in order, as Ctrl-C does.
    far = network_hosts.Far(options.lab, options.round_trip / 1000, options.loss, options.seed,
                            options.congestion)
    try:
        with tempfile.TemporaryDirectory(prefix="thin-links-") as folder, network_hosts.Hosts(
                len(options.factors) + 1, options.rate, far=far) as hosts:
            found = run(options, hosts, pathlib.Path(folder))
            print("\n".join(lines(found, hosts)), flush=True)
            if options.json:
                print(json.dumps(found))
    except (OSError, measured_runs.RunFailed, subprocess.CalledProcessError) as error:
        print(f"thin_links.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("thin_links.py: stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
