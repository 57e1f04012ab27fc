"""Simulation jobs: each in a process of its own, with a clock, a memory limit and a way to stop it.

The same request is the same job. A finished one is stored by the SHA-256 of its request and the
engine's version; one that failed or was cancelled is forgotten when it is asked for again. A job
that a stopped server leaves unfinished is not resumed: the client asks again.
"""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import anyio

from qreplace.errors import QReplaceError
from qreplace.service.logs import log
from qreplace.service.problems import Refusal
from qreplace.service.store.simulations import SimulationStore
from qreplace.version import __version__

if TYPE_CHECKING:
    from qreplace.simulate.request import Request

State = Literal["queued", "running", "done", "failed", "cancelled"]
KEPT = 256
"""Jobs whose state is remembered; results are stored besides."""
MAX_QUEUED = 64
MAX_LINE = 64 * 1024 * 1024
RESULT = "result.json"


@dataclass
class Job:
    """One simulation: its state, how far it is, and how it can be stopped."""

    id: str
    request: bytes
    state: State = "queued"
    stage: str = ""
    done: int = 0
    total: int = 0
    problem: str = ""
    pointer: str = ""
    finished: threading.Event = field(default_factory=threading.Event)
    process: subprocess.Popen[bytes] | None = None

    def document(self) -> dict[str, Any]:
        """What a client reads about the job."""
        return {
            "simulation": self.id,
            "state": self.state,
            "progress": None
            if self.finished.is_set()
            else {"stage": self.stage, "done": self.done, "total": self.total},
            "problem": self.problem or None,
            "href": f"/v1/simulations/{self.id}",
        }


class Simulations:
    """The simulation jobs of one service; ``command`` replaces the worker's own."""

    def __init__(
        self,
        store: SimulationStore,
        workers: int,
        seconds: int,
        megabytes: int,
        command: Sequence[str] = (),
    ) -> None:
        self.store = store
        self._seconds = seconds
        self._megabytes = megabytes
        self._command = command
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="simulation")

    async def submit(self, request: Request) -> str:
        """Start the job of a request unless it runs or is stored; its id.

        Raises ``Refusal`` while too many wait.
        """
        return await anyio.to_thread.run_sync(self._submit, request)

    def _submit(self, request: Request) -> str:
        from qreplace.simulate.request import request_bytes, request_id

        name = request_id(request)
        if self.store.digest(name, __version__, RESULT) is not None:
            return name
        with self._lock:
            known = self._jobs.get(name)
            if known is not None and known.state in ("queued", "running", "done"):
                return name
            if sum(job.state == "queued" for job in self._jobs.values()) >= MAX_QUEUED:
                raise Refusal(
                    "busy",
                    f"{MAX_QUEUED} simulations wait already; ask again later",
                    headers={"Retry-After": "10"},
                )
            job = Job(name, request_bytes(request))
            self._jobs[name] = job
            self._jobs.move_to_end(name)
            self._forget_old()
        self._pool.submit(self._run, job)
        return name

    def _forget_old(self) -> None:
        for name in [n for n, job in self._jobs.items() if job.finished.is_set()]:
            if len(self._jobs) <= KEPT:
                return
            del self._jobs[name]

    def find(self, name: str) -> Job | None:
        """A job by its id: remembered, or made from the stored result."""
        with self._lock:
            job = self._jobs.get(name)
        if job is None and self.store.digest(name, __version__, RESULT) is not None:
            job = Job(name, b"", state="done")
            job.finished.set()
        return job

    async def wait(self, job: Job, seconds: float) -> None:
        """Wait until the job ends, at most so long."""
        await anyio.to_thread.run_sync(job.finished.wait, seconds)

    def cancel(self, job: Job) -> bool:
        """Stop a job that has not ended; whether there was anything to stop."""
        with self._lock:
            if job.finished.is_set():
                return False
            job.state = "cancelled"
            if job.process is not None:
                job.process.kill()
            return True

    def close(self) -> None:
        """Stop every job; nothing is left running."""
        with self._lock:
            open_jobs = [job for job in self._jobs.values() if not job.finished.is_set()]
        for job in open_jobs:
            self.cancel(job)
        self._pool.shutdown(wait=True, cancel_futures=True)

    # --- one job, in a thread of the pool -------------------------------------------------------

    def _run(self, job: Job) -> None:
        try:
            files = self._simulate(job)
            if files is not None:
                self.store.put(job.id, __version__, files)
                self._end(job, "done")
        except QReplaceError as error:
            log(logging.ERROR, "simulation failed", error=error, simulation=job.id)
            self._end(job, "failed", "the result could not be stored")
        except Exception as error:
            log(logging.ERROR, "simulation failed", error=error, simulation=job.id)
            self._end(job, "failed", "the service failed while it worked on this simulation")
        finally:
            job.finished.set()
            log(logging.INFO, "simulated", simulation=job.id, state=job.state)

    def _end(self, job: Job, state: State, problem: str = "", pointer: str = "") -> None:
        with self._lock:
            if job.state != "cancelled":
                job.state, job.problem, job.pointer = state, problem, pointer

    def _simulate(self, job: Job) -> dict[str, bytes] | None:
        from qreplace.pipeline.simulation_worker import COMMAND
        from qreplace.pipeline.worker import child_environment

        with self._lock:
            if job.state == "cancelled":
                return None
            process = subprocess.Popen(
                self._command or COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=child_environment(),
            )
            job.process, job.state = process, "running"
        late = threading.Event()

        def stop() -> None:
            late.set()
            process.kill()

        clock = threading.Timer(self._seconds, stop)
        clock.start()
        try:
            return self._listen(job, process, late)
        finally:
            clock.cancel()
            process.kill()
            process.wait()

    def _listen(
        self, job: Job, process: subprocess.Popen[bytes], late: threading.Event
    ) -> dict[str, bytes] | None:
        header = json.dumps({"megabytes": self._megabytes}).encode() + b"\n"
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the worker has no pipes")
        try:
            process.stdin.write(header + job.request)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it died already; what it said, if anything, is read below
        while line := process.stdout.readline(MAX_LINE):
            if not line.endswith(b"\n"):
                break
            entry = json.loads(line)
            if "progress" in entry:
                job.stage, job.done, job.total = entry["progress"]
            elif "failed" in entry:
                self._end(job, "failed", entry["failed"], entry["pointer"])
                return None
            elif "files" in entry:
                return {n: base64.b64decode(data) for n, data in entry["files"].items()}
        if late.is_set():
            self._end(job, "failed", f"the time limit of {self._seconds} s was reached")
        else:
            self._end(job, "failed", "the worker ended without a result, perhaps out of memory")
        return None
