"""One attempt in a process of its own: ``python -m qreplace.pipeline.worker``.

A producer is untrusted and may run long: apart, it can be stopped by the clock and held to a memory
limit, and whatever it does cannot touch the process that checks. Standard input holds one line of
JSON (the task) and then the question and its arrays; standard output holds one JSON object a line:
``{"claim": text}`` as soon as a claim is found, ``{"failed": reason}``, ``{"spent": reason}`` when
a limit inside the task was reached, and ``{"done": true}`` at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from qreplace.claims import MAX_CLAIM_BYTES, Claim, claim_bytes
from qreplace.errors import InputError, ProducerFailed, QReplaceError
from qreplace.pipeline.engines import TASKS, Limits
from qreplace.question.model import read_question
from qreplace.question.subject import Subject

EARLY = 0.9
"""A producer is told this part of its time, so that it can say how far it came."""

THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Task:
    """What to produce: a name of ``engines.TASKS``, its metadata budget and its limits."""

    name: str
    bits: int
    limits: Limits = field(default_factory=Limits)


@dataclass
class Answer:
    """What came back before the task ended or was stopped."""

    claims: list[bytes] = field(default_factory=list)
    failed: str = ""
    spent: str = ""
    """Which budget ran out; empty when none did."""
    seconds: float = 0.0


def run(subject: Subject, task: Task) -> Answer:
    """Run a task in a child process within its budgets; never raises for what the child does."""
    started = time.monotonic()
    process = subprocess.Popen(
        # -P: the folder it is started in holds the user's files, not modules.
        [sys.executable, "-P", "-m", "qreplace.pipeline.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=child_environment(),
    )
    spent = ""
    try:
        output, errors = process.communicate(_message(subject, task), timeout=task.limits.seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        spent = f"the time budget of {task.limits.seconds} s"
    except BaseException:
        process.kill()
        process.communicate()
        raise
    answer = _read(output)
    answer.seconds = time.monotonic() - started
    if spent or _cut_itself_short(answer, task):
        answer.spent = spent or f"the time budget of {task.limits.seconds} s"
    elif process.returncode != 0 and not answer.failed and not answer.spent:
        answer.failed, answer.spent = _death(process.returncode, errors, task)
    return answer


def _cut_itself_short(answer: Answer, task: Task) -> bool:
    """Whether a producer probably ended early to stay within its time: its clock runs ahead."""
    seconds = task.limits.seconds
    return seconds is not None and answer.seconds >= EARLY * seconds


def child_environment() -> dict[str, str]:
    """One thread, and the child finds this very package, however it was started."""
    root = str(Path(__file__).parents[2])
    rest = os.environ.get("PYTHONPATH", "")
    path = f"{root}{os.pathsep}{rest}" if rest else root
    return {**os.environ, **THREADS, "PYTHONPATH": path}


def _message(subject: Subject, task: Task) -> bytes:
    question = subject.question.to_bytes()
    header = {
        "name": task.name,
        "bits": task.bits,
        "limits": asdict(task.limits),
        "question": len(question),
        "arrays": [[digest, len(data)] for digest, data in sorted(subject.store.items())],
    }
    arrays = [data for _, data in sorted(subject.store.items())]
    return b"".join([json.dumps(header).encode(), b"\n", question, *arrays])


def _read(output: bytes) -> Answer:
    """The lines of a child; an unfinished last line was cut short and is dropped."""
    answer = Answer()
    for line in output.split(b"\n")[:-1]:
        if len(line) > 2 * MAX_CLAIM_BYTES:
            answer.failed = "the producer's claim is larger than any claim that is read"
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            answer.failed = "the producer's process printed something else than its answer"
            continue
        if "claim" in entry:
            answer.claims.append(str(entry["claim"]).encode())
        answer.failed = str(entry.get("failed", answer.failed))
        answer.spent = str(entry.get("spent", answer.spent))
    return answer


def _death(code: int, errors: bytes, task: Task) -> tuple[str, str]:
    """Reason and budget for a child that ended by itself without saying why."""
    tail = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
    starved = code < 0 or "MemoryError" in tail[0] or "bad_alloc" in tail[0]
    if task.limits.megabytes is not None and starved:
        return "", f"the memory budget of {task.limits.megabytes} MB"
    return f"the producer ended with code {code}: {tail[0][:200]}", ""


# --- the child ------------------------------------------------------------------------------------


def main() -> int:
    """Read a task, produce, and print what was found as it is found."""
    stream = sys.stdin.buffer
    header = json.loads(stream.readline())
    question = read_question(stream.read(header["question"]))
    arrays = {digest: stream.read(size) for digest, size in header["arrays"]}
    limits = Limits(**{**header["limits"], "depths": tuple(header["limits"]["depths"])})
    if limits.seconds is not None:
        limits = replace(limits, seconds=EARLY * limits.seconds)
    if limits.megabytes is not None:
        limit_memory(limits.megabytes)
    output = sys.stdout.buffer
    sys.stdout = sys.stderr  # solvers that print do not spoil the protocol
    subject = Subject(question, arrays)
    produce = TASKS[header["name"]]
    _answer(output, produce(subject, header["bits"], limits))
    return 0


def _answer(output: IO[bytes], claims: Iterator[Claim]) -> None:
    def say(**entry: Any) -> None:
        output.write(json.dumps(entry).encode() + b"\n")
        output.flush()

    try:
        for claim in claims:
            say(claim=claim_bytes(claim).decode())
    except (ProducerFailed, InputError) as error:
        say(failed=str(error))
    except MemoryError:
        say(spent="the memory budget")
    except QReplaceError as error:
        say(failed=f"{error.title}: {error}")
    say(done=True)


def limit_memory(megabytes: int) -> None:
    """Private memory only: shared libraries are mapped, not owned. Not every system can do it."""
    try:
        import resource
    except ImportError:
        return
    limit = megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    sys.exit(main())
