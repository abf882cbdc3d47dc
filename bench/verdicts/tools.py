"""The programs that are measured: ours through its command line, the rivals through rivals.py, each rival's answers kept."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import measure
from measure import Failed
from sets import HERE, ROOT, WORK

VENV = WORK / "venv"
PYTHON = VENV / "bin" / "python"
KEPT = WORK / "rivals"
LIMIT = 1000  # matches of a document: more than any has


def say(text):
    print(text, file=sys.stderr, flush=True)


class Ours:
    """A copy of the program, so that a build meanwhile changes nothing."""

    def __init__(self, program, timeout):
        if not Path(program).exists():
            raise Failed(f"{program} is not built: cargo build --release")
        self.folder = WORK / "ours"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.program = self.folder / "leitong"
        shutil.copy2(program, self.program)
        self.timeout = timeout
        self.help = {}

    def version(self):
        version = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout.strip()
        state = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=ROOT).stdout.strip()
        digest = hashlib.sha256(self.program.read_bytes()).hexdigest()[:12]
        return f"{version}, sources at {state}, program {digest}"

    def need(self, command):
        if command not in self.help:
            shown = subprocess.run([self.program, command, "--help"], capture_output=True, text=True)
            self.help[command] = shown.stdout if shown.returncode == 0 else None
        if self.help[command] is None:
            raise Failed(f"this build has no `leitong {command}`")
        return self.help[command]

    def call(self, command, *arguments, stdout=None, cores=None, environment=None):
        self.need(command)
        return measure.run([self.program, command, *arguments], stdout, cores, environment, self.timeout)

    def file(self, name):
        return self.folder / name

    def add(self, files, name):
        """A new database."""
        db = self.file(f"{name}.db")
        shutil.rmtree(db, ignore_errors=True)
        return db, self.call("add", *files, "--db", db, "--json")

    def check(self, file, db, name):
        out = self.file(f"{name}.matches.jsonl")
        return out, self.call("check", file, "--db", db, "--json", "--limit", LIMIT, stdout=out)

    def pairs(self, files, name):
        out = self.file(f"{name}.pairs.jsonl")
        return out, self.call("pairs", *files, "--json", stdout=out)

    def dedup(self, file, name, extra=(), threads=None):
        """Threads by all that may decide them: the processors at hand, rayon's variable, and the option where there is one."""
        out, removed = self.file(f"{name}.kept.jsonl"), self.file(f"{name}.removed.jsonl")
        for old in (out, removed):
            old.unlink(missing_ok=True)
        extra, environment, cores = list(extra), {}, None
        if threads:
            cores = sorted(os.sched_getaffinity(0))[:threads]
            environment["RAYON_NUM_THREADS"] = str(threads)
            if "--threads" in self.need("dedup"):
                extra += ["--threads", threads]
        took = self.call("dedup", file, "-o", out, "--removed", removed, *extra, cores=cores, environment=environment)
        return out, removed, took


def digest(file):
    """Of a file's bytes, remembered by its size and time."""
    memory = WORK / "digests.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    file = Path(file)
    stat = file.stat()
    key = f"{file} {stat.st_size} {stat.st_mtime_ns}"
    if key not in known:
        with open(file, "rb") as opened:
            known[key] = hashlib.file_digest(opened, "sha256").hexdigest()
        memory.write_text(json.dumps(known, indent=0))
    return known[key]


def keep_ids(part, answers):
    """Of half a gigabyte only the ids."""
    with open(part, encoding="utf-8") as lines, open(answers, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"id": json.loads(line)["id"]}) + "\n" for line in lines)
    part.unlink()


class Rivals:
    def __init__(self, fresh, timeout):
        self.fresh, self.timeout = fresh, timeout
        prepare_python()
        listed = subprocess.run([PYTHON, "-m", "pip", "list", "--format", "json"], capture_output=True, text=True, check=True).stdout
        self.versions = {package["name"].lower(): package["version"] for package in json.loads(listed)}
        self.settings = json.loads(subprocess.run([PYTHON, HERE / "rivals.py", "settings"], capture_output=True, text=True, check=True).stdout)

    def version(self, name):
        package = name.partition("+")[0]
        return f"{package} {self.versions[package]}"

    def run(self, task, name, inputs, arguments, again=False):
        """The answers and what they took; those of an earlier run where input, version and settings are the same."""
        key = "\n".join([task, name, self.version(name), self.settings[name.partition("+")[0]], *(digest(file) for file in inputs)])
        folder = KEPT / f"{task}-{name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        answers, took = folder / "answers.jsonl", folder / "took.json"
        if took.exists() and not (self.fresh or again):
            return answers, json.loads(took.read_text())
        say(f"{name}, {task} of {Path(inputs[-1]).name} …")
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / "answers.part"
        result = measure.run([PYTHON, HERE / "rivals.py", task, name, "-o", part, *arguments], environment={"RAYON_NUM_THREADS": "1"}, timeout=self.timeout)
        result["date"] = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        if task == "dedup":
            keep_ids(part, answers)
        else:
            part.rename(answers)
        took.write_text(json.dumps(result))
        return answers, result

    def match(self, name, index, queries):
        return self.run("match", name, [*index, queries], ["--index", *index, "--queries", queries])

    def pairs(self, name, file):
        return self.run("pairs", name, [file], [file])

    def dedup(self, name, file, again=False):
        return self.run("dedup", name, [file], [file], again)


def prepare_python():
    wanted = (HERE / "requirements.txt").read_text()
    done = VENV / "installed.txt"
    if done.exists() and done.read_text() == wanted:
        return
    say("installing the rivals …")
    for command in ([sys.executable, "-m", "venv", VENV], [PYTHON, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"]):
        if subprocess.run(command, stdout=sys.stderr).returncode:
            raise Failed("the rivals could not be installed; is PyPI reachable? without them: --skip-rivals")
    done.write_text(wanted)
