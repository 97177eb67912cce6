"""A real Prometheus scrapes a run: every query of the Grafana board gives data.

`make test-dashboard` runs it, and installs Debian's prometheus. SCRAPES says how many times, once a
second, the run is scraped before the queries are asked of all that time: 10, or 60 for a minute.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
from jobs import DEADLINE, LedgerJob, ProgramTest, main, wait_until  # noqa: E402
from page_reader import get, url_of  # noqa: E402

SCRAPES = int(os.environ.get("SCRAPES") or 10)
BOARD = pathlib.Path(__file__).parents[2] / "examples" / "grafana" / "outpace.json"


def queries():
    """(title, PromQL) of every target, with the board's variables filled in."""
    for panel in json.loads(BOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield panel["title"], (target["expr"].replace("$__rate_interval", "15s")
                                   .replace("$instance", ".*"))


class Scrape(ProgramTest):
    def test_every_query_of_the_board_gives_data(self):
        job = LedgerJob(self, "dynamic", workers=8, epochs=1_000_000, batch_seconds=0.02,
                        options=("--dashboard", "--checkpoint-every", "2s"))
        job.server.until_said("the page is at ")
        url = url_of(job.server.err.partition("the page is at ")[2])
        target = urllib.parse.urlsplit(url).netloc
        config = self.path("prometheus.yml", json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "outpace", "static_configs": [{"targets": [target]}]}]}))
        prometheus = self.start(
            f"--config.file={config}", f"--storage.tsdb.path={self.folder / 'tsdb'}",
            "--web.listen-address=127.0.0.1:0", "--log.level=info", program="prometheus")
        # It says where it listens; the port is a free one.
        prometheus.until_said("Listening on")
        line = next(one for one in prometheus.err.splitlines() if "Listening on" in one)
        address = line.rpartition("address=")[2].split()[0].strip('"')

        def ask(query, how="query", **more):
            words = urllib.parse.urlencode({"query": query, **more})
            status, _, body = get(f"http://{address}/", f"/api/v1/{how}?{words}")
            self.assertEqual(status, 200, (query, body))
            return json.loads(body)["data"]["result"]

        def number(query):
            found = ask(query)
            return float(found[0]["value"][1]) if found else 0.0

        job.until_gradients(0, 20)
        window = f"[{2 * SCRAPES + 60}s]"
        wait_until(lambda: number(f'count_over_time(up{{job="outpace"}}{window})') >= SCRAPES,
                   f"{SCRAPES} scrapes", SCRAPES + DEADLINE)
        # A scrape in vain would be a 0.
        self.assertEqual(number(f'min_over_time(up{{job="outpace"}}{window})'), 1)
        print(f"scraped {number(f'count_over_time(up{window})'):.0f} times, a second apart; the "
              f"longest took {1e3 * number(f'max_over_time(scrape_duration_seconds{window})'):.1f} ms",
              file=sys.stderr)
        end = number("vector(time())")
        asked = list(queries())
        self.assertGreater(len(asked), 20)
        for title, query in asked:
            # Whether it gives data now, and how often it did since.
            wait_until(lambda query=query: [one for one in ask(query) if one["value"][1] != "NaN"],
                       f"{title}: {query}")
            series = ask(query, "query_range", start=end - SCRAPES, end=end, step=1)
            values = sum(value != "NaN" for one in series for _, value in one["values"])
            print(f"{values:6} values in {len(series):3} series  {title}: {query}", file=sys.stderr)
            self.assertGreater(values, 0, query)

        text = get(url, "/metrics")[2]
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        print(f"promtool check metrics: nothing to say of {len(text.splitlines())} lines; "
              f"{len(asked)} queries", file=sys.stderr)
        prometheus.send(signal.SIGTERM)
        prometheus.wait()
        job.server.send(signal.SIGTERM)
        job.server.wait()


if __name__ == "__main__":
    main()
