"""Runs a program and says what it took: wall clock, CPU seconds of it and its children, peak resident memory.

The program is started by a small process of its own (this file, run as a script): the kernel counts the memory of whoever starts a
program as that program's, and the scorers grow large.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


class Failed(Exception):
    """A program did not do what it should; the message is for the reader of the result."""


def run(command, stdout=None, cores=None, environment=None, timeout=3600, allowed=(0,)):
    """Returns {"wall_s", "cpu_s", "peak_bytes", "load"}. `cores`: the processors it may use."""
    with tempfile.TemporaryDirectory() as folder:
        report, errors = Path(folder, "report"), Path(folder, "errors")
        order = {"report": str(report), "errors": str(errors), "stdout": str(stdout or os.devnull), "cores": cores, "timeout": timeout}
        start = os.getloadavg()[0]
        done = subprocess.run([sys.executable, "-S", __file__, json.dumps(order), *map(str, command)], env=os.environ | (environment or {}))
        if done.returncode:
            raise Failed(f"cannot start {command[0]}")
        result = json.loads(report.read_text())
        status = result.pop("status")
        if status not in allowed:
            last = errors.read_text(errors="replace").strip().splitlines()[-1:] or [f"exit status {status}"]
            raise Failed(f"took longer than {timeout} s" if result["late"] else f"`{Path(command[0]).name} {command[1]}`: {last[0][:300]}")
    return result | {"load": start}


def helper(order, command):
    if order["cores"]:
        os.sched_setaffinity(0, order["cores"])
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            for target, file in ((1, order["stdout"]), (2, order["errors"])):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), target)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error}\n".encode())
        finally:
            os._exit(127)
    late = []

    def stop(*_):
        late.append(True)
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(int(order["timeout"]))
    _, status, used = os.wait4(child, 0)
    result = {
        "status": os.waitstatus_to_exitcode(status),
        "wall_s": time.monotonic() - began,
        "cpu_s": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024,
        "late": bool(late),
    }
    Path(order["report"]).write_text(json.dumps(result))


if __name__ == "__main__":
    helper(json.loads(sys.argv[1]), sys.argv[2:])
