"""Compiles the C accelerator into the wheel, where a C compiler is at hand.

Never fails a build: without a compiler, or when compiling fails, the wheel holds the pure Python twin alone and is
tagged for any platform. EYESPAN_PURE=1 asks for that. CC, CFLAGS and LDFLAGS mean what they mean to make.
EYESPAN_PLATFORM=manylinux_2_17_aarch64 names the platform that CC compiles for (packaging/build.py).
The module is left beside its source, where an editable install finds it.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOM = Path("src", "eyespan", "_native")
IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
MODULE = f"_fast{sysconfig.get_config_var('EXT_SUFFIX')}" if IS_FREE_THREADED else "_fast.abi3.so"
"""A free-threaded Python before 3.15 loads only modules that were compiled for its own version."""


class AcceleratorHook(BuildHookInterface):  # type: ignore[type-arg]
    """Puts the compiled module and the fitting tag into a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        problem = compile_module(Path(self.root, ROOM))
        if problem:
            print(f"eyespan: building without the C accelerator: {problem}", file=sys.stderr)
            return
        build_data["artifacts"].append((ROOM / MODULE).as_posix())
        build_data["pure_python"] = False
        build_data["tag"] = f"{abi_tag()}-{platform_tag()}"


def compile_module(room: Path) -> str:
    """Compiles `fast.c` in `room`; returns why not, or "" when done.

    A module left there by an earlier build is gone afterwards or replaced, never kept by mistake.
    """
    target, made = room / MODULE, room / f"{MODULE}.new"
    target.unlink(missing_ok=True)
    if os.environ.get("EYESPAN_PURE") == "1":
        return "EYESPAN_PURE is set"
    if sys.implementation.name != "cpython":
        return "this Python does not load abi3 modules"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        return f"no C compiler ({compiler[0]})"
    shared = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    command = [
        *compiler, "-std=gnu11", "-O3", "-DNDEBUG", "-fPIC", "-fvisibility=hidden", "-pthread",
        *shlex.split(os.environ.get("CFLAGS", "")), f"-I{sysconfig.get_path('include')}", str(room / "fast.c"),
        *shared, *shlex.split(os.environ.get("LDFLAGS", "")), "-o", str(made),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            return f"{shlex.join(command)} failed\n{done.stderr}"
        made.replace(target)
    except OSError as error:
        return str(error)
    finally:
        made.unlink(missing_ok=True)
    return ""


def abi_tag() -> str:
    """The versions of Python that load the module, as wheel tags spell them."""
    if not IS_FREE_THREADED:
        return "cp311-abi3"
    version = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{version}-{version}t"


def platform_tag() -> str:
    """This platform as wheel tags spell it; the compiler builds for this machine only, also on a universal Python."""
    chosen = os.environ.get("EYESPAN_PLATFORM")
    if chosen:
        return chosen
    name = sysconfig.get_platform()
    if sys.platform == "darwin":
        name = f"{name.rsplit('-', 1)[0]}-{platform.machine()}"
    return name.replace("-", "_").replace(".", "_")
