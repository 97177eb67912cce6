"""A real Prometheus scrapes a run: every query of the Grafana board gives data.

`make test-dashboard` runs it, and installs Debian's prometheus.
"""

import json
import pathlib
import signal
import subprocess
import sys
import urllib.parse

sys.dont_write_bytecode = True
from jobs import LedgerJob, ProgramTest, main, wait_until  # noqa: E402
from page_reader import get, url_of  # noqa: E402

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

        def ask(query):
            status, _, body = get(f"http://{address}/",
                                  "/api/v1/query?" + urllib.parse.urlencode({"query": query}))
            self.assertEqual(status, 200, (query, body))
            return [one for one in json.loads(body)["data"]["result"]
                    if one["value"][1] not in ("NaN",)]

        job.until_gradients(0, 20)
        # Of the training loss, which no ledger's worker is without.
        for title, query in queries():
            wait_until(lambda query=query: ask(query), f"{title}: {query}")
        self.assertGreater(len(list(queries())), 20)
        up = ask('up{job="outpace"}')
        self.assertEqual([one["value"][1] for one in up], ["1"])

        text = get(url, "/metrics")[2]
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                 capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        prometheus.send(signal.SIGTERM)
        prometheus.wait()
        job.server.send(signal.SIGTERM)
        job.server.wait()


if __name__ == "__main__":
    main()
