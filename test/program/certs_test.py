"""Files: what `outpace certs` writes and prints, and that it overwrites nothing. Tls: Python's TLS takes
the certificates. Options: what is refused of --tls-cert, --tls-key, --tls-ca and --insecure-no-tls.
"""

import os
import pathlib
import ssl
import sys

sys.dont_write_bytecode = True
from jobs import OUTPACE, ProgramTest, main  # noqa: E402

ALL = ["ca.pem", "server.key", "server.pem", "worker.key", "worker.pem"]
BEYOND = "10.255.255.1:4000"  # An address that is not this machine's.


class Certs(ProgramTest):
    def certs(self, *words):
        process = self.start("certs", *words)
        self.assertEqual(process.wait(), 0, process.err)
        self.assertEqual(process.err, "")
        return process.out

    def assert_refused(self, words, *said, code=2, variables=None):
        process = self.start(*words, variables=variables)
        self.assertEqual(process.wait(), code, process.err)
        lines = process.err.splitlines()
        self.assertEqual(len(lines), 1, process.err)
        for one in said:
            self.assertIn(one, lines[0])

    def files_in(self, folder):
        return sorted(path.name for path in (self.folder / folder).iterdir())


class Files(Certs):
    def test_have_the_modes_that_keep_keys_secret(self):
        self.certs("job")
        self.assertEqual(self.files_in("job"), ALL)
        folder = self.folder / "job"
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        for name in ALL:
            mode = (folder / name).stat().st_mode & 0o777
            self.assertEqual(mode & 0o022, 0, name)
            if name.endswith(".key"):
                self.assertEqual(mode, 0o600, name)
        for name in ("ca.pem", "server.pem", "worker.pem"):
            self.assertNotIn("PRIVATE", (folder / name).read_text())

    def test_go_into_a_folder_that_is_there(self):
        (self.folder / "job").mkdir()
        self.path("job/token", "secret\n")
        self.certs("job")
        self.assertEqual(self.files_in("job"), sorted([*ALL, "token"]))

    def test_are_explained_with_the_commands_that_use_them(self):
        lines = self.certs("job", "--days", 7).splitlines()
        self.assertIn("job/ca.pem", lines[0])
        self.assertIn("job/server.pem, job/server.key", lines[1])
        self.assertIn("job/worker.pem, job/worker.key", lines[2])
        self.assertRegex(lines[3], r"^Valid until \d{4}-\d\d-\d\d \d\d:\d\d UTC\.")
        commands = [line.strip() for line in lines if line.startswith("  ")]
        self.assertEqual(commands, [
            "outpace server --listen HOST:PORT --token-file job/token --workers N",
            "outpace worker --server HOST:PORT --token-file job/token --worker RANK"])
        self.assertLess(len(lines), 12)

    def test_are_not_overwritten(self):
        self.certs("job")
        before = {name: (self.folder / "job" / name).read_bytes() for name in ALL}
        self.assert_refused(("certs", "job"), "job/ca.pem: exists already")
        (self.folder / "job/ca.pem").unlink()
        self.assert_refused(("certs", "job"), "job/server.pem: exists already")
        self.assertEqual(self.files_in("job"), ALL[1:], "half a set was left behind")
        for name in ALL[1:]:
            self.assertEqual((self.folder / "job" / name).read_bytes(), before[name])

    def test_need_a_folder_and_a_number_of_days(self):
        self.path("file", "")
        self.assert_refused(("certs",), "folder is missing")
        self.assert_refused(("certs", "no/job"), "no/job: cannot make this folder", code=1)
        self.assert_refused(("certs", "file"), "file/ca.pem: cannot write this file", code=1)
        for days in ("0", "-1", "3651", "x"):
            self.assert_refused(("certs", "job", f"--days={days}"), "--days is", "from 1 to 3650")
        self.assertFalse((self.folder / "job").exists())


class Tls(Certs):
    def context(self, folder, protocol, side):
        context = ssl.SSLContext(protocol)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.load_verify_locations(self.folder / folder / "ca.pem")
        context.load_cert_chain(self.folder / folder / f"{side}.pem",
                                self.folder / folder / f"{side}.key")
        return context

    def shake_hands(self, server, client):
        """Without a socket. Throws ssl.SSLError if a side refuses the other."""
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = [client.wrap_bio(to_client, to_server),
                server.wrap_bio(to_server, to_client, server_side=True)]
        left = list(ends)
        for _ in range(10):
            for end in list(left):
                try:
                    end.do_handshake()
                    left.remove(end)
                except ssl.SSLWantReadError:
                    pass
        self.assertEqual(left, [])
        ends[0].write(b"hello")
        self.assertEqual(ends[1].read(5), b"hello")

    def setUp(self):
        super().setUp()
        self.certs("job")

    def test_takes_the_certificates_of_a_job(self):
        self.shake_hands(self.context("job", ssl.PROTOCOL_TLS_SERVER, "server"),
                         self.context("job", ssl.PROTOCOL_TLS_CLIENT, "worker"))

    def test_refuses_a_worker_that_poses_as_the_server(self):
        with self.assertRaisesRegex(ssl.SSLError, "certificate"):
            self.shake_hands(self.context("job", ssl.PROTOCOL_TLS_SERVER, "worker"),
                             self.context("job", ssl.PROTOCOL_TLS_CLIENT, "worker"))

    def test_refuses_the_worker_of_another_job(self):
        self.certs("other")
        stranger = self.context("other", ssl.PROTOCOL_TLS_CLIENT, "worker")
        stranger.load_verify_locations(self.folder / "job" / "ca.pem")
        with self.assertRaisesRegex(ssl.SSLError, "certificate"):
            self.shake_hands(self.context("job", ssl.PROTOCOL_TLS_SERVER, "server"), stranger)


class Options(Certs):
    def setUp(self):
        super().setUp()
        self.certs("job")
        self.files = ("--tls-cert", "job/server.pem", "--tls-key", "job/server.key",
                      "--tls-ca", "job/ca.pem")

    def server(self, *words, token="token"):
        return ("server", "--token-file", token, *words)

    def test_go_together(self):
        for word, lacking in (("--tls-cert", "--tls-key and --tls-ca"),
                              ("--tls-key", "--tls-cert and --tls-ca"),
                              ("--tls-ca", "--tls-cert and --tls-key")):
            self.assert_refused(self.server(word, "job/ca.pem"), f"{word} without {lacking}")
        self.path("token", "secret\n")
        worker = ("worker", "--paced", "x", "--server", BEYOND, "--token-file", "token", "--worker", 0)
        self.assert_refused((*worker, "--tls-ca", "job/ca.pem"),
                            "--tls-ca without --tls-cert and --tls-key")
        self.assert_refused(("ctl", "--server", BEYOND, "--token-file", "token", "status",
                             "--tls-key", "job/worker.key"), "--tls-key without --tls-cert")
        self.assert_refused(self.server(), "--tls-cert without --tls-key and --tls-ca",
                            variables={"OUTPACE_TLS_CERT": "job/server.pem"})

    def test_conflict_with_leave_to_go_without(self):
        self.assert_refused(self.server("--listen", BEYOND, "--insecure-no-tls", *self.files),
                            "--insecure-no-tls conflicts with --tls-cert")
        self.assert_refused(
            self.server("--listen", BEYOND, "--insecure-no-tls", token="job/token"),
            "--insecure-no-tls conflicts with job/server.pem", "beside the token file")

    def test_conflict_with_a_unix_socket(self):
        self.assert_refused(self.server("--listen", "unix:s", *self.files),
                            "--tls-cert conflicts with a Unix socket")

    def test_name_both_ways_to_go_beyond_this_machine(self):
        self.assert_refused(self.server("--listen", BEYOND), f"--listen {BEYOND}",
                            "`outpace certs .", "--insecure-no-tls")

    def test_that_are_not_there_take_leave_to_reach_beyond_this_machine(self):
        self.path("token", "secret\n")
        reach = ("--server", BEYOND, "--token-file", "token")
        said = (f"the server at {BEYOND} is beyond this machine", "`outpace certs`",
                "add --insecure-no-tls")
        profile = self.path("profile.json", "{}")
        commands = [("worker", *reach, "--worker", 0, "--paced", profile), ("ctl", *reach, "status")]
        if pathlib.Path(OUTPACE + "-torch").exists():  # An evaluator takes libtorch.
            commands.append(("evaluator", *reach))
        for command in commands:
            self.assert_refused(command, *said)
        self.path("job/token", "secret\n")
        self.assert_refused(("ctl", "--server", BEYOND, "--token-file", "job/token", "status",
                             "--insecure-no-tls"), "--insecure-no-tls conflicts with job/worker.pem")

    def test_of_a_set_that_is_not_complete_name_the_missing_file(self):
        (self.folder / "job/server.key").unlink()
        self.assert_refused(self.server("--listen", BEYOND, token="job/token"),
                            "job/server.key: missing, although job/ca.pem is there")
        (self.folder / "job/worker.pem").unlink()
        self.path("job/token", "secret\n")
        self.assert_refused(("ctl", "--server", BEYOND, "--token-file", "job/token", "status"),
                            "job/worker.pem: missing, although job/ca.pem is there")

    def test_refuse_a_key_that_others_can_read(self):
        os.chmod(self.folder / "job/server.key", 0o640)
        self.assert_refused(self.server("--listen", BEYOND, token="job/token"),
                            "job/server.key: the private key can be read by others", "chmod 600")

    def test_refuse_a_file_that_is_not_there(self):
        self.assert_refused(
            self.server("--listen", BEYOND, "--tls-cert", "none.pem", *self.files[2:]),
            "none.pem: cannot read this TLS file: No such file or directory")


if __name__ == "__main__":
    main()
