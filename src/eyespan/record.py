"""Frozen value classes without the import cost of dataclasses.

`@record` gives a class the methods of a frozen, slotted dataclass: a constructor from its annotations, equality, hash
and repr by value, `copy.replace`, copying and pickling. Assigning to a field raises AttributeError. Records are final:
they cannot be subclassed.

The standard `dataclasses` module takes longer to import than Python takes to start, and the command line starts once
for every file read; one record takes 10 us. Its constructor takes longer, so `record` makes it after the first few
objects; until then `inspect.signature` shows `(*values, **named)`. `public_record` makes it at once, and
`make_constructors` those of a process that creates many objects. Creating an object takes 0.1 us longer than in a class
that is not frozen, for any number of fields.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True)
    def record(cls: type[T]) -> type[T]: ...

    @dataclass_transform(frozen_default=True)
    def public_record(cls: type[T]) -> type[T]: ...

    def make_constructors(*classes: type[object]) -> None: ...

    def replace(value: T, /, **changes: object) -> T: ...

else:
    FEW = 32
    """The number of objects of a class that are created before its constructor is made."""
    _few = FEW
    _unmade = {}
    """The classes whose constructor is not made yet, with the defaults of their fields."""

    def record(cls):
        """Return `cls` as a frozen value class."""
        made, defaults = _frozen_class(cls)
        _unmade[made] = defaults
        fields = made.__slots__
        known = set(fields)
        uses = 0

        def general(self, *values, **named):
            nonlocal uses
            uses += 1
            placed = dict(zip(fields, values, strict=False))
            given = {**defaults, **placed, **named}
            is_invalid = len(values) > len(fields) or given.keys() != known or not placed.keys().isdisjoint(named)
            if is_invalid or uses > _few:
                # For arguments that do not fit, the constructor raises the usual TypeError.
                _make_constructor(made)
                made.__init__(self, *values, **named)
            else:
                for name in fields:
                    object.__setattr__(self, name, given[name])

        made.__init__ = general
        return made

    def public_record(cls):
        """Return `cls` as a frozen value class whose constructor has its real signature from the start."""
        made, defaults = _frozen_class(cls)
        made.__init__ = _constructor(made, defaults)
        return made

    def make_constructors(*classes):
        """Make the constructors of these records, and of every other record with its second object.

        For a process that makes many calls: it takes 0.1 ms for a record, and without it the first calls are slower.
        """
        global _few
        _few = 1
        for made in classes:
            _make_constructor(made)

    def _make_constructor(made):
        defaults = _unmade.pop(made, None)
        if defaults is not None:
            made.__init__ = _constructor(made, defaults)

    def replace(value, /, **changes):
        """Return a copy with some fields changed, as `copy.replace` does from Python 3.13 on."""
        for name in value.__slots__:
            if name not in changes:
                changes[name] = getattr(value, name)
        return type(value)(**changes)

    def _frozen_class(cls):
        fields = tuple(cls.__annotations__)
        body = {k: v for k, v in cls.__dict__.items() if k not in (*fields, "__dict__", "__weakref__")}
        defaults = {name: cls.__dict__[name] for name in fields if name in cls.__dict__}
        if fields[len(fields) - len(defaults) :] != tuple(defaults):
            raise TypeError(f"a field without a default follows one with a default in {cls.__qualname__}")
        body.update(_METHODS, __slots__=fields, __qualname__=cls.__qualname__)
        body.setdefault("__match_args__", fields)
        return type(cls.__name__, cls.__bases__, body), defaults

    def _constructor(made, defaults):
        """Make the constructor of a frozen class.

        Bypassing `__setattr__` costs 50 ns for each field. Instead the new object has another class, of the same layout
        but not frozen, while its fields are set.
        """
        fields = made.__slots__
        template = _templates.get(len(fields)) or _compile_template(len(fields))
        names = dict(zip(template.co_varnames, ("self", *fields), strict=True))
        code = template.replace(
            co_varnames=tuple(names.values()),
            co_names=tuple([names.get(name, name) for name in template.co_names]),
            co_name="__init__",
            co_qualname=f"{made.__qualname__}.__init__",
        )
        body = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
        scope = {
            "__name__": made.__module__,
            "_set_class": _set_class,
            "_unfrozen": type(made.__name__, (made,), body, is_unfrozen=True),
            "_frozen": made,
        }
        init = type(_constructor)(code, scope, "__init__", tuple(defaults.values()))
        init.__annotations__ = {**made.__annotations__, "return": None}
        return init

    _set_class = object.__dict__["__class__"].__set__
    _unfrozen = _frozen = object
    """Names for the templates; every constructor made of one has globals of its own."""

    # The templates of small constructors are compiled with this module: `_compile_template` takes 50 us or more for
    # each, and every start imports the public records.

    def _template_2(self, field_0, field_1):
        _set_class(self, _unfrozen)
        self.field_0 = field_0
        self.field_1 = field_1
        self.__class__ = _frozen

    def _template_3(self, field_0, field_1, field_2):
        _set_class(self, _unfrozen)
        self.field_0 = field_0
        self.field_1 = field_1
        self.field_2 = field_2
        self.__class__ = _frozen

    def _template_4(self, field_0, field_1, field_2, field_3):
        _set_class(self, _unfrozen)
        self.field_0 = field_0
        self.field_1 = field_1
        self.field_2 = field_2
        self.field_3 = field_3
        self.__class__ = _frozen

    def _template_5(self, field_0, field_1, field_2, field_3, field_4):
        _set_class(self, _unfrozen)
        self.field_0 = field_0
        self.field_1 = field_1
        self.field_2 = field_2
        self.field_3 = field_3
        self.field_4 = field_4
        self.__class__ = _frozen

    _templates = {
        2: _template_2.__code__,
        3: _template_3.__code__,
        4: _template_4.__code__,
        5: _template_5.__code__,
    }
    """Code of constructors by the number of their fields; `_constructor` renames the fields."""

    def _compile_template(count):
        fields = [f"field_{place}" for place in range(count)]
        lines = [
            f"def __init__({', '.join(['self', *fields])}):",
            " _set_class(self, _unfrozen)",
            *[f" self.{name} = {name}" for name in fields],
            " self.__class__ = _frozen",
        ]
        scope = {}
        exec("\n".join(lines), scope)
        _templates[count] = template = scope["__init__"].__code__
        return template

    def _values(self):
        return tuple([getattr(self, name) for name in self.__slots__])

    def _equal(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return _values(self) == _values(other)

    def _hash(self):
        return hash((type(self), _values(self)))

    def _repr(self):
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.__slots__])
        return f"{type(self).__name__}({shown})"

    def _reduce(self):
        return type(self), _values(self)

    def _refuse_to_set(self, name, _value):
        raise AttributeError(f"cannot assign to field {name!r} of a frozen {type(self).__name__}")

    def _refuse_to_delete(self, name):
        raise AttributeError(f"cannot delete field {name!r} of a frozen {type(self).__name__}")

    def _refuse_subclass(cls, *, is_unfrozen=False):
        if not is_unfrozen:
            raise TypeError(f"{cls.__base__.__name__} is a record and cannot be subclassed")

    _METHODS = {
        "__delattr__": _refuse_to_delete,
        "__eq__": _equal,
        "__hash__": _hash,
        "__init_subclass__": classmethod(_refuse_subclass),
        "__reduce__": _reduce,
        "__replace__": replace,
        "__repr__": _repr,
        "__setattr__": _refuse_to_set,
    }
