"""What the service tests share: an ASGI client without a network, specifications, stand-in engines.

A ``Decider`` that a test hands in stands for the engine; the engine itself is used where the
answer matters.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from qreplace.service.app import create_app
from qreplace.service.deciding import Answer, Decider, document_bytes
from qreplace.service.openapi import EXAMPLE
from qreplace.service.settings import Settings
from qreplace.version import __version__

if TYPE_CHECKING:
    from qreplace.spec import LoadedSpec

SPEC: dict[str, Any] = EXAMPLE

READ = "import sys, json, time; sys.stdin.buffer.readline(); request = sys.stdin.buffer.read()\n"
SAY = "def say(**entry):\n    print(json.dumps(entry), flush=True)\n"
DONE = (
    READ + SAY + "import base64\n"
    'result = base64.b64encode(b\'{"kind": "switching"}\').decode()\n'
    "say(progress=['runs', 1, 2])\n"
    "say(files={'result.json': result, 'a.svg': base64.b64encode(b'<svg/>').decode()})\n"
)
"""A simulator that has its result at once."""


def spec(**blocks: Any) -> dict[str, Any]:
    """The example with other blocks."""
    return {**SPEC, **blocks}


class Client:
    """One service and a client that calls it in this process; calls are made one after another."""

    def __init__(
        self,
        folder: Path,
        decider: Decider | None = None,
        simulator: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.folder = folder
        chosen = Settings(data_dir=folder, **settings)
        self.app = create_app(chosen, decider=decider, simulator=simulator)
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://service")

    def run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run a coroutine on the client's loop."""
        return self._runner.run(work())

    def request(self, method: str, url: str, **more: Any) -> httpx.Response:
        return self._runner.run(self.http.request(method, url, **more))

    def get(self, url: str, **headers: str) -> httpx.Response:
        return self.request(
            "GET", url, headers={name.replace("_", "-"): text for name, text in headers.items()}
        )

    def post(self, tree: Any) -> httpx.Response:
        """Post a specification as JSON: a tree, or the bytes themselves."""
        data = tree if isinstance(tree, bytes) else json.dumps(tree).encode()
        return self.post_bytes(data, "application/json")

    def post_bytes(self, data: Any, media: str, **headers: str) -> httpx.Response:
        return self.request(
            "POST", "/v1/studies", content=data, headers={"Content-Type": media, **headers}
        )

    def post_parts(
        self, *parts: tuple[str, tuple[str | None, bytes, str | None]]
    ) -> httpx.Response:
        """Post a multipart body; each part is a name with file name, bytes and media type."""
        return self.request("POST", "/v1/studies", files=list(parts))

    def close(self) -> None:
        self.app.state.simulations.close()
        self._runner.run(self.http.aclose())
        self._runner.close()


class Stub:
    """A decider that answers every question with a fixed text, counting the questions."""

    def __init__(self, *, fails: BaseException | None = None, engine: str = __version__) -> None:
        self.asked: list[str] = []
        self._fails = fails
        self._engine = engine

    def decide(self, spec: LoadedSpec) -> Answer:
        self.asked.append(spec.question.study_id)
        if self._fails is not None:
            raise self._fails
        return answer(spec.question.study_id, engine=self._engine, title=spec.labels.title)


def answer(study: str, *, engine: str = __version__, title: str = "") -> Answer:
    """An answer that no engine gave, for tests of what happens to answers."""
    document = {
        "study": study,
        "bundle_sha256": "0" * 64,
        "engine": engine,
        "verdict": "unresolved",
        "domain": "witnesses",
        "evidence": "unavailable",
    }
    return Answer(
        study=study,
        engine=engine,
        verdict="unresolved",
        title=title,
        spec=b"spec of " + study.encode(),
        document=document_bytes(document),
        bundle=b"bundle of " + study.encode(),
        files={
            "report.json": b"{}",
            "report.csv": b"depth\r\n",
            "report.md": b"# report\n",
            "report.html": b"<!doctype html><title>report</title>",
            "figures/interval.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            "figures/interval.png": b"\x89PNG",
        },
    )


def everything_in(folder: Path) -> dict[str, bytes]:
    """Every stored blob below a folder, by path."""
    blobs = folder / "blobs"
    return {
        str(path.relative_to(blobs)): path.read_bytes()
        for path in sorted(blobs.rglob("*"))
        if path.is_file()
    }
