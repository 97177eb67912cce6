"""Machines that join a run by its code: two hosts, TLS, a ledger of examples. Takes root and iproute2."""

import json
import os
import signal
import sys

sys.dont_write_bytecode = True
from jobs import BATCH, LEDGER_WORKER, OUTPACE, main, read_weights, wait_until  # noqa: E402
from namespaces import TwoHosts  # noqa: E402

EXAMPLES = 1024
PORT = 4000
WORKER = (f"exec {LEDGER_WORKER} --server $OUTPACE_SERVER --token-file $OUTPACE_TOKEN_FILE "
          f"--worker $OUTPACE_WORKER --examples {EXAMPLES} --batch-seconds ")


class JoinTest(TwoHosts):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"
        self.address = f"{self.ADDRESSES[0]}:{PORT}"

    def start_server(self, *words, epochs=3, workers=2, listen=None):
        self.server = self.start_on(
            0, "server", "--listen", listen or self.address, "--workers", workers, "--policy", "async",
            "--staleness", "none", "--batch", BATCH, "--lr", BATCH, "--lr-scale", "linear",
            "--epochs", epochs, "--json", "--out", "run", *words)
        self.server.until_said("machines join by: outpace join outpace1")
        return self.keep_code(self.code())

    def code(self):
        return self.server.err.partition("outpace join ")[2].split()[0]

    def keep_code(self, code, name="code"):
        return self.path(name, code + "\n")

    def join(self, code_file, *words, seconds=0.004, host=1, command=None, out=None):
        return self.start_on(host, "join", "--code-file", code_file, *words,
                             *(("--out", out) if out else ()), "--",
                             *(command or ("sh", "-c", WORKER + str(seconds))))

    def ctl(self, *words, host=0):
        one = self.start_on(host, "ctl", "run", *words)
        return one.wait(), one.out.strip(), one.err.strip()

    def until_progress(self, updates):
        def enough():
            self.assertTrue(self.server.running(), self.server.err)
            code, out, _ = self.ctl("status", "--json")
            return code == 0 and json.loads(out)["version"] >= updates
        wait_until(enough, f"update {updates}")

    def assert_each_example_used(self, epochs=3):
        self.assertEqual(self.server.wait(), 0, self.server.err)
        summary = json.loads(self.server.out)
        self.assertEqual((summary["examples_used_per_epoch_min"], summary["examples_used_per_epoch_max"]),
                         (1, 1))
        ledger, _ = read_weights(self.run_folder / "weights.safetensors")
        self.assertEqual(set(ledger), {-float(epochs)})
        return summary

    def assert_refused(self, process, code, *said):
        self.assertEqual(process.wait(), code, process.err)
        for one in said:
            self.assertIn(one, process.err.strip().splitlines()[-1])


class Machine(JoinTest):
    def test_two_commands_train_on_two_machines(self):
        code = self.start_server()
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)
        summary = self.assert_each_example_used()
        self.assertIn("joined the run at 10.78.0.1:4000 as workers 0 and 1", joined.err)
        self.assertIn("the run is over: epochs done", joined.err.splitlines()[-1])
        self.assertTrue(all(one["accepted"] > 0 for one in summary["workers_detail"][:2]))
        self.assert_nothing_left()

    def test_the_keys_are_for_nobody_else(self):
        code = self.start_server()
        for name in ("token", "server.key", "worker.key", "codes.json"):
            self.assertEqual((self.run_folder / "keys" / name).stat().st_mode & 0o777, 0o600, name)
        self.assertEqual((self.run_folder / "keys").stat().st_mode & 0o777, 0o700)
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)
        words = {word for word in joined.words} | set(self.server.words)
        self.assertFalse([word for word in words if "outpace1" in word], "the code is in no command line")

    def test_a_later_machine_takes_part_in_the_rest(self):
        code = self.start_server(epochs=8)
        first = self.join(code, "--workers-here", 2, seconds=0.01)
        self.until_progress(100)
        later = self.join(code, "--workers-here", 2, host=0, seconds=0.01)
        for one in (first, later):
            self.assertEqual(one.wait(), 0, one.err)
        summary = self.assert_each_example_used(epochs=8)
        self.assertEqual(sum(one["accepted"] > 0 for one in summary["workers_detail"]), 4)

    def test_the_code_comes_by_standard_input(self):
        code = self.start_server()
        joined = self.start_on(1, "-c", f"{OUTPACE} join - --workers-here 2 -- sh -c '{WORKER}0.004' < {code}",
                               program="sh")
        self.assertEqual(joined.wait(), 0, joined.err)
        self.assert_each_example_used()

    def test_a_server_goes_on_while_machines_wait_for_it(self):
        code = self.start_server("--checkpoint-every", 50, epochs=6)
        joined = self.join(code, "--workers-here", 2, seconds=0.008)
        self.until_progress(120)
        # `ip netns exec` has become the server.
        self.server.send(signal.SIGKILL)
        self.server.wait()
        joined.until_said("trying to find it again")
        self.server = self.start_on(0, "server", "--resume", f"{self.folder}/./run/", "--json")
        self.assertEqual(joined.wait(), 0, joined.err)
        self.assertEqual(self.server.wait(), 0, self.server.err)
        self.assertIn("found the server again", joined.err)
        summary = json.loads(self.server.out)
        self.assertEqual(summary["examples_used_per_epoch_max"], 1)

    def test_a_port_forward_is_what_the_code_says(self):
        code = self.start_server("--advertise", f"{self.ADDRESSES[0]}:5000")
        forward = self.start("netns", "exec", self.spaces[0], sys.executable, "-c", FORWARD,
                             self.ADDRESSES[0], "5000", str(PORT), program="ip")
        forward.until_printed("forwards")
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)
        self.assertIn(f"joined the run at {self.ADDRESSES[0]}:5000", joined.err)
        self.assert_each_example_used()
        forward.popen.kill()
        forward.wait()

    def test_ipv6(self):
        for name, address in zip(self.spaces, ("fd78::1", "fd78::2")):
            self.ip("-n", name, "addr", "add", f"{address}/64", "dev", "eth0", "nodad")
        code = self.start_server(listen=f"[fd78::1]:{PORT}")
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)
        self.assertIn(f"joined the run at [fd78::1]:{PORT}", joined.err)
        self.assert_each_example_used()

    def test_all_addresses_of_a_machine(self):
        code = self.start_server(listen=f"0.0.0.0:{PORT}")
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)
        self.assertIn(f"joined the run at {self.address}", joined.err)
        self.assert_each_example_used()


FORWARD = """
import socket, sys, threading
host, port, to = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def pump(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
with socket.create_server((host, port)) as listener:
    print("forwards", flush=True)
    while True:
        one, _ = listener.accept()
        other = socket.create_connection((host, to))
        for pair in ((one, other), (other, one)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
"""


class Code(JoinTest):
    def test_a_new_code_leaves_those_that_have_joined(self):
        code = self.start_server(epochs=6)
        joined = self.join(code, seconds=0.005)
        other = self.join(code, seconds=0.005)
        self.until_progress(50)
        self.assertEqual(self.ctl("code"), (0, self.code(), ""))
        done, renewed, _ = self.ctl("code", "--new")
        self.assertEqual(done, 0)
        self.assertNotEqual(renewed, self.code())
        self.assert_refused(self.join(code, out="refused"), 3, "does not know this code any more")
        third = self.join(self.keep_code(renewed, "renewed"), seconds=0.005)
        for one in (joined, other, third):
            self.assertEqual(one.wait(), 0, one.err)
        self.assert_each_example_used(epochs=6)

    def test_a_worker_that_is_sent_away_cannot_come_back(self):
        code = self.start_server("--min-workers", 1, epochs=8)
        stays = self.join(code, seconds=0.005)
        wait_until(lambda: "as worker 0" in stays.err, "the first worker")
        leaves = self.join(code, "--restart-workers", command=(
            "sh", "-c", f"cp $OUTPACE_TOKEN_FILE {self.folder}/stolen; {WORKER}0.005"))
        wait_until(lambda: "as worker 1" in leaves.err, "the second worker")
        self.until_progress(100)
        done, said, _ = self.ctl("expel", 1)
        self.assertEqual(done, 0, said)
        self.assertIn("cannot come back", said)
        self.assertNotEqual(leaves.wait(), 0, leaves.err)
        self.assertIn("sent away by outpace ctl", leaves.err)
        stolen = self.start_on(1, "ctl", "--server", self.address, "--token-file", "stolen", "status")
        self.assert_refused(stolen, 3, "does not know this code any more")
        self.assert_refused(self.join(code, out="refused"), 3, "does not know this code any more")
        self.assertEqual(stays.wait(), 0, stays.err)
        self.assert_each_example_used(epochs=8)

    def test_a_machine_that_joined_commands_nothing(self):
        code = self.start_server(epochs=4)
        joined = self.join(
            code, "--workers-here", 2, command=(
                "sh", "-c", f"{OUTPACE} ctl --server $OUTPACE_SERVER --token-file $OUTPACE_TOKEN_FILE "
                f"set-policy sync; {OUTPACE} ctl --server $OUTPACE_SERVER --token-file "
                f"$OUTPACE_TOKEN_FILE code; {WORKER}0.004"))
        self.assertEqual(joined.wait(), 0, joined.err)
        summary = self.assert_each_example_used(epochs=4)
        self.assertEqual(summary["policy"], "async")
        logs = "".join(path.read_text() for path in (self.folder / "runs").glob("*/logs/*.log"))
        self.assertEqual(logs.count("commands nothing"), 4, logs)

    def test_what_is_wrong_is_said_in_one_line(self):
        code = self.start_server()
        text = code.read_text().strip()
        wrong = self.keep_code(text[:20] + ("b" if text[20] != "b" else "c") + text[21:], "wrong")
        self.assert_refused(self.join(wrong), 2, "a wrong letter")
        self.assert_refused(self.join(self.keep_code("hello", "none")), 2, "this is no code")
        self.path("open", text, mode=0o644)
        self.assert_refused(self.join("open"), 2, "chmod 600")
        self.assert_refused(self.join(code, command=("no-such-program",)), 2, "no program")
        self.assert_refused(self.start_on(1, "join", text), 2, "the command is missing")
        self.assert_refused(self.join(code, "--server", f"{self.ADDRESSES[0]}:1", "--connect-deadline", "1s"),
                            1, "Connection refused")
        self.assert_refused(self.join(code, "--server", "10.99.99.99:1", "--connect-deadline", "1s"),
                            1, "Network is unreachable")
        self.assert_refused(self.join(code, "--workers-here", 100, out="full"), 1, "the run is full")
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)

    def test_another_jobs_server_is_not_taken_for_this_one(self):
        code = self.start_server()
        other = self.start_on(0, "server", "--listen", f"{self.ADDRESSES[0]}:{PORT + 1}", "--out", "other")
        other.until_said("machines join by")
        self.assert_refused(
            self.join(code, "--server", f"{self.ADDRESSES[0]}:{PORT + 1}", out="refused"), 3,
            "not the one of the code")
        joined = self.join(code, "--workers-here", 2)
        self.assertEqual(joined.wait(), 0, joined.err)


class Together(JoinTest):
    def test_train_gets_help_from_another_machine(self):
        rows = [f"{row % 7},{row % 5},{row % 2}" for row in range(400)]
        self.path("table.csv", "\n".join(["a,b,class", *rows]) + "\n")
        train = self.start_on(
            0, "train", "--network", "mlp", "--data", "csv:table.csv", "--workers", 1, "--policy", "async",
            "--listen", self.address, "--batch", 4, "--epochs", 40, "--slow", "worker=0,factor=20",
            "--json", "--out", "run")
        train.until_said("machines join by: outpace join outpace1")
        self.server = train
        joined = self.join(self.keep_code(self.code()), command=(
            OUTPACE, "worker", "--network", "mlp", "--data", "csv:table.csv"))
        self.assertEqual(train.wait(), 0, train.err)
        self.assertEqual(joined.wait(), 0, joined.err)
        summary = json.loads(train.out)
        self.assertEqual((summary["examples_used_per_epoch_min"], summary["examples_used_per_epoch_max"]),
                         (1, 1))
        self.assertGreater(summary["workers_detail"][1]["accepted"], 0)
        self.assertIn("outpace worker --network mlp --data csv:table.csv", train.err)

    def test_a_machine_leaves_when_its_notice_comes(self):
        code = self.start_server(epochs=6)
        stays = self.join(code, seconds=0.004)
        leaves = self.join(code, "--on-notice", f"test -e {self.folder}/notice", seconds=0.004)
        self.until_progress(100)
        self.path("notice", "")
        self.assertEqual(leaves.wait(), 128 + signal.SIGTERM, leaves.err)
        self.assertIn("the notice of --on-notice has come", leaves.err)
        self.assertEqual(stays.wait(), 0, stays.err)
        self.assert_each_example_used(epochs=6)

    def test_ctrl_c_leaves_the_run_in_order(self):
        code = self.start_server(epochs=6)
        stays = self.join(code, seconds=0.004)
        leaves = self.join(code, seconds=0.004)
        self.until_progress(100)
        leaves.send(signal.SIGINT)
        self.assertEqual(leaves.wait(), 128 + signal.SIGINT, leaves.err)
        self.assertEqual(stays.wait(), 0, stays.err)
        self.assert_each_example_used(epochs=6)


if __name__ == "__main__":
    main()
