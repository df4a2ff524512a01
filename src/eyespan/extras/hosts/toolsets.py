"""Let the functions that convert a tool for a host take a whole toolset."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from eyespan.tool import Tool, Toolset

T = TypeVar("T")
P = ParamSpec("P")


class Converter(Protocol[P, T]):
    """A function that returns one definition for a tool, and a list of them for a toolset."""

    @overload
    def __call__(self, tool: Tool, /, *args: P.args, **options: P.kwargs) -> T: ...

    @overload
    def __call__(self, tool: Toolset, /, *args: P.args, **options: P.kwargs) -> list[T]: ...


def takes_toolsets(convert: Callable[Concatenate[Tool, P], T]) -> Converter[P, T]:
    """Return `convert` as a function that also takes a toolset, and then returns a list in the order of its tools."""

    @wraps(convert)
    def converted(tool: Any, *args: Any, **options: Any) -> Any:
        if isinstance(tool, tuple):
            return [convert(one, *args, **options) for one in tool]
        return convert(tool, *args, **options)

    return cast("Converter[P, T]", converted)
