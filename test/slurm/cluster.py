"""A small Slurm cluster on this machine: slurmctld and slurmd of Debian, each node in a network namespace.

A node's own name is 127.0.1.1 in its /etc/hosts, as Debian installs it. Without cgroups. Takes root. Nothing
outside the namespaces is reached, and stop() ends what runs in them, by process id. A requeued job waits for the
lifetime of a job's credential, which is 15 s here and 2 minutes by default.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import time

NETNS = pathlib.Path("/etc/netns")  # `ip netns exec` shows NETNS/name/hosts as /etc/hosts.
NETWORK = "10.79.0."
CONTROL = "control"

CONF = """\
ClusterName=outpace
SlurmctldHost=control({network}1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=15
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=1,requeue_setup_env_fail
StateSaveLocation={folder}/control
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmdTimeout=6
KillWait=20
MessageTimeout=20
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def wait_until(condition, what, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds} s still waiting: {what}")
        time.sleep(0.05)
    return found


def ip(*words, check=True):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=check).stdout


class Cluster:
    def __init__(self, folder, nodes=2, processors=2):
        self.folder = pathlib.Path(folder)
        self.nodes = [f"n{node + 1}" for node in range(nodes)]
        self.mark = f"outpace-slurm-{os.getpid()}-"
        self.switch = self.mark + "switch"
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "slurm.conf").write_text(CONF.format(
            network=NETWORK, folder=self.folder, nodes="\n".join(
                f"NodeName={name} NodeAddr={self.address(name)} CPUs={processors}"
                for name in self.nodes)))
        # Nothing of it is used; without it slurmd looks for a mounted one, and does not start.
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def address(self, name):
        return NETWORK + ("1" if name == CONTROL else str(10 + self.nodes.index(name)))

    def space(self, name):
        return self.mark + name

    def start(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for name in (CONTROL, *self.nodes):
            self.make_host(name)
        self.start_munge()
        (self.folder / CONTROL).mkdir()
        self.spawn(CONTROL, "slurmctld", "-D")
        for name in self.nodes:
            self.start_node(name)
        wait_until(lambda: set(self.states().values()) == {"idle"}, "all nodes to be idle")

    def make_host(self, name):
        space = self.space(name)
        ip("netns", "add", space)
        ip("-n", space, "link", "set", "lo", "up")
        ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", name,
           "netns", self.switch)
        ip("-n", self.switch, "link", "set", name, "master", "bridge", "up")
        ip("-n", space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        files = NETNS / space
        files.mkdir(parents=True)
        others = [f"{self.address(one)} {one}" for one in (CONTROL, *self.nodes) if one != name]
        (files / "hosts").write_text("\n".join(
            ["127.0.0.1 localhost", f"127.0.1.1 {name}", *others, ""]))
        (files / "nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files\n")

    def start_munge(self):
        folder = self.folder / "munge"
        folder.mkdir(mode=0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        self.spawn(CONTROL, "munged", "--foreground", "--force", f"--socket={folder}/socket",
                   f"--key-file={key}", f"--pid-file={folder}/pid", f"--log-file={folder}/log",
                   f"--seed-file={folder}/seed")
        wait_until((folder / "socket").exists, "munged")

    def start_node(self, name):
        (self.folder / name).mkdir(exist_ok=True)
        self.spawn(name, "slurmd", "-D", "-N", name)

    def words(self, name, *words):
        """A command on a host of the cluster, which has its own name."""
        return ["ip", "netns", "exec", self.space(name), "unshare", "--uts", "sh", "-c",
                'hostname "$0" && exec "$@"', name, *map(str, words)]

    def spawn(self, name, *words):
        with open(self.folder / f"{words[0]}-{name}.out", "ab") as out:
            return subprocess.Popen(self.words(name, *words), stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=out, env=self.environment, start_new_session=True)

    def run(self, *words, on=CONTROL, cwd=None, seconds=240, check=False):
        return subprocess.run(self.words(on, *words), capture_output=True, text=True, cwd=cwd,
                              env=self.environment, timeout=seconds, check=check)

    def ask(self, *words):
        return self.run(*words, check=True).stdout.strip()

    def states(self):
        lines = self.run("sinfo", "-h", "-N", "-o", "%n %t").stdout.splitlines()
        return dict(line.split() for line in lines)

    def job_state(self, job):
        """PENDING, RUNNING, COMPLETED, FAILED, CANCELLED ..."""
        return self.job_field(job, "JobState")

    def job_field(self, job, name):
        fields = self.ask("scontrol", "show", "job", job, "-o").split()
        return next(one.partition("=")[2] for one in fields if one.startswith(f"{name}="))

    def processes(self, name):
        return [int(one) for one in ip("netns", "pids", self.space(name), check=False).split()]

    def kill_node(self, name):
        """The machine loses its power: nobody says goodbye, and nothing of it answers."""
        ip("-n", self.switch, "link", "set", name, "down")
        self.end(name)

    def restore_node(self, name):
        ip("-n", self.switch, "link", "set", name, "up")
        self.start_node(name)
        wait_until(lambda: self.states().get(name) == "idle", f"{name} to be idle again")

    def end(self, name):
        def ended():
            for process in self.processes(name):
                try:
                    os.kill(process, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            return not self.processes(name)
        wait_until(ended, f"the end of what runs on {name}")

    def stop(self):
        for name in (*self.nodes, CONTROL):
            self.end(name)
            ip("netns", "del", self.space(name), check=False)
            shutil.rmtree(NETNS / self.space(name), ignore_errors=True)
        ip("netns", "del", self.switch, check=False)
        if NETNS.is_dir() and not any(NETNS.iterdir()):
            NETNS.rmdir()
