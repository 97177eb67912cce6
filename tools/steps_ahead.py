"""Measures what `outpace run --steps-ahead` gains on links of a limited rate.

    sudo python3 tools/steps_ahead.py --outpace build/release/outpace --python-package build/release/python

Every worker and the server has a host of its own (tools/network_hosts.py). A worker is a PyTorch
script in its plain loop, a linear layer of --weights weights and SGD; it waits until each step has
taken --step, so that many workers fit onto few cores. For each policy and number of local steps it
prints the examples a second without --steps-ahead and with it, of the steps that all workers make by
themselves. The order of the two alternates from round to round; medians are printed.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import network_hosts

BATCH = 8


def script(options):
    """What a worker runs."""
    import torch

    import outpace.torch as op

    torch.set_num_threads(1)
    inputs = 250
    net = torch.nn.Linear(inputs, options.weights // (inputs + 1))
    job = op.init()
    net, optimizer = job.wrap(net, torch.optim.SGD(net.parameters(), lr=1e-3))
    data = torch.utils.data.TensorDataset(torch.randn(10_000, inputs))
    while not job.over:
        for (x,) in job.loader(data):
            begun = time.monotonic()
            optimizer.zero_grad()
            net(x).square().mean().backward()
            time.sleep(max(0.0, options.step - (time.monotonic() - begun)))
            optimizer.step()
            if job.over:
                break


def rate(options, hosts, policy, steps, ahead):
    """Examples a second after the first tenth of the run."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        words = [options.outpace, "run", "--workers", options.workers, "--policy", policy, "--batch", BATCH,
                 "--local-steps", steps, *(["--steps-ahead"] if ahead else []),
                 "--seconds", f"{options.seconds}s", "--listen", f"{hosts.address(0)}:7171",
                 "--insecure-no-tls", "--out", out, "--json", "--worker-prefix",
                 " ".join(hosts.command("{worker}", []) + ["env", f"PYTHONPATH={options.python_package}"]),
                 "--", options.python, "-B", __file__, "--script", "--weights", options.weights,
                 "--step", options.step]
        done = subprocess.run(hosts.command(0, list(map(str, words))), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr[-2000:]}")
        moments = [json.loads(line) for line in open(out / "metrics.jsonl", encoding="utf-8")]
    moments = [one for one in moments if "examples" in one]
    first = next(one for one in moments if one["seconds"] >= options.seconds / 10)
    return ((moments[-1]["examples"] - first["examples"]) /
            (moments[-1]["seconds"] - first["seconds"]))


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--outpace", default="build/release/outpace")
    options.add_argument("--python-package", default="build/release/python", type=pathlib.Path)
    options.add_argument("--python", default="/usr/bin/python3")
    options.add_argument("--workers", type=int, default=4)
    options.add_argument("--weights", type=int, default=1_000_000)
    options.add_argument("--step", type=float, default=0.02, help="seconds")
    options.add_argument("--link", default="100mbit")
    options.add_argument("--local-steps", type=int, nargs="+", default=[20, 50])
    options.add_argument("--policies", nargs="+", default=["sync", "dynamic"])
    options.add_argument("--seconds", type=int, default=30)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--script", action="store_true", help=argparse.SUPPRESS)
    options = options.parse_args()
    options.python_package = options.python_package.resolve()
    if options.script:
        script(options)
        return
    own = options.workers * BATCH / options.step
    print(f"{options.workers} workers, {options.weights:,} weights, {options.link}, steps of "
          f"{1000 * options.step:g} ms: {own:,.0f} examples/s by themselves\n")
    print("| policy | H | share without | share with `--steps-ahead` | ratio |\n|---|---|---|---|---|")
    with network_hosts.Hosts(options.workers + 1, options.link) as hosts:
        for policy in options.policies:
            for steps in options.local_steps:
                found = {False: [], True: []}
                for number in range(options.rounds):
                    for ahead in (False, True) if number % 2 == 0 else (True, False):
                        found[ahead].append(rate(options, hosts, policy, steps, ahead) / own)
                without, with_ = (statistics.median(found[ahead]) for ahead in (False, True))
                print(f"| `{policy}` | {steps} | {without:.3f} | {with_:.3f} | {with_ / without:.2f} |",
                      flush=True)


if __name__ == "__main__":
    sys.exit(main())
