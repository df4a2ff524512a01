"""A workspace: the roots, the policy and the engine that its tools share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eyespan import plugins
from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.dialects import dialect_class
from eyespan.dialects.base import Dialect
from eyespan.dialects.path_map import PathMap
from eyespan.engine import Engine
from eyespan.errors import ReadError, Stuck, TimedOut
from eyespan.escape import in_plain_words
from eyespan.guard import Guard, Root
from eyespan.guard.opening import open_roots
from eyespan.policy import NarrowedPolicy, Policy
from eyespan.tool import Tool, Toolset

if TYPE_CHECKING:
    from eyespan.config import Config
    from eyespan.extras.bulk.record import Record


HOST = "host"
"""The settings of all dialects, among those of each dialect."""


@dataclass(frozen=True, slots=True)
class _Setup:
    """What a workspace is made of, beside its roots."""

    policy: Policy
    backend: str
    deadline_seconds: float | None
    settings: Mapping[str, Mapping[str, Any]]
    ignore: bool
    path_map: PathMap


class Workspace:
    """One or several directories that may be read, and the tools that read them.

    `Workspace(".")`, `Workspace("src", "docs")`; `Workspace("/")` is the whole machine, by explicit choice. Relative
    paths belong to the first root. `policy` lists the names that are refused (by default private keys and credentials);
    the deny rules of an `eyespan.toml` in the first root are added to it, and `from_config` takes over the rest of such
    a file. `backend` picks the way files are opened (`eyespan doctor` lists those that work here). No call takes longer
    than `deadline_seconds`, opening the roots included; None sets no limit, and a dead network mount then blocks for
    ever. Maps, searches, patterns, suggestions and bulk reading leave out what `.gitignore` and `.ignore` files name;
    `ignore=False` includes it, and a file that is named is always read. `map` gives the directories of a host that has
    the files elsewhere, in a container for example: with `{"/workspace": "/home/me/project"}` tools accept and show
    paths below `/workspace`.

    A pickled workspace holds the paths of its roots and its settings, and opens the roots again where it is unpickled.
    A copy is the workspace itself, because two owners would close the same roots twice.

    Raises: ValueError (BadConfig for an `eyespan.toml` that cannot be used), NotADirectoryError, TimeoutError, OSError.
    """

    def __init__(
        self,
        *roots: str | os.PathLike[str],
        policy: Policy | None = None,
        backend: str = "auto",
        deadline_seconds: float | None = DEADLINE_SECONDS,
        ignore: bool = True,
        map: Mapping[str, str] | None = None,  # noqa: A002  the public name
    ) -> None:
        if not roots:
            raise ValueError("a workspace needs at least one root")
        if any(not os.fspath(root) for root in roots):
            raise ValueError('a root must be a directory, not ""; the current directory is "."')
        if deadline_seconds is not None and not deadline_seconds > 0:
            raise ValueError(f"deadline_seconds must be more than 0, not {deadline_seconds!r}")
        path_map = PathMap(map or {})
        opened = open_roots(roots, deadline_seconds)
        config = _load_config(opened, None, deadline_seconds)
        policy = policy or Policy()
        if config is not None:
            policy = policy.with_rules(config.deny)
        self._set(opened, _Setup(policy, backend, deadline_seconds, {}, ignore, path_map))

    def _set(self, roots: tuple[Root, ...], setup: _Setup) -> None:
        self._setup = setup
        self.policy = setup.policy
        self.backend = setup.backend
        self.deadline_seconds = setup.deadline_seconds
        self.settings = setup.settings
        """Settings by dialect, from a configuration file; those given to `tool` take precedence."""
        self.path_map = setup.path_map
        """The directories of the host that stand for local ones."""
        self.roots = roots
        self.guard = Guard(roots, setup.policy, setup.backend, ignore=setup.ignore)
        self._engines: list[Engine] = []

    @property
    def engine(self) -> Engine:
        """The engine of all tools, made on first use."""
        if not self._engines:
            self._engines.append(Engine(self.guard, self.deadline_seconds))
        return self._engines[0]

    @classmethod
    def from_config(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        roots: Sequence[str | os.PathLike[str]] = (),
        beyond: Sequence[str] = (),
        policy: Policy | None = None,
        backend: str = "auto",
        deadline_seconds: float | None = DEADLINE_SECONDS,
        ignore: bool = True,
        map: Mapping[str, str] | None = None,  # noqa: A002  the public name
    ) -> Workspace:
        """Return the workspace that a configuration file describes, as `eyespan call` and `eyespan serve` open it.

        `path` is the file; None is `eyespan.toml` in the first root, if it exists. `roots` take precedence over those
        of the file; without either, the current directory is the root. The rules of the file are added to `policy`, and
        its settings of dialects apply to every tool. `map` is added to that of the file. A file inside the roots can
        only narrow access (docs/security.md).

        Where neither the call nor the file names roots, those of `beyond` may be read too, as `eyespan read` reads
        every file of the machine. A file below them belongs to the host.

        Raises: as the constructor does.
        """
        given = tuple(roots) or (os.getcwd(),)
        outer: list[str] = []
        how: dict[str, Any] = {
            "policy": policy,
            "backend": backend,
            "deadline_seconds": deadline_seconds,
            "ignore": ignore,
            "map": map,
        }
        opened = cls(*given, *(() if roots else beyond), **how)
        config = _load_config(opened.roots[: len(given)], None if path is None else os.fspath(path), deadline_seconds)
        if config is None:
            return opened
        if config.roots and not roots:
            from eyespan.config import BadConfig

            outer = [root.canonical for root in opened.roots[: len(given)] if not root.is_remote]
            opened.close()
            try:
                opened = cls(*config.roots, **how)
            except BadConfig:
                raise
            except OSError as error:
                raise BadConfig(f"{config.name}: roots: {in_plain_words(error)}") from None
            config.check_roots([root.canonical for root in opened.roots if not root.is_remote], outer)
        rules = opened.policy.with_rules(config.deny, config.allow)
        if config.roots and not roots and config.is_inside:
            # Rules of the host are relative to its root, and must hold in the directories that the file chose.
            places = [(root.canonical, one) for root in opened.roots for one in outer if _is_below(root.canonical, one)]
            rules = NarrowedPolicy(rules, {root: (one, root[len(one) :].strip("/")) for root, one in places})
        path_map = PathMap({**config.map, **opened.path_map.directories})
        ignore = ignore and config.ignore
        opened._set(opened.roots, _Setup(rules, backend, deadline_seconds, config.settings, ignore, path_map))
        return opened

    def tool(self, dialect: str | type[Dialect], **settings: Any) -> Tool:
        """Return the read tool in a dialect, with settings of that dialect: its name, `module:Class` or its class.

        Raises: ValueError for an unknown dialect, a dialect of several tools or an invalid value, TypeError for an
        unknown setting.
        """
        tools = self.toolset(dialect, **settings)
        if len(tools) > 1:
            names = ", ".join([tool.spec.name for tool in tools])
            name = tools[0].dialect.name
            raise ValueError(f"{name} has several tools; toolset({name!r}) returns them: {names}")
        return tools[0]

    def toolset(self, dialect: str | type[Dialect], **settings: Any) -> Toolset:
        """Return all tools of a dialect, given by its name, as `module:Class` or as its class; most have one tool.

        Raises: ValueError, TypeError, as `tool` does.
        """
        import eyespan.readers.text  # noqa: F401  # nearly every call needs it, and the first should not wait

        chosen = dialect_class(dialect)
        try:
            made = chosen(**{**self.settings.get(HOST, {}), **self.settings.get(chosen.name, {}), **settings})
        except (TypeError, ValueError):
            raise
        except Exception as error:  # of a dialect that is not part of eyespan
            raise ValueError(f"the dialect {chosen.name} cannot be made: {plugins.describe(error)}") from error
        for member in made.members:
            member.set_roots([self.path_map.outward(root.path) for root in self.roots])
        return Toolset([Tool(member, self.engine, workspace=self) for member in made.members])

    def excluding(self, patterns: Iterable[str]) -> Workspace:
        """Return a workspace of the same roots with further deny rules."""
        return _made(self.roots, replace(self._setup, policy=self.policy.with_rules(patterns)))

    def read_many(
        self,
        targets: str | Iterable[str],
        *,
        workers: int = 0,
        ordered: bool = False,
        max_in_flight: int = 64,
        max_bytes: int = 64 << 20,
        chunk_tokens: int | None = None,
        document: bool = False,
        exclude: Iterable[str] = (),
        context: CallContext | None = None,
        on_progress: Callable[[int], None] | None = None,
    ) -> Iterator[Record]:
        """Yield records of many files: paths, directories and patterns (`src/**/*.py`).

        A file that cannot be read is a record with an error. `chunk_tokens` cuts texts into chunks, `document` reads
        web pages and mailboxes as documents, `exclude` leaves names out. See docs/bulk.md.
        """
        read_many = plugins.load(plugins.own("READ_MANY")[0])
        records: Iterator[Record] = read_many(
            self,
            targets,
            workers=workers,
            ordered=ordered,
            max_in_flight=max_in_flight,
            max_bytes=max_bytes,
            chunk_tokens=chunk_tokens,
            document=document,
            exclude=exclude,
            context=context,
            on_progress=on_progress,
        )
        return records

    def close(self) -> None:
        """Close the roots. Tools of this workspace cannot read afterwards.

        A copy (`copy.deepcopy`) is the workspace itself, because frameworks copy their arguments: it is closed too.
        """
        for root in self.roots:
            root.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self, _memo: object = None) -> Workspace:
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, ([root.address for root in self.roots], self._setup)

    def __repr__(self) -> str:
        return f"Workspace({', '.join(repr(root.path) for root in self.roots)})"


def _is_below(path: str, root: str) -> bool:
    return os.path.commonpath([path, root]) == root


def _made(roots: tuple[Root, ...], setup: _Setup) -> Workspace:
    workspace = Workspace.__new__(Workspace)
    workspace._set(roots, setup)
    return workspace


def _reopened(paths: list[str], setup: _Setup) -> Workspace:
    return _made(open_roots(paths, setup.deadline_seconds), setup)


def _load_config(roots: Sequence[Root], path: str | None, deadline_seconds: float | None) -> Config | None:
    """Load the file `path`, else that of the first root; None if there is none. Raises: BadConfig, TimeoutError."""
    root = roots[0]
    if path is None and root.is_remote:
        return None  # only the host configures a store
    if path is None and root.never_hangs:
        try:
            os.stat("eyespan.toml", dir_fd=root.fd, follow_symlinks=False)
        except OSError:
            return None
    from eyespan.config import FILE_NAME, BadConfig, load
    from eyespan.guard import blocking

    names = [root.path for root in roots if not root.is_remote]
    try:
        # In a thread: a file that does not answer must not keep the caller from learning that.
        return blocking.within(CallContext(deadline_seconds), lambda _: load(names, path), key="config")
    except (TimedOut, Stuck) as error:
        raise TimeoutError(f"{path or FILE_NAME}: {error}") from None
    except ReadError as error:
        raise BadConfig(f"{path or FILE_NAME}: {error}") from None
