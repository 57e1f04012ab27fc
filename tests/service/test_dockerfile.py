"""The Dockerfile without a container engine: what it says is checked, what it does is done here.

None is available where the tests run, so ``docker build`` itself is untested. Its steps are carried
out in a clean folder instead: the files that it copies, the wheel that it builds from them, the
server that it starts, the health check that it runs. Only the installation of the pinned
requirements is not repeated; their hashes are looked at.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from service_client import SPEC
from service_process import Server

from qreplace.data import schema_text

ROOT = Path(__file__).resolve().parents[2]
ENTRY = "import sys; from {module} import {function}; sys.exit({function}())"


@dataclass(frozen=True)
class Step:
    """One instruction of the Dockerfile."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The words of an instruction in either form."""
        if self.text.startswith("["):
            return [str(word) for word in json.loads(self.text)]
        return shlex.split(self.text)


def stages() -> list[list[Step]]:
    """The instructions of each stage, continuation lines joined."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    found: list[list[Step]] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        if name == "FROM":
            found.append([])
        found[-1].append(Step(name, rest.strip()))
    return found


BUILD, RUN = stages()


def only(name: str, steps: list[Step] = RUN) -> Step:
    (step,) = [step for step in steps if step.name == name]
    return step


def environment() -> dict[str, str]:
    return dict(word.split("=", 1) for word in only("ENV").words)


def test_slim_base_images() -> None:
    for stage in (BUILD, RUN):
        assert stage[0].name == "FROM" and stage[0].words[0] == "python:3.11-slim"


def test_what_it_copies_is_there_and_tracked() -> None:
    for source in copied():
        assert (ROOT / source).exists(), source
        ignored = subprocess.run(["git", "check-ignore", "-q", source], cwd=ROOT, check=False)
        assert ignored.returncode == 1, source


def copied() -> list[str]:
    steps = [step for step in BUILD if step.name == "COPY"]
    return [source for step in steps for source in step.words[:-1]]


def test_every_requirement_is_installed_by_its_hash() -> None:
    installs = [step.text for step in BUILD if "pip install" in step.text]
    files = [match for text in installs for match in re.findall(r"-r (\S+)", text)]
    assert files == ["requirements/core.txt", "requirements/build.txt"]
    for text in installs:
        assert "--require-hashes" in text or "--no-index" in text
    for name in files:
        text = (ROOT / name).read_text()
        pins = re.findall(r"^[a-zA-Z0-9_.-]+(?:\[[^]]*\])?==.*(?:\n    .*)*", text, re.MULTILINE)
        assert pins and all("--hash=sha256:" in pin for pin in pins)
        assert "index-url" not in text


def test_it_runs_as_nobody_special() -> None:
    names = [step.name for step in RUN]
    user = only("USER").words[0]
    assert re.fullmatch(r"[1-9][0-9]{3,}:[1-9][0-9]{3,}", user)
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert not [step for step in RUN[names.index("USER") :] if step.name in ("RUN", "COPY")]


def test_it_writes_below_the_volume_only() -> None:
    volume = only("VOLUME").words[0]
    assert environment()["QREPLACE_DATA_DIR"] == volume
    assert environment()["MPLCONFIGDIR"].startswith(f"{volume}/")
    assert environment()["PYTHONDONTWRITEBYTECODE"] == "1"
    user, group = only("USER").words[0].split(":")
    prepared = only("RUN").text
    assert f"install --directory --owner={user} --group={group} {volume}" in prepared
    assert f"--uid {user}" in prepared and f"--gid {group}" in prepared


def test_the_port_is_one_everywhere() -> None:
    port = only("EXPOSE").words[0]
    command = only("CMD").words
    assert command[command.index("--port") + 1] == port
    assert f":{port}/" in health_check()[-1]


def health_check() -> list[str]:
    text = only("HEALTHCHECK").text
    return Step("CMD", text[text.index("CMD ") + 4 :]).words


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel built from the copied files, installed, and an empty volume."""
    root = tmp_path_factory.mktemp("image")
    source = root / "src"
    for name in copied():
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, target)
    (wheel_step,) = [step.text for step in BUILD if "pip wheel" in step.text]
    wheel = shlex.split(wheel_step.replace("/wheels", str(root / "wheels")))
    pip(wheel[wheel.index("wheel") :], source)
    (install_step,) = [step.text for step in BUILD if "--no-index" in step.text]
    install = shlex.split(install_step.replace("/wheels", str(root / "wheels")))
    pip([*install[install.index("install") :], "--target", str(root / "site")], source)
    (root / "data").mkdir()
    return root


def pip(arguments: list[str], cwd: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "pip", *arguments], cwd=cwd, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_its_steps_give_a_healthy_server(image: Path) -> None:
    """The entry point with the arguments of CMD, but a free loopback port, out of the wheel."""
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    module, function = script[only("ENTRYPOINT").words[0]].split(":")
    volume = only("VOLUME").words[0]
    arguments = [
        {"0.0.0.0": "127.0.0.1", only("EXPOSE").words[0]: "0"}.get(word, word)
        for word in only("CMD").words
    ]
    variables = {
        name: value.replace(volume, str(image / "data"))
        for name, value in environment().items()
        if name != "PATH"
    }
    before = files_of(image / "site")
    with Server(
        image / "data",
        command=[sys.executable, "-c", ENTRY.format(module=module, function=function)],
        arguments=arguments,
        environment={**variables, "PYTHONPATH": str(image / "site")},
        cwd=image / "data",
    ) as server:
        posted = server.http.post(
            "/v1/studies", content=json.dumps(SPEC), headers={"Content-Type": "application/json"}
        )
        assert posted.status_code == 201
        assert server.http.get(f"{posted.headers['location']}/report.html").status_code == 200
        assert server.http.get("/v1/schemas/spec").text == schema_text("spec")
        assert checked(server.port) == 0
        server.stop()
        assert checked(server.port) == 1
    assert files_of(image / "site") == before
    assert (image / "data" / "qreplace.sqlite").exists()


def checked(port: int) -> int:
    """The exit code of the health check's own command, at another port."""
    command = [word.replace(f":{only('EXPOSE').words[0]}/", f":{port}/") for word in health_check()]
    assert command[0] == "python"
    return subprocess.run(
        [sys.executable, *command[1:]], capture_output=True, env=os.environ, timeout=30
    ).returncode


def test_the_wheel_carries_its_data(image: Path) -> None:
    for name in ("schemas/spec.v1.json", "web/templates"):
        assert (image / "site" / "qreplace" / "data" / name).exists()
    code = (
        "import qreplace, qreplace.data; print(qreplace.__file__); "
        "print(qreplace.data.data_path('schemas'))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=image / "data",
        env={**os.environ, "PYTHONPATH": str(image / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    for line in result.stdout.splitlines():
        assert line.startswith(str(image / "site"))
