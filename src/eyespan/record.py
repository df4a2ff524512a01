"""Value classes that cost nothing to import.

`@record` gives a class what a frozen, slotted dataclass would: a constructor from its annotations, equality, hash and
repr by value. The standard `dataclasses` module takes longer to import than Python takes to start, and the command
line starts once for every file read; this takes 10 us a class. Immutability is the type checker's business
(`frozen_default` below), so making one costs no more than setting its slots.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True)
    def record(cls: type[T]) -> type[T]: ...

    def replace(value: T, /, **changes: object) -> T: ...

else:

    def record(cls):
        fields = tuple(cls.__annotations__)
        body = {k: v for k, v in cls.__dict__.items() if k not in (*fields, "__dict__", "__weakref__")}
        defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
        body.update(__slots__=fields, __eq__=_equal, __hash__=_hash, __repr__=_repr)
        body.setdefault("__match_args__", fields)

        uses, known = [0], set(fields)

        def general(self, *values, **named):
            """Makes the first few; a constructor of its own, ten times as quick, takes 20 to 100 us to be compiled."""
            uses[0] += 1
            placed = dict(zip(fields, values, strict=False))
            given = {**defaults, **placed, **named}
            is_odd = len(values) > len(fields) or given.keys() != known or not placed.keys().isdisjoint(named)
            if is_odd or uses[0] > FEW:
                made.__init__ = _constructor(fields, defaults)  # tells also what is wrong with the arguments
                made.__init__(self, *values, **named)
            else:
                for name in fields:
                    setattr(self, name, given[name])

        body["__init__"] = general
        made = type(cls.__name__, cls.__bases__, body)
        made.__qualname__ = cls.__qualname__
        return made

    FEW = 4

    def _constructor(fields, defaults):
        signature = ", ".join([f"{name}=_{name}" if name in defaults else name for name in fields])
        lines = [f"def __init__(self, {signature}):", *[f" self.{name} = {name}" for name in fields], " pass"]
        scope = {f"_{name}": value for name, value in defaults.items()}
        exec("\n".join(lines), scope)
        return scope["__init__"]

    def _values(self):
        return tuple([getattr(self, name) for name in self.__slots__])

    def _equal(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return _values(self) == _values(other)

    def _hash(self):
        return hash((type(self), _values(self)))

    def _repr(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({shown})"

    def replace(value, /, **changes):
        """Return a copy with some fields changed."""
        return type(value)(**{**{name: getattr(value, name) for name in value.__slots__}, **changes})
