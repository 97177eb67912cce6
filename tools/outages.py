"""Trains on hosts that are cut off, killed and moved, and measures what that costs.

    sudo python3 -B tools/outages.py --outpace build/release/outpace --policies dynamic async

The server and each machine of workers have a host of their own (tools/network_hosts.py), with links of
--rate. Machines join by the run's code over TLS, find the server by a name, and wait --step seconds a
mini-batch on top of their computing. During a run, in this order:

    after --quiet seconds the last machine is cut off for --cut seconds, and comes back
    --quiet seconds later all processes of the machine before it are killed, for good
    --quiet seconds later the server is killed, and another one goes on with the run at another host,
    to which the name leads from then on

and the run ends --quiet seconds later. `ring` and `gossip` in place of a policy are runs without a server: the host of the first
machine keeps their record and evaluates, and does not move. Nobody starts anything again by hand but that server. Goodput
is the examples that counted, over those that the workers' delays make due while their machine was
there and there was a server.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import measured_runs
import network_hosts

PORT = 7272
NAME = "server"
TOPOLOGIES = ("ring", "gossip")  # Without a server: what keeps their record is not moved.
NETNS = pathlib.Path("/etc/netns")  # `ip netns exec` shows NETNS/host/hosts as /etc/hosts.
START_SECONDS = 60


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--policies", nargs="+", default=["dynamic", "async"], metavar="POLICY",
                        help="of a server, or ring or gossip, without one (dynamic async)")
    parser.add_argument("--machines", type=int, default=4, help="of workers, the server's beside (4)")
    parser.add_argument("--workers-here", type=int, default=2, help="of each machine (2)")
    parser.add_argument("--rate", default="200mbit", help="of each link (200mbit)")
    parser.add_argument("--step", type=float, default=0.4, help="seconds of delay (0.4)")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--network", default="mlp")
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--cut", type=float, default=90.0, help="seconds (90)")
    parser.add_argument("--quiet", type=float, default=20.0, help="seconds between two events (20)")
    parser.add_argument("--json", action="store_true", help="print one JSON object for each policy, last")
    options = parser.parse_args(arguments)
    if options.machines < 3 or min(options.cut, options.quiet, options.step) <= 0:
        parser.error("--machines is at least 3; --cut, --quiet and --step are above 0")
    options.outpace = str(pathlib.Path(options.outpace).resolve())
    return options


class Job:
    """The processes of a run. Host 0 has the first server, the last host the second one."""

    def __init__(self, options, policy, hosts, folder):
        self.options, self.policy, self.hosts, self.folder = options, policy, hosts, folder
        self.children = []
        self.logs = contextlib.ExitStack()
        self.machines = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.logs.close()
        for host in range(self.hosts.count):
            shutil.rmtree(NETNS / self.hosts.name(host), ignore_errors=True)

    def start(self, host, name, words, **streams):
        log = self.logs.enter_context(open(self.folder / f"{name}.log", "ab"))
        child = subprocess.Popen(self.hosts.command(host, list(map(str, words))), stdin=subprocess.DEVNULL,
                                 stderr=log, **{"stdout": log, **streams}, start_new_session=True,
                                 cwd=self.folder, preexec_fn=network_hosts.die_with_parent)
        self.children.append(child)
        return child

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def lead_name_to(self, host):
        """The same file is looked at by processes that have been started: it is not replaced."""
        for other in range(self.hosts.count):
            folder = NETNS / self.hosts.name(other)
            folder.mkdir(parents=True, exist_ok=True)
            with open(folder / "hosts", "w") as file:
                file.write(f"127.0.0.1 localhost\n{self.hosts.address(host)} {NAME}\n")

    def start_server(self, host, *words, command="server"):
        self.server = self.start(host, f"server-{host}", [
            self.options.outpace, command, "--listen", f"{self.hosts.address(host)}:{PORT}", "--json",
            *words], stdout=subprocess.PIPE)
        self.until(lambda: "machines join by" in self.log(f"server-{host}"), f"server-{host}")

    def until(self, condition, name):
        give_up = time.monotonic() + START_SECONDS
        while not condition():
            if self.server.poll() is not None or time.monotonic() > give_up:
                raise measured_runs.RunFailed(f"{name}: " + " / ".join(self.log(name).splitlines()[-3:]))
            time.sleep(0.05)

    def begin(self):
        options = self.options
        self.lead_name_to(0)
        (self.folder / "delays.csv").write_text(
            ",".join([f"{options.step:g}"] * (options.machines * options.workers_here)) + "\n")
        shared = ("--advertise", f"{NAME}:{PORT}", "--workers", options.machines * options.workers_here,
                  "--batch", options.batch, "--seconds", f"{self.seconds():g}s", "--out", self.folder / "run")
        work = ("--network", options.network, "--data", options.data, "--delays", self.folder / "delays.csv")
        if self.has_server:
            self.start_server(0, *shared, "--policy", self.policy, "--checkpoint-every", "5s")
        else:
            self.start_server(0, *shared, "--topology", self.policy, "--workers-here", 0, *work, command="train")
        code = self.log("server-0").partition("outpace join ")[2].split()[0]
        (self.folder / "code").touch(mode=0o600)
        (self.folder / "code").write_text(code + "\n")
        for machine in range(options.machines):
            self.machines.append(self.start(machine + 1, f"machine-{machine}", [
                options.outpace, "join", "--code-file", self.folder / "code", "--workers-here",
                options.workers_here, "--out", self.folder / f"joined-{machine}",
                *(("--", options.outpace, "worker", *work) if self.has_server else ())]))
        metrics = self.folder / "run" / "metrics.jsonl"
        self.until(lambda: metrics.exists() and metrics.stat().st_size > 0, "machine-0")

    def seconds(self):
        """The run's own clock, which stands still while there is no server."""
        return (4 if self.has_server else 3) * self.options.quiet + self.options.cut

    @property
    def has_server(self):
        return self.policy not in TOPOLOGIES

    def set_link(self, machine, state):
        subprocess.run(["ip", "-n", self.hosts.name(machine + 1), "link", "set", "eth0", state], check=True)

    def kill_machine(self, machine):
        name = self.hosts.name(machine + 1)
        for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True,
                                  check=True).stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def move_server(self):
        self.server.send_signal(signal.SIGKILL)
        self.server.wait()
        last = self.hosts.count - 1
        self.lead_name_to(last)
        begun = time.monotonic()
        self.start_server(last, "--resume", self.folder / "run", "--advertise", f"{NAME}:{PORT}")
        return time.monotonic() - begun


def run(options, policy, hosts, folder):
    with Job(options, policy, hosts, folder) as job:
        job.begin()
        last = options.machines - 1
        time.sleep(options.quiet)
        job.set_link(last, "down")
        time.sleep(options.cut)
        job.set_link(last, "up")
        time.sleep(options.quiet)
        job.kill_machine(last - 1)
        time.sleep(options.quiet)
        away = job.move_server() if job.has_server else None
        out, _ = job.server.communicate(timeout=options.quiet + options.cut + 120)
        summary = measured_runs.last_json_object(out.decode())
        if job.server.returncode != 0 or not summary:
            raise measured_runs.RunFailed(job.log(f"server-{hosts.count - 1 if job.has_server else 0}"))
        codes = [machine.wait(timeout=60) for machine in job.machines]
        again = (job.log(f"machine-{last}").count("found the server again") if job.has_server
                 else job.log("server-0").count("is here again"))
    return result(options, policy, summary, codes, away, again)


def result(options, policy, summary, codes, away, again):
    each = options.workers_here * options.batch / options.step  # Examples a second of a machine.
    seconds = summary["seconds"]
    killed_after = options.quiet + options.cut + options.quiet
    due = each * ((options.machines - 2) * seconds + (seconds - options.cut) + killed_after)
    return {"policy": policy, "seconds": seconds, "examples": summary["examples"],
            "examples_per_second": summary["examples"] / seconds, "goodput": summary["examples"] / due,
            "epochs": summary["epochs_complete"], "used_min": summary["examples_used_per_epoch_min"],
            "used_max": summary["examples_used_per_epoch_max"], "codes": codes,
            "server_away": away, "found_again": again}


def lines(found):
    rows = [("policy", "seconds", "examples/s", "goodput", "epochs", "each example", "server away",
             "machines ended with")]
    for one in found:
        rows.append((one["policy"], f"{one['seconds']:.0f}", f"{one['examples_per_second']:.1f}",
                     f"{one['goodput']:.3f}", str(one["epochs"]), f"{one['used_min']} to {one['used_max']}",
                     "does not move" if one["server_away"] is None else f"{one['server_away']:.1f} s",
                     " ".join(map(str, one["codes"]))))
    return measured_runs.table(rows)


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # Ends in order, as Ctrl-C does.
    found = []
    try:
        for policy in options.policies:
            with tempfile.TemporaryDirectory(prefix="outages-") as folder, network_hosts.Hosts(
                    options.machines + 2, options.rate) as hosts:
                found.append(run(options, policy, hosts, pathlib.Path(folder)))
        print("\n".join(lines(found)), flush=True)
        if options.json:
            for one in found:
                print(json.dumps(one))
    except (OSError, measured_runs.RunFailed, subprocess.SubprocessError) as error:
        print(f"outages.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("outages.py: stopped", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
