from __future__ import annotations

import gc
import importlib
import os
import sys

import hypothesis
import pytest

from eyespan import plugins
from tests.sizes import FUZZ, examples

os.environ.setdefault("EYESPAN_TIMEOUT", "120")  # A busy machine is slow; no test waits for this deadline to pass.

# No deadline: nothing in the tests is timed, so that a busy machine cannot make them fail. The same examples each time,
# whatever ran before; `make fuzz` tries others.
hypothesis.settings.register_profile(
    "eyespan", deadline=None, max_examples=examples(100), derandomize=not FUZZ, database=None, print_blob=bool(FUZZ)
)
hypothesis.settings.load_profile("eyespan")


@pytest.fixture(scope="module", autouse=True)
def small_heap():
    """Leave the collected tests and what earlier ones keep out of garbage collection, which large reads start."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def unchanged_limits():
    """Fail a test that does not lift its limit of memory: a later one could start no threads, far from the cause."""
    try:
        import resource
    except ImportError:  # not on Windows
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    yield
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.fixture
def full_device() -> str:
    """Return the path of a device to which every write fails because it is full."""
    path = "/dev/full"
    if not os.access(path, os.W_OK):
        pytest.skip(f"{path} is missing or belongs to another user")
    return path


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """Return the current directory, with two text files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poem.txt").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "open.txt").write_text("alpha\nomega")
    return tmp_path


@pytest.fixture
def eyespan(capfdbinary):
    """Return a function that runs a command and returns its exit status, standard output and standard error."""

    from eyespan.cli.main import main  # after the environment is set

    def run(*argv):
        code = main(list(argv))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that installs a distribution with these entry points and this module."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_problems", {})
    plugins._installed.cache_clear()

    def add(name: str, entries: str, source: str = "") -> None:
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(entries)
        importlib.invalidate_caches()
        monkeypatch.delitem(sys.modules, module, raising=False)

    yield add
    plugins._installed.cache_clear()


def pytest_sessionfinish():
    """Let the last collection find all objects, so that the libraries of duckdb do not report them as leaks."""
    gc.unfreeze()
