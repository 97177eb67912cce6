"""How far `outpace predict` is from runs of the real program.

For each network, `outpace profile` measures one worker and one server. Then 1 to 16 workers that wait
instead of computing (--paced, by the half of the profile that predictions do not see) push gradients
of the real size over TCP to a real server, each on a host of its own: a network namespace whose link
has a limited rate. Beside each measurement stand the fine prediction and the coarse one, with and
without heuristics, and how busy the machine's processors were: above 70 % it is the machine that is
measured. Networks of --computing are trained by 1 and 2 workers that compute. All rows are printed,
and written to a file; at the end medians and worst. Takes root, for the hosts.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import measured_runs
import network_hosts

PORT = 5000
BUSY = 0.7
POLICIES = ("sync", "async", "ssp:s=3", "backup:cutoff=3")
# (name, options of `outpace profile`); 0.4 MB and 10 MB of weights.
NETWORKS = {"mlp": ["--network", "mlp"],
            "charlm": ["--network", "charlm:layers=3,width=256", "--batch", "1"]}
COMPUTING = ("cnn", "resnet8")
TEXT = "the quick brown fox jumps over the lazy dog, and runs on. "  # What charlm is profiled on.


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0],
                                     epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4, 8, 16])
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY")
    parser.add_argument("--networks", nargs="*", choices=sorted(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--computing", nargs="*", default=COMPUTING, metavar="NETWORK")
    parser.add_argument("--rates", nargs="+", type=int, default=[200, 800], metavar="MBIT",
                        help="of each link, Mbit/s")
    parser.add_argument("--slow", action="append", default=[], metavar="SPEC",
                        help="as in train; left out where there is no such worker")
    parser.add_argument("--seconds", type=float, default=10.0,
                        help="about how long each run is, at the predicted rate")
    parser.add_argument("--outpace", default="build/release/outpace", metavar="PROGRAM")
    parser.add_argument("--out", type=pathlib.Path,
                        default=pathlib.Path("build/validate-throughput.json"))
    return parser.parse_args(arguments)


def run(words, timeout=600):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=timeout, check=False)
    if done.returncode != 0:
        raise measured_runs.RunFailed(f"{' '.join(map(str, words))}: {done.stderr.strip()[-300:]}")
    return done.stdout


def profile(options, folder, name, words):
    path = folder / f"{name}.json"
    if words[1].startswith("charlm"):
        text = folder / "text.txt"
        text.write_text(TEXT * 2000)
        words = [*words, "--data", f"text:{text}"]
    print(run([options.outpace, "profile", *words, "-o", path]), end="", flush=True)
    return path


def predict(options, path, row, plain=False):
    words = [options.outpace, "predict", path, "--workers", row["workers"], "--json",
             "--policy", row["policy"]]
    if row["link"]:
        words += ["--bandwidth", f"{row['link']}Mbps"]
    else:
        words += ["--cores", len(processor_ticks()) // 2]
    for slow in row["slow"]:
        words += ["--slow", slow]
    if plain:
        words += ["--models", "coarse", "--plain"]
    found = json.loads(run(words))["predictions"]
    return {one["model"]: one["examples_per_second"] for one in found}


def processor_ticks():
    """[busy, all] of each processor since the machine's start, in one list."""
    ticks = []
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        if line.startswith("cpu") and line[3].isdigit():
            numbers = [int(word) for word in line.split()[1:9]]
            ticks += [sum(numbers) - numbers[3] - numbers[4], sum(numbers)]
    return ticks


class Load:
    """How busy the processors were since it was made, 0 to 1."""

    def __init__(self):
        self.before = processor_ticks()

    def now(self):
        moved = [b - a for a, b in zip(self.before, processor_ticks())]
        return sum(moved[::2]) / max(1, sum(moved[1::2]))


def measure_paced(options, folder, path, row):
    """(examples a second, load) of a server and workers that wait, each on a host of its own."""
    token, out = folder / "token", folder / f"run-{time.monotonic_ns()}"
    token.unlink(missing_ok=True)
    batch = json.loads(path.read_text())["batch"]
    iterations = max(20 * row["workers"], int(options.seconds * row["fine"] / batch))
    children = []
    with network_hosts.Hosts(row["workers"] + 1, f"{row['link']}mbit") as hosts:
        address = f"{hosts.address(0)}:{PORT}"
        try:
            server = subprocess.Popen(
                hosts.command(0, [options.outpace, "server", "--listen", address,
                                  "--insecure-no-tls", "--workers", str(row["workers"]),
                                  "--policy", row["policy"], "--batch", str(batch),
                                  "--token-file", str(token), "--iterations", str(iterations),
                                  "--out", str(out), "--json"]),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            children.append(server)
            load = Load()
            for worker in range(row["workers"]):
                words = [options.outpace, "worker", "--server", address, "--token-file", str(token),
                         "--worker", str(worker), "--workers", str(row["workers"]), "--paced",
                         str(path)]
                for slow in row["slow"]:
                    words += ["--slow", slow]
                while not token.exists() and server.poll() is None:
                    time.sleep(0.01)
                children.append(subprocess.Popen(hosts.command(worker + 1, words),
                                                 stdout=subprocess.DEVNULL,
                                                 stderr=subprocess.DEVNULL))
            output, errors = server.communicate(timeout=20 * options.seconds + 120)
            busy = load.now()
            if server.returncode != 0:
                raise measured_runs.RunFailed(f"the server failed: {errors.strip()[-300:]}")
        finally:
            for child in children:
                if child.poll() is None:
                    child.terminate()
                child.wait()
    return json.loads(output.splitlines()[-1])["examples_per_second"], busy


def measure_computing(options, row):
    load = Load()
    found = json.loads(run([options.outpace, "train", "--network", row["model"], "--workers",
                            row["workers"], "--policy", row["policy"], "--listen", "127.0.0.1:0",
                            "--seconds", f"{options.seconds}s", "--evaluate-every", 10**9,
                            "--json"]).splitlines()[-1])
    return found["examples_per_second"], load.now()


def possible(policy, workers):
    cutoff = policy.partition("cutoff=")[2]
    return not cutoff or int(cutoff) <= workers


def rows_of(options):
    for model in options.networks:
        for link in options.rates:
            for workers in options.workers:
                for policy in options.policies:
                    if possible(policy, workers):
                        slow = [text for text in options.slow
                                if int(text.split("worker=")[1].split(",")[0]) < workers]
                        yield {"workers": workers, "policy": policy, "topology": "ps", "link": link,
                               "model": model, "paced": True, "slow": slow}
    for model in options.computing:
        for workers in (1, 2):
            for policy in ("sync", "async"):
                yield {"workers": workers, "policy": policy, "topology": "ps", "link": None,
                       "model": model, "paced": False, "slow": []}


def off(row, what):
    return 100 * (row[what] / row["measured"] - 1)


def show(row):
    link = f"{row['link']} Mbit/s" if row["link"] else "this machine"
    print(f"{row['model']:8} {link:>12} {row['workers']:3} {row['policy']:16} "
          f"{row['measured']:9.1f} {row['fine']:9.1f} {off(row, 'fine'):+6.1f} % "
          f"{row['coarse']:9.1f} {off(row, 'coarse'):+6.1f} %  plain {off(row, 'plain'):+6.1f} % "
          f"{100 * row['load']:5.0f} %{' busy' if row['load'] > BUSY else ''}", flush=True)


def summary(rows):
    """{model of prediction: (median error, worst error)}, in percent."""
    return {what: (statistics.median(abs(off(row, what)) for row in rows),
                   max(abs(off(row, what)) for row in rows))
            for what in ("fine", "coarse", "plain")}


def main(arguments):
    options = parse(arguments)
    measured_runs.quiet_or_warn()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profiles = {model: profile(options, folder, model, NETWORKS[model])
                    for model in options.networks}
        for model in options.computing:
            profiles[model] = profile(options, folder, model, ["--network", model])
        print("network      link       W policy            measured      fine             coarse"
              "                           load", flush=True)
        for row in rows_of(options):
            path = profiles[row["model"]]
            row.update(predict(options, path, row))
            row["plain"] = predict(options, path, row, plain=True)["coarse"]
            row["measured"], row["load"] = (measure_paced(options, folder, path, row)
                                            if row["paced"] else measure_computing(options, row))
            show(row)
            rows.append(row)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(rows, indent=1) + "\n")
    for what, (median, worst) in summary(rows).items():
        print(f"{what:8} median error {median:5.1f} %, worst {worst:5.1f} %")
    print(f"{len(rows)} rows, {sum(row['load'] > BUSY for row in rows)} of them on a busy machine; "
          f"{options.out}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (measured_runs.RunFailed, OSError) as error:
        print(f"validate_throughput.py: {error}", file=sys.stderr)
        sys.exit(1)
