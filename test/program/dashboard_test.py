"""The page of a run: what it is served as, what its events and metrics say, who may read it."""

import json
import os
import pathlib
import re
import signal
import socket
import ssl
import sys
import time
import urllib.parse

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, wait_until  # noqa: E402
from page_reader import Events, get, metrics_of, unverified, url_of  # noqa: E402

FAST = 0.004  # Seconds of a mini-batch.


class DashboardTest(ProgramTest):
    def job(self, policy="backup:cutoff=6", workers=8, options=(), **more):
        """A job of this policy with a page, that goes on until it is ended."""
        job = LedgerJob(self, policy, workers=workers, epochs=100_000,
                        options=("--dashboard", "--checkpoint-every", "1s", *options), **more)
        job.server.until_said("the page is at ")
        self.url = url_of(job.server.err.partition("the page is at ")[2])
        return job

    def end(self, job):
        job.server.send(signal.SIGTERM)
        job.server.wait()

    def metrics(self):
        status, headers, text = get(self.url, "/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        return metrics_of(text)


class Page(DashboardTest):
    def test_serves_its_files_and_what_is_new(self):
        job = self.job()
        for path, kind, part in (("/", "text/html", "<title>Outpace"),
                                 ("/page.js", "text/javascript", "EventSource"),
                                 ("/page.css", "text/css", "prefers-color-scheme"),
                                 ("/chart.js", "text/javascript", "Chart"),
                                 ("/healthz", "text/plain", "ok")):
            status, headers, body = get(self.url, path)
            self.assertEqual(status, 200, path)
            self.assertTrue(headers["Content-Type"].startswith(kind), path)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertIn(part, body)
        self.assertEqual(get(self.url, "/nothing")[0], 404)
        events = Events(self.url)
        first = events.next()
        self.assertTrue(first["begins"])
        self.assertEqual(first["about"]["name"], "backup:cutoff=6")
        self.assertEqual(first["about"]["workers"], 8)
        later = events.until(lambda frame: frame["gain"] and frame["decisions"] and frame["cells"]
                             and frame["checkpoints"], "a gain, decisions, cells, a checkpoint")
        self.assertFalse(later["begins"])
        self.assertRegex(later["gain"], r"^\d of 8 cut off now(; (at least )?\d+\.\dx waiting for all)?$")
        self.assertEqual(len(later["lanes"]), 8)
        self.assertEqual(len(later["lanes"][0]), 6 * later["cells"])
        self.assertGreater(later["applied"], 0)
        self.assertGreater(later["server"]["resident"], 1_000_000)
        self.assertEqual(later["server"]["gradient_bytes"], 4 * job.examples)
        reasons = {decision[3].partition(":")[0] for decision in later["decisions"]}
        self.end(job)  # The record may be behind the page until then.
        logged = {json.loads(line)["reason"].partition(":")[0]
                  for line in (job.run / "decisions.jsonl").read_text().splitlines()[1:]}
        self.assertLessEqual(reasons, logged | {"cutoff reached", "waiting"})

    def test_shows_a_dead_worker_and_its_return(self):
        job = self.job()
        events = Events(self.url)
        events.until(lambda frame: frame["live"] == 8 and frame["version"] > 20, "8 live workers")
        job.workers[3].send(signal.SIGKILL)
        dead = events.until(lambda frame: frame["workers"][3]["doing"] == "gone", "the death")
        self.assertIn("worker 3 is dead", dead["on"])
        self.assertEqual(self.metrics()['outpace_worker_live{worker="3"}'], 0)
        job.start_worker(3, FAST)
        back = events.until(lambda frame: frame["workers"][3]["joined"] == 2, "the return")
        self.assertNotIn("worker 3 is dead", back["on"])
        self.assertEqual(back["restarts"], 1)
        self.end(job)

    def test_names_a_worker_that_ctl_slows_until_it_is_fast_again(self):
        job = self.job(policy="async", workers=6, batch_seconds=0.02)
        job.until_gradients(4, 60)  # By which its usual runtime is known.
        events = Events(self.url)

        def slow(worker, factor):
            asked = self.start("ctl", job.run, "slow", f"worker={worker},factor={factor}")
            return asked.wait(), asked.out + asked.err
        code, said = slow(4, 5)
        self.assertEqual((code, said),
                         (0, "worker 4 takes 5 times as long from now on, as asked by outpace ctl\n"))
        events.until(lambda frame: frame["workers"][4]["slow"] > 1, "the slow worker")
        events.until(lambda frame: [words for words in frame["on"]
                                    if words.startswith("worker 4 has become slow")], "the alarm")
        self.assertGreater(self.metrics()['outpace_worker_slow_ratio{worker="4"}'], 1.5)
        self.assertEqual(slow(4, 1)[0], 0)
        events.until(lambda frame: not frame["on"], "the recovery")
        self.assertEqual(job.server.err.count("worker 4 has become slow"), 1)
        self.assertEqual(slow(9, 2), (1, "outpace: worker 9 takes no part at present\n"))
        code, said = slow(4, 0.5)
        self.assertEqual(code, 2)
        self.assertIn("factor", said)
        self.end(job)

    def test_gives_the_newest_decisions_as_a_trace(self):
        job = self.job(policy="backup:cutoff=3", workers=4)
        job.until_gradients(0, 20)
        status, headers, text = get(self.url, "/trace.json")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        self.assertIn("outpace-trace.json", headers["Content-Disposition"])
        trace = json.loads(text)
        self.assertLessEqual({"server: backup:cutoff=3", "worker 0", "worker 3"},
                             {one["args"]["name"] for one in trace if one["ph"] == "M" and
                              one["name"] == "process_name"})
        # A flow from a worker to the server for each gradient that was taken up.
        begun = {one["id"] for one in trace if one["ph"] == "s" and one["pid"] > 0}
        ended = {one["id"] for one in trace if one["ph"] == "f" and one["pid"] == 0}
        self.assertGreater(len(ended), 20)
        self.assertLessEqual(ended, begun)
        self.end(job)

    def test_metrics_agree_with_the_summary(self):
        job = LedgerJob(self, "async", workers=4, epochs=40,
                        options=("--dashboard", "--heartbeat-timeout", "30s"))
        job.server.until_said("the page is at ")
        self.url = url_of(job.server.err.partition("the page is at ")[2])
        seen = {}

        def more():
            if not job.server.running():
                return True
            try:
                seen.update(self.metrics())
            except OSError:
                return True
            return False
        wait_until(more, "the end of the run")
        job.finish()
        summary = job.summary()
        self.assertGreater(seen["outpace_updates_total"], 0)
        self.assertLessEqual(seen["outpace_updates_total"], summary["updates"])
        self.assertLessEqual(seen["outpace_examples_applied_total"], summary["examples"])
        self.assertEqual(seen["outpace_workers_planned"], 4)
        self.assertNotIn("outpace_workers_cut_off", seen, "an asynchronous policy cuts nobody off")


class Guard(DashboardTest):
    def test_refuses_requests_of_other_sites_and_other_names(self):
        job = self.job(workers=2, policy="async")
        port = urllib.parse.urlsplit(self.url).port
        for path in ("/", "/events", "/metrics", "/trace.json", "/page.js"):
            for headers in ({"Host": f"evil.example:{port}"}, {"Origin": "http://evil.example"},
                            {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
                self.assertEqual(get(self.url, path, headers=headers)[0], 403, (path, headers))
            self.assertEqual(get(self.url, path, method="POST")[0], 405, path)
        self.assertEqual(get(self.url, headers={"Host": f"localhost:{port}",
                                                "Origin": f"http://localhost:{port}"})[0], 200)
        self.end(job)

    def test_idle_and_slow_connections_change_nothing(self):
        job = self.job(workers=2, policy="async")
        place = urllib.parse.urlsplit(self.url)
        events = Events(self.url)
        idle = []
        for number in range(2000):
            one = socket.create_connection((place.hostname, place.port), timeout=60)
            if number % 2:
                one.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            idle.append(one)
            if len(idle) > 200:  # The server keeps fewer; what it closed needs no descriptor here.
                idle.pop(0).close()
        self.assertEqual(get(self.url, "/healthz")[0], 200)
        before = events.next()["applied"]
        events.until(lambda frame: frame["applied"] > before, "progress")
        for one in idle:
            one.close()
        self.end(job)

    def test_a_request_that_is_no_http_or_too_long_ends_its_connection_alone(self):
        job = self.job(workers=2, policy="async")
        place = urllib.parse.urlsplit(self.url)
        for bytes_ in (b"\x16\x03\x01" + bytes(200), b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000,
                       b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n"):
            with socket.create_connection((place.hostname, place.port), timeout=60) as one:
                try:
                    one.sendall(bytes_)
                    while one.recv(65_536):
                        pass
                except OSError:
                    pass  # It was reset.
        self.assertEqual(get(self.url, "/healthz")[0], 200)
        self.end(job)

    def test_beyond_this_machine_asks_for_tls_and_its_own_token(self):
        words = ("server", "--policy", "async", "--workers", 1, "--token-file", self.path("t/token"),
                 "--dashboard=0.0.0.0:0", "--out", self.folder / "run")
        (self.folder / "t").mkdir()
        refused = self.start(*words)
        self.assertEqual(refused.wait(), 2)
        self.assertIn("takes TLS and a token of the page", refused.err)
        self.assertFalse((self.folder / "run").exists(), "a refused run leaves nothing")
        made = self.start("certs", self.folder / "t")
        self.assertEqual(made.wait(), 0, made.err)
        server = self.start(*words)
        server.until_said("the page is at ")
        url = url_of(server.err.partition("the page is at ")[2]).replace("0.0.0.0", "127.0.0.1")
        self.assertTrue(url.startswith("https://"))
        token = (self.folder / "t" / "page-token").read_text().strip()
        of_job = (self.folder / "t" / "token").read_text().strip()
        self.assertNotEqual(token, of_job)
        context = unverified()
        for path in ("/events", "/metrics", "/trace.json", "/page.js", "/nothing"):
            self.assertEqual(get(url, path, context=context)[0], 401, path)
        status, _, body = get(url, context=context)
        self.assertEqual(status, 401)
        self.assertIn("The page's token", body)
        bearer = {"Authorization": f"Bearer {token}"}
        self.assertEqual(get(url, "/metrics", headers=bearer, context=context)[0], 200)
        events = Events(url, bearer, context)
        self.assertTrue(events.next()["begins"])
        self.assertFalse(events.next()["begins"])
        events.close()
        old = unverified()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.assertRaises(OSError):
            get(url, context=old)
        # As a browser does that was told to name itself to its own site.
        self.assertEqual(get(url, context=context)[1]["Referrer-Policy"], "same-origin")
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": url[:-1],
                "Sec-Fetch-Site": "same-origin"}
        status, headers, _ = get(url, "/login", "POST", form,
                                 urllib.parse.urlencode({"token": token}), context)
        self.assertEqual(status, 303)
        for word in ("HttpOnly", "Secure", "SameSite=Strict"):
            self.assertIn(word, headers["Set-Cookie"])
        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
        self.assertNotIn(token, cookie["Cookie"])
        self.assertIn(f"_{urllib.parse.urlsplit(url).port}=", cookie["Cookie"])
        self.assertEqual(get(url, "/page.js", headers=cookie, context=context)[0], 200)
        # A wrong token is said, and this machine waits until another is looked at.
        looked_at = []

        def five_are_looked_at():
            begun = time.monotonic()
            status = get(url, "/login", "POST", form, f"token={of_job}", context)[0]
            self.assertIn(status, (401, 429))
            if status == 401:
                looked_at.append(begun)
            return len(looked_at) == 5
        wait_until(five_are_looked_at, "five tries")
        self.assertGreater(time.monotonic() - looked_at[0], 0.25 + 0.5 + 1 + 2)
        self.assertEqual(get(url, "/metrics", headers=bearer, context=context)[0], 429)
        self.assertEqual(get(url, "/metrics", headers=cookie, context=context)[0], 200)
        server.until_said("the page refused a wrong token from 127.0.0.1")
        self.assertEqual(server.err.count("refused a wrong token"), 1)
        server.send(signal.SIGTERM)
        server.wait()

    def test_a_token_of_the_page_that_can_be_guessed_is_refused(self):
        made = self.start("certs", self.folder / "t")
        self.assertEqual(made.wait(), 0, made.err)
        self.path("t/page-token", "x\n")
        server = self.start("server", "--workers", 1, "--token-file", self.path("t/token"),
                            "--dashboard", "0.0.0.0:0", "--out", self.folder / "run")
        self.assertEqual(server.wait(), 2)
        self.assertIn("the page's token has 1 characters, which can be guessed", server.err)
        self.assertFalse((self.folder / "run").exists())
        (self.folder / "t/page-token").unlink()
        self.path("t/token", "0123456789abcdef\n")
        server = self.start("server", "--workers", 1, "--token-file", "t/token", "--dashboard", "0.0.0.0:0",
                            "--dashboard-token-file", "t/token", "--out", self.folder / "run")
        self.assertEqual(server.wait(), 2)
        self.assertIn("--dashboard-token-file t/token has the job's own token", server.err)
        self.assertFalse((self.folder / "run").exists())

    def test_a_script_of_one_machine_shows_its_page_beyond_it(self):
        made = self.start("certs", self.folder / "t")
        self.assertEqual(made.wait(), 0, made.err)
        words = ("run", "--workers", 1, "--policy", "async", "--out", self.folder / "run",
                 "--dashboard", "0.0.0.0:0")
        script = ("--", os.environ["SCRIPT_WORKER"], "--epochs", 1_000_000)
        refused = self.start(*words, *script)
        self.assertEqual(refused.wait(), 2)
        self.assertIn("add --dashboard-token-file FILE", refused.err)
        run = self.start(*words, "--dashboard-token-file", self.folder / "t/page", *script)
        run.until_said("the page is at ")
        url = url_of(run.err.partition("the page is at ")[2]).replace("0.0.0.0", "127.0.0.1")
        token = (self.folder / "t/page").read_text().strip()
        self.assertEqual(get(url, "/metrics", headers={"Authorization": f"Bearer {token}"},
                             context=unverified())[0], 200)
        run.send(signal.SIGTERM)
        self.assertEqual(run.wait(), 128 + signal.SIGTERM)


class RecordedTest(DashboardTest):
    def simulate(self, *options, updates=300):
        run = self.folder / "simulated"
        done = self.start("simulate", "--workers", 8, "--policy", "backup:cutoff=6", "--updates", updates,
                          "--runtime", "6*lognormal(mean=100ms,cv=0.2),2*lognormal(mean=400ms,cv=0.2)",
                          "--fault", "slow:worker=1,at=10s,for=8s,factor=4",
                          "--fault", "crash:worker=3,at=20s,for=5s", "--out", run, *options)
        self.assertEqual(done.wait(), 0, done.err)
        return run

    def forget_page(self, run):
        """What the run recorded of its page goes, as in a record of an older version: its decisions
        are read."""
        (run / "page.jsonl").unlink()
        return run

    def show(self, run, *options):
        shown = self.start("dashboard", run, *options)
        shown.until_printed("/\n")
        self.url = url_of(shown.out)
        return shown

class Recorded(RecordedTest):
    def test_shows_a_run_that_is_over(self):
        """From what the run recorded of its page, and as much from its decisions."""
        run = self.simulate()
        frames = []
        for _ in range(2):
            shown = self.show(run)
            events = Events(self.url)
            frame = events.until(lambda frame: frame["ended"], "the end of the record")
            frames.append(frame)
            happened = [line[1] for line in events.news]
            self.assertTrue([line for line in happened if line.startswith("worker 1 has become slow")])
            self.assertIn("worker 1 has recovered", happened)
            self.assertIn("worker 3 is dead", happened)
            self.assertIn("worker 3 is back", happened)
            self.assertEqual(frame["on"], [])
            self.assertGreater(self.metrics()["outpace_updates_total"], 299)
            shown.send(signal.SIGINT)
            self.assertEqual(shown.wait(), 0)
            if len(frames) == 1:
                self.forget_page(run)
        for key in ("version", "applied", "staleness", "restarts", "policy"):
            self.assertEqual(frames[0][key], frames[1][key], key)
        # Its lanes are of the whole run.
        about = frames[0]["about"]
        self.assertEqual(frames[0]["first_cell"], 0)
        self.assertAlmostEqual(frames[0]["cells"] * about["cell"], frames[0]["now"], delta=2 * about["cell"])

    def test_takes_the_page_as_it_was_recorded(self):
        """Neither page nor report reads the decisions of a run that recorded its page."""
        run = self.simulate()
        (run / "decisions.jsonl").write_text("garbage")
        shown = self.show(run)
        self.assertEqual(Events(self.url).next()["version"], 300)
        shown.send(signal.SIGINT)
        self.assertEqual(shown.wait(), 0)
        page = self.folder / "report.html"
        self.assertEqual(self.start("report", run, "-o", page).wait(), 0)
        self.assertIn('"version":300', page.read_text())
        (run / "page.jsonl").write_text("garbage")
        refused = self.start("dashboard", run)
        self.assertEqual(refused.wait(), 2)
        self.assertIn("without the file the page is made from decisions.jsonl", refused.err)

    def test_shows_what_the_policy_expected(self):
        run = self.folder / "run"
        made = self.start("simulate", "--workers", 8, "--policy", "dynamic", "--updates", 200,
                          "--runtime", "6*lognormal(mean=100ms,cv=0.2),2*lognormal(mean=400ms,cv=0.2)",
                          "--out", run)
        self.assertEqual(made.wait(), 0, made.err)
        shown = self.show(run)
        expected = Events(self.url).until(lambda frame: frame["ended"], "the end")["expected"]
        shown.send(signal.SIGINT)
        shown.wait()
        self.check_expected(expected)
        shown = self.show(self.forget_page(run))
        self.check_expected(Events(self.url).until(lambda frame: frame["ended"], "the end")["expected"])
        shown.send(signal.SIGINT)
        shown.wait()

    def check_expected(self, expected):
        # As was recorded: six bring a gradient in about 100 ms, and two take four times as long.
        self.assertIn(expected["gradients"], range(4, 7))
        bands = {band[0]: band[1:] for band in expected["bands"]}
        self.assertEqual(set(bands), set(range(8)))
        self.assertTrue(0.05 < bands[0][0] < bands[0][1] < bands[0][2] < 0.25, bands[0])
        self.assertGreater(bands[7][1], 2 * bands[0][1])
        self.assertGreater(expected["for_all"], 2 * expected["seconds"])

    def test_forecasts_no_more_once_the_policy_decides_otherwise(self):
        run = self.folder / "run"
        made = self.start("simulate", "--workers", 4, "--policy", "dynamic", "--updates", 100,
                          "--runtime", "lognormal(mean=100ms,cv=0.2)", "--out", run)
        self.assertEqual(made.wait(), 0, made.err)
        log = self.forget_page(run) / "decisions.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        at = next(i for i in range(100, len(lines)) if '"weight":1' in lines[i])
        lines[at] = lines[at].replace('"weight":1', '"weight":0.5')
        log.write_text("".join(lines))
        shown = self.show(run)
        events = Events(self.url)
        self.assertIsNone(events.until(lambda frame: frame["ended"], "the end")["expected"])
        self.assertIn("decides otherwise", " ".join(line[1] for line in events.news))
        shown.send(signal.SIGINT)
        shown.wait()

    def test_a_broken_record_is_refused_or_shown_as_far_as_it_goes(self):
        run = self.forget_page(self.simulate())
        log = run / "decisions.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        at = next(i for i in range(100, len(lines)) if "gradient_arrived" in lines[i])

        def broken(find, replace):
            changed = re.sub(find, replace, lines[at], count=1)
            self.assertNotEqual(changed, lines[at])
            log.write_text("".join(lines[:at] + [changed] + lines[at + 1:]))
        for find, replace, told in (
                (r'"worker":\d+', '"worker":999999', "at most 10000 workers can be shown"),
                (r'"worker":\d+', '"worker":99999999999', "worker"),
                (r'"now":\d+', '"now":9e99', "'now' is not a whole number"),
                (r"^.*$", "garbage", "not JSON")):
            broken(find, replace)
            for command in (("dashboard", run), ("report", run, "-o", self.folder / "report.html")):
                refused = self.start(*command)
                self.assertEqual(refused.wait(), 2, replace)
                self.assertIn(told, refused.err)
                self.assertEqual(len(refused.err.splitlines()), 1, refused.err)
        # So is one whose action names such a worker.
        at = next(i for i in range(100, len(lines)) if '"type":"release"' in lines[i])
        broken(r'("type":"release","worker"):\d+', r'\1:999999')
        refused = self.start("dashboard", run)
        self.assertEqual(refused.wait(), 2)
        self.assertIn("at most 10000 workers can be shown", refused.err)
        at = next(i for i in range(100, len(lines)) if "gradient_arrived" in lines[i])
        # An event that no policy could have been told: it is shown, and nothing is forecast.
        broken(r'"worker":\d+', '"worker":9')
        shown = self.show(run)
        events = Events(self.url)
        events.until(lambda frame: frame["ended"], "the end")
        self.assertIn("no more forecasts", " ".join(line[1] for line in events.news))
        shown.send(signal.SIGINT)
        self.assertEqual(shown.wait(), 0)
        # The writer was killed in the midst of a line, and there is no summary.
        (run / "summary.json").unlink()
        log.write_text("".join(lines[:at]) + lines[at][:40])
        shown = self.show(run)
        frame = Events(self.url).until(lambda frame: frame["version"] > 0, "what is there")
        self.assertEqual(frame["ended"], "")
        # And then it goes on.
        with log.open("a") as file:
            file.write(lines[at][40:] + "".join(lines[at + 1:]))
        Events(self.url).until(lambda frame: frame["version"] == 300, "the rest")
        shown.send(signal.SIGINT)
        self.assertEqual(shown.wait(), 0)

    def test_gives_a_trace_of_a_record(self):
        shown = self.show(self.simulate())
        Events(self.url).until(lambda frame: frame["ended"], "the end")
        trace = json.loads(get(self.url, "/trace.json")[2])
        updates = [one["name"] for one in trace if one["ph"] == "X" and one["pid"] == 0]
        self.assertEqual(updates, [f"version {version}" for version in range(1, 301)])
        shown.send(signal.SIGINT)
        shown.wait()

    def test_ends_where_decisions_are_missing(self):
        run = self.forget_page(self.simulate())
        lines = (run / "decisions.jsonl").read_text().splitlines(keepends=True)
        (run / "decisions.jsonl").write_text("".join(lines[:200] + ['{"gap":true}\n'] + lines[200:]))
        last = json.loads(lines[199])["now"] / 1e9
        (run / "metrics.jsonl").write_text("".join(
            json.dumps({"seconds": seconds, "version": 1, "training_loss": 1.0}) + "\n"
            for seconds in (last / 2, last + 100)))
        shown = self.show(run)
        frame = Events(self.url).until(lambda frame: frame["ended"], "the gap")
        self.assertIn("gap", frame["ended"])
        self.assertAlmostEqual(frame["now"], last, places=2)
        shown.send(signal.SIGINT)
        self.assertEqual(shown.wait(), 0)
        page = self.folder / "report.html"
        self.assertEqual(self.start("report", run, "-o", page).wait(), 0)
        self.assertIn("what is below ends at", page.read_text())
        self.assertIn("could not be recorded", page.read_text())

    def test_shows_no_number_for_a_loss_that_is_none(self):
        run = self.forget_page(self.simulate())
        (run / "metrics.jsonl").write_text(
            '{"seconds":1.0,"version":0,"training_loss":0.0,"live":2}\n'
            '{"seconds":1.0,"version":1,"examples":8,"accuracy":0.5,"loss":null}\n'
            '{"seconds":2.0,"version":1,"training_loss":2.0,"live":2}\n'
            '{"seconds":3.0,"version":2,"training_loss":null,"live":2}\n')
        shown = self.show(run)
        Events(self.url).until(lambda frame: frame["ended"], "the end of the record")
        frame = Events(self.url).next()  # A new reader gets everything.
        self.assertEqual([one[3:] for one in frame["evaluations"]], [[0.5, None]])
        self.assertEqual([one[3] for one in frame["alarms"] if one[1] == "loss"],
                         ["the training loss is not finite"])
        shown.send(signal.SIGINT)
        shown.wait()

    def test_is_read_at_each_address_of_this_machine(self):
        run = self.simulate()
        for address, host in (("127.0.0.2:0", "127.0.0.2"), ("localhost:0", "localhost")):
            shown = self.show(run, "--listen", address)
            self.assertEqual(urllib.parse.urlsplit(self.url).hostname, host)
            self.assertEqual(get(self.url)[0], 200, self.url)
            shown.send(signal.SIGINT)
            shown.wait()

    def test_plays_a_run_again(self):
        shown = self.show(self.simulate(), "--play", 20)
        events = Events(self.url)
        events.until(lambda frame: not frame["ended"] and
                     [line for line in frame["news"] if line[1] == "worker 3 is dead"], "the death")
        events.until(lambda frame: frame["ended"] and frame["version"] == 300, "the end")
        shown.send(signal.SIGTERM)
        self.assertEqual(shown.wait(), 0)

    def test_follows_a_run_that_goes_on(self):
        job = self.job(workers=2, policy="async")
        shown = self.show(job.run)
        events = Events(self.url)
        first = events.until(lambda frame: frame["version"] > 0, "an update")
        events.until(lambda frame: frame["version"] > first["version"], "another one")
        self.end(job)
        events.until(lambda frame: frame["ended"], "the end")
        shown.send(signal.SIGTERM)
        shown.wait()

    def test_refuses_what_is_no_run(self):
        none = self.start("dashboard", self.folder / "nothing")
        self.assertEqual(none.wait(), 2)
        self.assertIn("nothing", none.err)
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        busy = self.start("server", "--workers", 1, "--token-file", self.path("token"), "--out",
                          self.folder / "busy", f"--dashboard=127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(busy.wait(), 2)
        self.assertIn("--dashboard", busy.err)
        self.assertFalse((self.folder / "busy").exists(), "a refused run leaves nothing")
        wrong = self.start("train", "--dashboard=nowhere")
        self.assertEqual(wrong.wait(), 2)
        self.assertIn("HOST:PORT", wrong.err)


class Report(RecordedTest):
    def test_is_one_file_with_the_page_and_its_data(self):
        run = self.simulate()
        page = self.folder / "report.html"
        made = self.start("report", run, "-o", page)
        self.assertEqual(made.wait(), 0, made.err)
        text = page.read_text()
        self.assertLess(len(text), 2_000_000)
        for outside in (" src=", 'href="/', "@import", "url("):
            self.assertNotIn(outside, text.partition("<script")[0])
        self.assertEqual(text.count("<script src"), 0)
        self.assertIn("default-src 'none'", text)
        shown = self.recorded_in(text)
        self.assertEqual(len(shown), 1)
        self.assertIn("worker 1 has become slow", json.dumps(shown[0]["frame"]["news"]))
        # As whatif says, of a sample.
        asked = self.start("whatif", run, "--json")
        self.assertEqual(asked.wait(), 0, asked.err)
        whatif = json.loads(asked.out)
        self.assertAlmostEqual(shown[0]["whatif"]["measured_examples_per_second"],
                               whatif["measured_examples_per_second"], delta=0.1)
        self.assertIn("a sample of", " ".join(shown[0]["whatif"]["notes"]))
        sync = [[one["ratio"] for one in found["questions"] if one["question"] == "policy sync"][0]
                for found in (shown[0]["whatif"], whatif)]
        self.assertLess(abs(sync[0] / sync[1] - 1), 0.2, sync)
        # How to repeat it: it can be.
        self.assertEqual(shown[0]["command"], "simulate")
        again = self.start("simulate", "--resolved",
                           self.path("config.toml", shown[0]["config"]), "--json")
        self.assertEqual(again.wait(), 0, again.err)
        self.assertEqual(json.loads(again.out)["event_log_hash"],
                         json.loads((run / "summary.json").read_text())["event_log_hash"])
        none = self.start("report", self.folder / "nothing")
        self.assertEqual(none.wait(), 2)

    def recorded_in(self, text):
        """What the page has inside: of each run a frame, and what is said of it."""
        return json.loads(re.search(r'id="recorded">(.*?)</script>', text, re.DOTALL)[1])

    def test_of_several_runs_and_of_one_that_recorded_no_page(self):
        runs = [self.simulate()]
        other = self.folder / "other"
        made = self.start("simulate", "--workers", 4, "--policy", "sync", "--updates", 50, "--out", other)
        self.assertEqual(made.wait(), 0, made.err)
        (other / "page.jsonl").unlink()
        page = self.folder / "report.html"
        made = self.start("report", *runs, other, "-o", page)
        self.assertEqual(made.wait(), 0, made.err)
        shown = self.recorded_in(page.read_text())
        self.assertEqual([one["frame"]["version"] for one in shown], [300, 50])
        self.assertEqual(shown[0]["notes"], [])
        self.assertRegex(shown[1]["notes"][0], "no page.jsonl.*made from its decisions.*lacks forecasts")


class Reader(RecordedTest):
    def test_one_that_reads_nothing_is_let_go_and_holds_nobody_up(self):
        run = self.folder / "run"
        made = self.start("simulate", "--workers", 3000, "--policy", "async", "--updates", 6000,
                          "--runtime", "lognormal(mean=20s,cv=0.2)", "--out", run)
        self.assertEqual(made.wait(), 0, made.err)
        shown = self.show(run)
        Events(self.url).until(lambda frame: frame["ended"], "the end of the record")
        place = urllib.parse.urlsplit(self.url)
        deaf = socket.socket()
        self.addCleanup(deaf.close)
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect((place.hostname, place.port))
        # Its first frame is some megabytes, which the kernel does not take for it.
        deaf.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{place.port}\r\n\r\n".encode())
        ports = place.port, deaf.getsockname()[1]
        wait_until(lambda: self.connected(*ports), "the connection")
        self.assertEqual(get(self.url, "/healthz")[0], 200)
        self.assertTrue(Events(self.url).next()["begins"])
        wait_until(lambda: not self.connected(*ports), "its end")
        shown.send(signal.SIGINT)
        self.assertEqual(shown.wait(), 0)

    def test_takes_two_traces_at_a_time_at_most(self):
        run = self.simulate(updates=20_000)
        shown = self.show(run)
        Events(self.url).until(lambda frame: frame["ended"], "the end of the record")
        place = urllib.parse.urlsplit(self.url)
        ask = f"GET /trace.json HTTP/1.1\r\nHost: localhost:{place.port}\r\n\r\n".encode()
        deaf = []
        for _ in range(2):
            one = socket.socket()
            self.addCleanup(one.close)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            one.connect((place.hostname, place.port))
            one.sendall(ask)
            self.assertTrue(one.recv(1))  # It is on its way.
            deaf.append(one)
        status, _, why = get(self.url, "/trace.json")
        self.assertEqual((status, why), (503, "others are taking traces; try again when they have them\n"))
        self.assertEqual(get(self.url, "/healthz")[0], 200)
        for one in deaf:
            one.close()
        self.assertEqual(wait_until(lambda: get(self.url, "/trace.json")[0] == 200, "a trace"), True)
        self.assertLess(len(get(self.url, "/trace.json")[2]), 40_000_000)
        shown.send(signal.SIGINT)
        self.assertEqual(shown.wait(), 0)

    def connected(self, here, there):
        """The server at this port has the connection to the other open."""
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        return any(line[3] == "01" and line[1].endswith(f":{here:04X}") and
                   line[2].endswith(f":{there:04X}") for line in lines)


class Alarm(DashboardTest):
    def test_is_told_to_a_command_and_to_the_log(self):
        told = self.folder / "told"
        job = self.job(workers=3, policy="async", options=(
            "--on-alarm", f'echo "$OUTPACE_ALARM_KIND $OUTPACE_ALARM_WORKER $OUTPACE_ALARM_OVER '
                          f'$OUTPACE_ALARM" >> {told}; test $OUTPACE_ALARM_OVER = 0',))
        job.until_gradients(1, 5)
        job.workers[1].send(signal.SIGKILL)
        job.server.until_said("alarm: worker 1 is dead")
        job.start_worker(1, FAST)
        job.server.until_said("alarm over: worker 1 is back")
        job.server.until_said("--on-alarm: the command failed (1)")
        self.assertEqual(told.read_text().splitlines(),
                         ["dead 1 0 worker 1 is dead", "dead 1 1 worker 1 is back"])
        self.assertEqual(self.metrics()['outpace_alarms_total{kind="dead"}'], 1)
        self.assertIn("alarm: worker 1 is dead", (job.run / "server.log").read_text())
        self.end(job)

    def test_a_command_that_hangs_holds_neither_the_end_nor_the_port(self):
        job = self.job(workers=3, policy="async", options=("--on-alarm", "echo begun; sleep 300"))
        events = Events(self.url)
        job.until_gradients(1, 5)
        job.workers[1].send(signal.SIGKILL)
        job.server.until_said("begun")
        port = urllib.parse.urlsplit(self.url).port
        self.assertGreaterEqual(len(self.kept_from_children(job.server.id, port)), 2)
        self.assertNotIn(False, self.kept_from_children(job.server.id, port))
        job.server.send(signal.SIGTERM)
        asked = time.monotonic()
        events.until(lambda frame: frame["ended"], "the end")
        job.server.wait()
        self.assertLess(time.monotonic() - asked, 20)  # A command otherwise has 30.
        self.assertIn("--on-alarm: the command took too long", job.server.err)
        self.assertNotIn("begun", job.server.out)

    def kept_from_children(self, process, port):
        """Of each socket of this port: whether a command that the process starts does without."""
        lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        sockets = {f"socket:[{line[9]}]" for line in lines
                   if int(line[1].partition(":")[2], 16) == port}
        kept = []
        for descriptor in pathlib.Path(f"/proc/{process}/fd").iterdir():
            if os.readlink(descriptor) in sockets:
                info = pathlib.Path(f"/proc/{process}/fdinfo/{descriptor.name}").read_text()
                kept.append(bool(int(info.split()[3], 8) & os.O_CLOEXEC))
        return kept


if __name__ == "__main__":
    main()
