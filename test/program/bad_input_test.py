"""Bad input gives one line on standard error that says what and where, the right exit code, and soon.

Job: what `outpace server` refuses, in builds with and without libtorch. Work: what `outpace train`
and `outpace worker` refuse. Record: what `outpace whatif` refuses. Connection: what the server and
its clients refuse from each other.
"""

import concurrent.futures
import os
import pathlib
import re
import signal
import socket
import sys
import time

sys.dont_write_bytecode = True
from jobs import LEDGER_WORKER, LedgerJob, ProgramTest, main  # noqa: E402

SOON = 40.0  # Seconds, on a machine with much else to do; the program itself needs one or two.
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")
EXIT_FAILURE, EXIT_USAGE, EXIT_TOKEN, EXIT_INCOMPATIBLE, EXIT_UNREADABLE = 1, 2, 3, 4, 6


class Case:
    def __init__(self, words, *says, code=EXIT_USAGE, variables=None):
        self.words = words.split() if isinstance(words, str) else words
        self.says = says
        self.code = code
        self.variables = variables


class BadInput(ProgramTest):
    def assert_one_line(self, process, says):
        # On a slow machine a run first says what it waits for.
        lines = [line for line in process.err.splitlines()
                 if not line.startswith(("outpace: run directory ",
                                         "outpace: the run has not begun: "))]
        self.assertEqual(len(lines), 1, process.err)
        for part in says:
            self.assertIn(part, lines[0])
        self.assertNotIn("\x00", lines[0])
        self.assertLess(len(lines[0]), 600)

    def run_case(self, case, command):
        begun = time.monotonic()
        process = self.start(*command, *case.words, variables=case.variables)
        return case, process, process.wait(SOON), time.monotonic() - begun

    def check_all(self, cases, *command):
        # Two at a time: most of it is the program's start.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ended = list(pool.map(lambda case: self.run_case(case, command), cases))
        for case, process, code, took in ended:
            with self.subTest(" ".join(process.words[1:]), variables=case.variables):
                self.assertEqual(code, case.code, process.err)
                self.assert_one_line(process, case.says)
                self.assertEqual(process.out, "")
                self.assertLess(took, SOON)
        self.assert_nothing_left()
        self.assertEqual(list(self.scratch.iterdir()), [])

    def endless_job(self):
        job = LedgerJob(self, "async", workers=2, epochs=10_000)
        job.until_gradients(1, 3)
        return job

    def interrupt(self, job):
        """The job goes on after the bad input, and ends in order at SIGINT."""
        job.until_gradients(0, job.gradients(0) + 5)
        job.until_gradients(1, job.gradients(1) + 5)
        job.server.send(signal.SIGINT)
        self.assertEqual(job.server.wait(SOON), 130)
        for worker in job.workers:
            worker.wait(SOON)
        self.assert_nothing_left()


class Job(BadInput):
    def check_server(self, cases):
        self.check_all(cases, "server", "--token-file", self.folder / "token")

    def test_choices_name_the_nearest(self):
        self.check_server([
            Case("--policy asinc", "unknown policy 'asinc'", "did you mean 'async'?"),
            Case("--policy zzzzzz", "unknown policy 'zzzzzz'", "known: ", "sync"),
            Case("--policy ssp:s=2,x=1", "'ssp:s=2,x=1'", "unknown option 'x'", "known: s"),
            Case("--policy backup:cutof=3", "'backup:cutof=3'", "unknown option 'cutof'",
                 "did you mean 'cutoff'?"),
            Case("--policy saps:s=8,acton=refresh", "unknown option 'acton'",
                 "did you mean 'action'?"),
            Case("--policy saps:s=8,action=stop", "action is 'stop'", "refresh|"),
            Case("--policy backup", "cutoff is missing"),
            Case(["--policy", "switch(async until loss<x then sync)"], "'loss<x'",
                 "loss, test-loss, test-accuracy, updates or seconds"),
            Case(["--policy", "switch(async until loss<1 then sink)"], "unknown policy 'sink'",
                 "did you mean 'sync'?"),
            Case(["--policy", "switch(async sync)"], "'until' is missing after 'async'"),
            Case(["--policy", "switch(async until loss<1)"], "'then' is missing"),
            Case(["--policy", "switch(async until loss<1 then switch(sync until loss<0.5 then async))"],
                 "a switch within a switch", "write one chain"),
            Case(["--policy", "switch(async until loss<1 then ssp:s=x)"], "s is 'x'"),
            Case(["--policy", "switch(async until loss<1 then sync"], "write name(value)"),
            Case("--optimizer sdg", "unknown optimizer 'sdg'", "did you mean 'sgd'?"),
            Case("--optimizer momentum:nu=0.9", "unknown option 'nu'", "did you mean 'mu'?"),
            Case("--staleness invers", "unknown staleness rule 'invers'",
                 "did you mean 'inverse'?"),
            Case("--staleness dcasgd:lamda=1", "unknown option 'lamda'", "did you mean 'lambda'?"),
            Case("--staleness dcasgd:form=adaptve", "form is 'adaptve'", "constant|adaptive"),
            Case("--optimizer yellowfin:gama=0.01", "unknown option 'gama'",
                 "did you mean 'gamma'?"),
            Case("--staleness gap --optimizer adam", "--staleness gap beside --optimizer adam",
                 "momentum"),
            Case("--schedule cosin:over=5", "unknown schedule 'cosin'", "did you mean 'cosine'?"),
            Case("--lr-scale linar", "--lr-scale is 'linar'",
                 "it takes none, sqrt or linear; did you mean 'linear'?"),
        ])

    def test_numbers_out_of_range(self):
        self.check_server([
            Case("--policy backup:cutoff=9 --workers 8", "cutoff is '9'", "from 1 to 8"),
            Case("--policy backup:cutoff=0", "cutoff is '0'"),
            Case("--workers 0", "--workers is '0'", "a whole number of at least 1"),
            Case("--workers -3", "--workers", "-3"),
            Case("--weight-decay 1e308", "--weight-decay is '1e308'"),
            Case("--dashboard 127.0.0.1:99999", "127.0.0.1:99999"),
            Case("--workers many", "--workers", "many"),
            Case("--min-workers 9 --workers 8", "--min-workers is 9", "8"),
            Case("--batch 0", "--batch is '0'", "from 1 to 1048576"),
            Case("--batch 4294967295", "--batch is '4294967295'", "from 1 to 1048576"),
            Case("--batch 99999999999", "--batch", "99999999999"),
            Case("--balance --balance-most 0.5", "--balance-most is '0.5'", "from 1 to 16"),
            Case("--balance --balance-most 17", "--balance-most is '17'", "from 1 to 16"),
            Case("--balance --balance-most nan", "--balance-most is 'nan'", "from 1 to 16"),
            Case("--balance --balance-most much", "--balance-most", "much"),
            Case("--balance-most 2", "--balance-most without --balance"),
            Case("--balance=maybe", "--balance", "maybe"),
            Case("--policy ssp:s=2 --balance --lr-scale linear",
                 "--lr-scale linear conflicts with --balance",
                 "--balance", "remove --lr-scale"),
            Case("--lr nan", "--lr", "from 0"),
            Case("--lr -1", "--lr"),
            Case("--seconds 5x", "--seconds", "'5x'", "duration"),
            Case("--target-accuracy 84", "--target-accuracy is '84'", "such as 0.84"),
            Case("--past-target", "--past-target without --target-accuracy"),
        ])

    def test_unknown_words(self):
        self.check_server([
            Case("--polcy sync", "server", "'--polcy'", "did you mean '--policy'?"),
            Case("--policy", "--policy"),
            Case("sync", "sync"),
        ])
        self.check_all([
            Case("serve", "unknown command 'serve'", "did you mean 'server'?"),
            Case("", "a command is missing"),
            Case("server", "--token-file"),
        ])

    def test_configuration_files(self):
        good = 'workers = 2\npolicy = "sync"\n'
        self.path("key.toml", good + 'polcy = "sync"\n')
        self.path("syntax.toml", good + "batch = = 3\n")
        self.path("table.toml", good + "[optimizer]\nname = 3\n")
        self.path("value.toml", good + 'batch = "many"\n')
        self.path("deep.toml", good + "a." * 31_163 + "a = 1\n")
        self.path("deep-table.toml", good + "[" + "a." * 31_163 + "a]\n")
        os.mkfifo(self.folder / "nobody-writes")
        self.check_server([
            Case("--config key.toml", "key.toml:3: ", "unknown key 'polcy'",
                 "did you mean 'policy'?"),
            Case("--config syntax.toml", "syntax.toml:3: "),
            Case("--config table.toml", "table.toml:3: "),
            Case("--config value.toml", "batch", "many"),
            Case("--config nowhere.toml", "nowhere.toml"),
            Case("--config deep.toml", "deep.toml: nests deeper"),
            Case("--config deep-table.toml", "deep-table.toml: nests deeper"),
            Case("--config nobody-writes", "nobody-writes", "nobody has written"),
            Case("--config /dev/zero", "/dev/zero", "has no end"),
            Case("", "nowhere.toml", variables={"OUTPACE_CONFIG": "nowhere.toml"}),
        ])

    def test_environment(self):
        self.check_server([
            Case("", "environment", "'OUTPACE_POLCY'", "did you mean 'OUTPACE_POLICY'?",
                 variables={"OUTPACE_POLCY": "sync"}),
            Case("", "batch", "many", variables={"OUTPACE_BATCH": "many"}),
        ])

    def test_weights_that_cannot_be_read(self):
        header = b'{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'
        whole = len(header).to_bytes(8, "little") + header + bytes(16)
        self.path("short.safetensors", whole[:-3])
        self.path("half.safetensors", whole[:20])
        self.path("huge.safetensors", b"\xff" * 64)
        self.path("empty.safetensors", b"")
        self.path("other.safetensors", whole.replace(b'"F32"', b'"I32"'))
        self.check_server([
            Case(f"--weights {name}", name, code=EXIT_UNREADABLE)
            for name in ("nowhere.safetensors", ".", "short.safetensors", "half.safetensors",
                         "huge.safetensors", "empty.safetensors", "other.safetensors")])

    def test_where_to_listen(self):
        taken = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(taken.close)
        port = taken.getsockname()[1]
        path = self.folder / "taken"
        local = socket.socket(socket.AF_UNIX)
        self.addCleanup(local.close)
        local.bind(str(path))
        local.listen()
        self.path("file", "not a socket")
        self.check_server([
            Case(f"--listen 127.0.0.1:{port}", f"127.0.0.1:{port}", "in use"),
            Case(f"--listen 127.0.0.1:{port} --out run", f"127.0.0.1:{port}", "in use"),
            Case(f"--listen unix:{path}", str(path), "listens there already"),
            Case(f"--listen unix:{path} --out run", str(path), "listens there already"),
            Case(f"--listen unix:{self.folder}/file", f"{self.folder}/file", "socket"),
            Case("--listen unix:/nonexistent/s", "/nonexistent/"),
            Case("--listen 127.0.0.1:99999", "127.0.0.1:99999", "from 0 to 65535"),
            Case("--listen unix:/" + "x" * 200, "bytes"),
            Case("--listen 0.0.0.0:0", "0.0.0.0:0", "--insecure-no-tls"),
            Case("--listen [::]:0", "[::]:0", "--insecure-no-tls"),
            Case("--listen 127.0.0.1", "127.0.0.1", "HOST:PORT"),
        ])
        self.assertTrue(path.exists(), "the socket of another program was removed")
        for name in ("run", "runs"):  # Nothing in the way of the next try.
            self.assertFalse((self.folder / name).exists(), name)

    def test_run_directory(self):
        (self.folder / "full").mkdir()
        self.path("full/something", "old")
        self.path("file", "")
        self.check_server([
            Case("--out full", "full", "not empty"),
            Case("--out file", "file"),
            Case("--out /proc/nowhere/run", "/proc/nowhere/run", code=EXIT_FAILURE),
        ])
        self.assertEqual(sorted(p.name for p in (self.folder / "full").iterdir()), ["something"])

    def test_token_file(self):
        self.path("open", "secret\n", mode=0o644)
        self.path("group", "secret\n", mode=0o640)
        self.path("empty", "")
        os.mkfifo(self.folder / "fifo", mode=0o600)
        self.check_all([
            Case("server --token-file fifo", "fifo", "no regular file"),
            Case("server --token-file open", "open", "chmod 600"),
            Case("server --token-file group", "group", "chmod 600"),
            Case("server --token-file empty", "empty", "is empty"),
            Case("server --token-file /nonexistent/token", "/nonexistent/token",
                 code=EXIT_FAILURE),
            Case("ctl --server unix:s --token-file nowhere status", "nowhere: no such token file"),
            Case("ctl --server unix:s --token-file open/token status",
                 "open/token: cannot read the token: Not a directory"),
        ])


class Record(BadInput):
    """What `outpace whatif` refuses in a run's record and on its command line."""

    def setUp(self):
        super().setUp()
        process = self.start("simulate", "--workers", 4, "--policy", "sync", "--updates", 30,
                             "--runtime", "3*constant(100ms),1*constant(400ms)", "--out", "run")
        self.assertEqual(process.wait(), 0, process.err)
        self.log = (self.folder / "run" / "decisions.jsonl").read_text()

    def record(self, name, log, summary=None):
        (self.folder / name).mkdir()
        self.path(f"{name}/decisions.jsonl", log)
        if summary is not None:
            self.path(f"{name}/summary.json", summary)

    def test_whatif_of_what_there_is_not(self):
        self.check_all([
            Case("run --without 4", "--without 4", "the run had 4 workers, 0 to 3"),
            Case("run --without -1", "--without", "-1"),
            Case("run --without seven", "--without", "seven"),
            Case("run --policy asink", "unknown policy 'asink'", "did you mean 'async'?"),
            Case("run --policy backup:cutoff=5", "cutoff is '5'", "from 1 to 4"),
            Case(["run", "--policy", "switch(async until loss<1 then sync)"], "needs a loss"),
            Case("run --workers 0", "--workers takes 1 to 10000"),
            Case("run --workers 10001", "--workers takes 1 to 10000"),
            Case("run --workers 99999999999", "--workers", "99999999999"),
            Case("run --seed x", "--seed", "x"),
            Case("run --plot /nonexistent/plot.svg", "--plot: cannot write", code=EXIT_FAILURE),
            Case("", "run"),
        ], "whatif")

    def test_a_record_that_somebody_brought_neither_hangs_nor_controls_the_terminal(self):
        (self.folder / "pipe").mkdir()
        os.mkfifo(self.folder / "pipe" / "decisions.jsonl")
        self.record("escape", self.log.replace('"sync"', r'"s\u001b[2Jync"', 1))
        for command in ("whatif", "replay"):
            self.check_all([
                Case("pipe", "pipe/decisions.jsonl: is no regular file"),
                Case("escape", "unknown policy 's?[2Jync'"),
            ], command)

    def test_whatif_of_records(self):
        lines = self.log.splitlines(keepends=True)
        header, arrival = lines[0], next(line for line in lines if "gradient_arrived" in line)
        self.path("file", "")
        (self.folder / "empty").mkdir()
        self.record("headless", "")
        self.record("begun", "".join(lines[:5]))
        self.record("garbage", header + "\x00\x01\n")
        self.record("huge", header.replace('"workers":4', '"workers":4000000000'))
        self.record("nobody", header.replace('"workers":4', '"workers":0'))
        self.record("stranger", header + arrival.replace('"worker":', '"worker":9'))
        self.record("timeless", header + re.sub('"runtime":[0-9]+', '"runtime":0', arrival))
        self.record("early", header + re.sub('"runtime":[0-9]+', '"runtime":900000000000', arrival))
        self.record("backwards", "".join(lines) + arrival)
        self.record("summed", self.log, "[]")
        self.record("summary", self.log, '{"processors"')
        self.check_all([
            Case("whatif absent", "absent", "director"),
            Case("whatif file", "file", "director"),
            Case("whatif empty", "neither decisions.jsonl nor config.toml"),
            Case("whatif headless", "headless/decisions.jsonl:1"),
            Case("whatif begun", "begun/decisions.jsonl", "nothing was committed"),
            Case("whatif garbage", "garbage/decisions.jsonl:2", "not JSON"),
            Case("whatif huge", "huge/decisions.jsonl:1", "from 1 to 1000000"),
            Case("whatif nobody", "nobody/decisions.jsonl:1", "from 1 to 1000000"),
            Case("whatif stranger", "stranger/decisions.jsonl:2", "of a run with 4"),
            Case("whatif timeless", "timeless/decisions.jsonl:2", "a runtime is above 0"),
            Case("whatif early", "early/decisions.jsonl:2", "at most the time since"),
            Case("whatif backwards", f"backwards/decisions.jsonl:{len(lines) + 1}", "before"),
            Case("replay huge", "huge/decisions.jsonl:1", "from 1 to 1000000"),
            Case("replay timeless", "timeless/decisions.jsonl:2", "a runtime is above 0"),
            Case("replay backwards", f"backwards/decisions.jsonl:{len(lines) + 1}", "before"),
            Case("whatif summed", "summed/summary.json", "it takes a JSON object"),
            Case("whatif summary", "summary/summary.json", "it takes a JSON object"),
        ])


class Work(BadInput):
    TRAIN = ("train", "--workers", 2, "--out")

    def check_train(self, cases):
        for number, case in enumerate(cases):
            case.words = [f"run-{number}", *case.words]
        self.check_all(cases, *self.TRAIN)
        for number, _ in enumerate(cases):  # Nothing in the way of the next try.
            self.assertFalse((self.folder / f"run-{number}").exists(), cases[number].words)

    def delays(self, name, text):
        self.path(name, text)
        return f"--delays {name}"

    def test_choices_name_the_nearest(self):
        self.check_train([
            Case("--network mpl", "unknown network 'mpl'", "did you mean 'mlp'?"),
            Case("--network mlp:hiden=3", "'mlp:hiden=3'", "hiden"),
            Case("--data fashion-mnst", "unknown data set 'fashion-mnst'",
                 "did you mean 'fashion-mnist'?"),
            Case("--data fashion-mnist:dri=/x", "unknown option 'dri'", "did you mean 'dir'?"),
            Case("--netwrk mlp", "train", "'--netwrk'", "did you mean '--network'?"),
            Case("--policy asinc", "unknown policy 'asinc'", "did you mean 'async'?"),
            Case("--workers 3", "--workers is given twice"),
            Case("--threads 0", "--threads"),
            Case("--slow worker=2,factor=3", "worker", "'2'", "from 0 to 1"),
            Case("--slow 3", "'3'"),
            Case("--delays-by row", "--delays-by is 'row'", "time or iteration"),
            Case("--topology mesh", "--topology is 'mesh'", "ps, ring or gossip"),
            Case("--topology ring --weights no.safetensors", "no.safetensors",
                 code=EXIT_UNREADABLE),
            Case("--topology ring --network mpl", "unknown network 'mpl'"),
        ])

    def test_delay_files(self):
        self.check_train([
            Case(self.delays("columns.csv", "1,2\n# a remark\n1,2,3\n"), "columns.csv:3: ",
                 "3 columns", "2 were expected"),
            Case(self.delays("letter.csv", "1,2\n0.1,O.2\n"), "letter.csv:2: ", "column 2",
                 "'O.2'"),
            Case(self.delays("nan.csv", "nan,1\n"), "nan.csv:1: ", "column 1", "'nan'"),
            Case(self.delays("negative.csv", "1,-1\n"), "negative.csv:1: ", "column 2", "'-1'"),
            Case(self.delays("empty.csv", ""), "empty.csv", "empty"),
            Case(self.delays("remarks.csv", "# nothing\n\n"), "remarks.csv", "no delays"),
            Case(self.delays("binary.csv", b"\x00\xff\x1b[31m,\x07\n"), "binary.csv:1: "),
            Case("--delays nowhere.csv", "nowhere.csv"),
            Case("--delays .", "--delays ."),
        ])

    def test_data_sets(self):
        def copy_with(name, damaged, cut):
            folder = self.folder / name
            folder.mkdir()
            for file in FASHION_MNIST.iterdir():
                if file.name == damaged:
                    (folder / file.name).write_bytes(cut(file.read_bytes()))
                else:
                    (folder / file.name).symlink_to(file)
            return f"--data fashion-mnist:dir={folder}"

        images, labels = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
        test_images = "t10k-images-idx3-ubyte.gz"
        self.check_train([
            Case("--data fashion-mnist:dir=/nonexistent", "/nonexistent/", "no such file"),
            Case(copy_with("images", images, lambda data: data[:100_000]), f"images/{images}"),
            Case(copy_with("labels", labels, lambda data: data[:1000]), f"labels/{labels}"),
            Case(copy_with("test", test_images, lambda data: data[:1000]), f"test/{test_images}"),
            Case(copy_with("zero", labels, lambda _: b""), f"zero/{labels}"),
            Case(copy_with("noise", labels, lambda _: b"no gzip " * 10), f"noise/{labels}"),
        ])

    def test_own_data(self):
        self.path("letters.csv", "x,y,class\n" + "1,2,0\n" * 9 + "1,two,1\n")
        self.path("ragged.csv", "1,2,0\n" * 9 + "1,1\n")
        self.path("nan.csv", "1,2,0\n" * 9 + "1,nan,1\n")
        self.path("one.csv", "1,2,1\n" * 10)
        self.path("few.csv", "1,2,0\n1,2,1\n")
        self.path("empty.csv", "")
        self.path("good.csv", "1,2,0\n3,4,1\n" * 10)
        self.path("short.txt", "to be or not to be")
        self.path("good.txt", "to be or not to be" * 100)
        (self.folder / "nothing").mkdir()
        self.check_train([
            Case("--data csv:letters.csv", "letters.csv:11: ", "column 2", "'two'"),
            Case("--data csv:ragged.csv", "ragged.csv:10: ", "2 columns", "3"),
            Case("--data csv:nan.csv", "nan.csv:10: ", "column 2", "'nan'"),
            Case("--data csv:one.csv", "one.csv:1: ", "no row has label 0"),
            Case("--data csv:few.csv", "few.csv: ", "2 rows", "at least 10"),
            Case("--data csv:empty.csv", "empty.csv: ", "is empty"),
            Case("--data csv:nowhere.csv", "nowhere.csv: ", "no such file"),
            Case("--data csv:.", "no regular file"),
            Case("--data csv", "'csv'", "file is missing"),
            Case("--data csv:good.csv,test-every=1", "test-every is '1'", "from 2"),
            Case("--data csv:good.csv --network cnn", "'cnn' needs images", "2 features", "mlp"),
            Case("--data csv:good.csv --network charlm", "'charlm' needs text"),
            Case("--data text:short.txt --network charlm", "short.txt: ", "18 characters"),
            Case("--data text:good.txt", "'mlp' needs images or features", "charlm"),
            Case("--data text:good.txt --network charlm:width=6", "width of 6", "4 heads"),
            Case("--data idx:nothing", "nothing/train-labels-idx1-ubyte.gz: no such file", "t10k"),
        ])
        self.check_all([
            Case("simulate --workers 2 --learn cnn --data csv:good.csv", "'cnn' needs images"),
            Case("simulate --workers 2 --learn mlp --data csv:nan.csv", "nan.csv:10: "),
        ])

    def test_workers_and_evaluators(self):
        self.path("token", "secret\n")
        server = f"--server unix:{self.folder}/nobody --connect-deadline 500ms"
        self.check_all([
            Case("worker --worker 0 --server 127.0.0.1:1", "--token-file"),
            Case(f"worker --worker 0 {server} --token-file nowhere", "nowhere", "no such token"),
            Case(f"worker --worker 0 {server} --token-file token", "nobody", code=EXIT_FAILURE),
            Case("worker --worker 0 --server 127.0.0.1:99999 --token-file token",
                 "127.0.0.1:99999: the port is a number from 0 to 65535"),
            Case("evaluator --server 127.0.0.1:port --token-file token",
                 "127.0.0.1:port: the port is a number from 0 to 65535"),
            Case(f"evaluator {server} --token-file token", "nobody", code=EXIT_FAILURE),
            Case(f"worker --worker 0 {server} --token-file token --data csv:no.csv", "no.csv"),
            Case(f"evaluator {server} --token-file token --data text:no.txt", "no.txt"),
            Case(f"worker --worker 99999 {server} --token-file token", "--worker is 99999"),
        ])

    def test_wrong_token(self):
        job = self.endless_job()
        self.path("other", "another-secret\n")
        for role in ("worker --worker 1", "evaluator"):
            process = self.start(*role.split(), "--server", f"unix:{self.folder}/s",
                                 "--token-file", "other")
            self.assertEqual(process.wait(SOON), EXIT_TOKEN)
            self.assert_one_line(process, ("token", f"{self.folder}/s"))
        self.interrupt(job)


class Connection(BadInput):
    def join(self, job, *options):
        return self.start("--server", f"unix:{self.folder}/s", "--worker", 2, *options,
                          program=LEDGER_WORKER)

    def test_wrong_token(self):
        job = self.endless_job()
        for token in ("another-secret", "x", "x" * 5000):
            self.path("other", token + "\n")
            worker = self.join(job, "--token-file", "other")
            self.assertEqual(worker.wait(SOON), EXIT_TOKEN, worker.err)
            self.assert_one_line(worker, ("token", f"{self.folder}/s"))
        self.interrupt(job)

    def test_another_network(self):
        job = self.endless_job()
        worker = self.join(job, "--token-file", job.token, "--examples", 77)
        self.assertEqual(worker.wait(SOON), EXIT_INCOMPATIBLE, worker.err)
        self.assert_one_line(worker, ("another network", "77", "1024"))
        self.interrupt(job)

    def test_noise_at_the_port(self):
        job = self.endless_job()
        for noise in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(100_000), b"PRI * HTTP/2.0\r\n"):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(f"{self.folder}/s")
                try:
                    stranger.sendall(noise)
                except OSError:
                    pass  # It was shown the door already.
        self.interrupt(job)

    def test_nobody_comes(self):
        begun = time.monotonic()
        server = self.start("server", "--token-file", "token", "--patience", "500ms",
                            "--out", "run")
        self.assertEqual(server.wait(SOON), 5)
        self.assertLess(time.monotonic() - begun, SOON)
        self.assertEqual(len(server.err.splitlines()), 2, server.err)  # Where, and the end.
        self.assertIn("too few workers", server.err.splitlines()[-1])
        self.assert_nothing_left()


if __name__ == "__main__":
    main()
