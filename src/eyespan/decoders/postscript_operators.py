"""The operators of PostScript for numbers, the stack, control, dictionaries, arrays and strings."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable
from typing import Any

from eyespan.decoders.postscript_machine import (
    ITEM_BYTES,
    MARK,
    MAX_ITEMS,
    MAX_STRING_BYTES,
    OPERATORS,
    Exit,
    Failed,
    Interpreter,
    Literal,
    Mark,
    Procedure,
    Quit,
    Word,
    key_of,
    operator_of,
)
from eyespan.decoders.postscript_names import NO_OPERATIONS


def _numeric(name: str, count: int, function: Callable[..., Any]) -> None:
    def run(it: Interpreter) -> None:
        try:
            it.push(function(*it.numbers(count)))
        except (ArithmeticError, ValueError):
            raise Failed("a number that cannot be computed") from None

    OPERATORS[name] = run


_numeric("add", 2, operator.add)
_numeric("sub", 2, operator.sub)
_numeric("mul", 2, operator.mul)
_numeric("exp", 2, lambda a, b: float(a) ** b)
_numeric("div", 2, operator.truediv)
_numeric("idiv", 2, lambda a, b: int(a / b))
_numeric("mod", 2, lambda a, b: int(math.fmod(a, b)))
_numeric("atan", 2, lambda a, b: math.degrees(math.atan2(a, b)) % 360)
_numeric("bitshift", 2, lambda a, b: (int(a) << min(int(b), 32) if b >= 0 else int(a) >> int(-b)) & 0xFFFFFFFF)
_numeric("neg", 1, operator.neg)
_numeric("abs", 1, abs)
_numeric("ceiling", 1, math.ceil)
_numeric("floor", 1, math.floor)
_numeric("round", 1, lambda a: math.floor(a + 0.5))
_numeric("truncate", 1, math.trunc)
_numeric("sqrt", 1, math.sqrt)
_numeric("sin", 1, lambda a: math.sin(math.radians(a)))
_numeric("cos", 1, lambda a: math.cos(math.radians(a)))
_numeric("ln", 1, math.log)
_numeric("log", 1, math.log10)
_numeric("rand", 0, lambda: 4)
_numeric("usertime", 0, lambda: 0)
_numeric("realtime", 0, lambda: 0)
_numeric("languagelevel", 0, lambda: 2)


def _comparison(name: str, function: Callable[[Any, Any], bool]) -> None:
    def run(it: Interpreter) -> None:
        second, first = (_comparable(it.pop()) for _ in range(2))
        try:
            it.push(function(first, second))
        except TypeError:
            if name not in ("eq", "ne"):
                raise Failed("a comparison of different things") from None
            it.push(name == "ne")

    OPERATORS[name] = run


def _comparable(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytearray) else str(value) if isinstance(value, str) else value


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_name, getattr(operator, _name))


def _logical(name: str, function: Callable[[Any, Any], Any]) -> None:
    def run(it: Interpreter) -> None:
        second, first = it.pop(), it.pop()
        if not (isinstance(first, int) and isinstance(second, int)):
            raise Failed("something else instead of a truth value")
        it.push(function(first, second))

    OPERATORS[name] = run


for _name, _function in (("and", operator.and_), ("or", operator.or_), ("xor", operator.xor)):
    _logical(_name, _function)


@operator_of("not")
def _not(it: Interpreter) -> None:
    value = it.pop()
    it.push(not value if isinstance(value, bool) else ~int(value))


def _discards(name: str, count: int) -> None:
    """Register an operator that takes values and changes nothing here."""

    def run(it: Interpreter) -> None:
        for _ in range(count):
            it.pop()

    OPERATORS[name] = run


for _name, _values in NO_OPERATIONS.items():
    _discards(_name, _values)


# the stack


@operator_of("pop")
def _pop(it: Interpreter) -> None:
    it.pop()


@operator_of("exch")
def _exch(it: Interpreter) -> None:
    second, first = it.pop(), it.pop()
    it.push(second, first)


@operator_of("dup")
def _dup(it: Interpreter) -> None:
    value = it.pop()
    it.push(value, value)


@operator_of("copy")
def _copy(it: Interpreter) -> None:
    count = it.pop()
    if isinstance(count, int):
        if not 0 <= count <= len(it.stack):
            raise Failed("more values than there are")
        it.push(*it.stack[len(it.stack) - count :])
        return
    source = it.pop()
    if isinstance(count, dict):
        count.update(source)
    else:
        count[: len(source)] = source
    it.push(count)


@operator_of("index")
def _index(it: Interpreter) -> None:
    (at,) = it.numbers(1)
    if not 0 <= at < len(it.stack):
        raise Failed("more values than there are")
    it.push(it.stack[-1 - int(at)])


@operator_of("roll")
def _roll(it: Interpreter) -> None:
    count, by = (int(number) for number in it.numbers(2))
    if not 0 <= count <= len(it.stack):
        raise Failed("more values than there are")
    if count:
        top = it.stack[-count:]
        by %= count
        it.stack[-count:] = top[-by:] + top[:-by] if by else top


@operator_of("clear")
def _clear(it: Interpreter) -> None:
    it.stack.clear()


@operator_of("count")
def _count(it: Interpreter) -> None:
    it.push(len(it.stack))


@operator_of("mark", "[", "<<")
def _mark(it: Interpreter) -> None:
    it.push(MARK)


def _to_mark(it: Interpreter) -> list[Any]:
    for at in range(len(it.stack) - 1, -1, -1):
        if it.stack[at] is MARK:
            found = it.stack[at + 1 :]
            del it.stack[at:]
            return found
    raise Failed("a mark that is not there")


@operator_of("cleartomark", "pdfmark")
def _cleartomark(it: Interpreter) -> None:
    _to_mark(it)


@operator_of("counttomark")
def _counttomark(it: Interpreter) -> None:
    found = _to_mark(it)
    it.push(MARK, *found, len(found))


@operator_of("]")
def _array_end(it: Interpreter) -> None:
    it.push(_to_mark(it))


@operator_of(">>")
def _dictionary_end(it: Interpreter) -> None:
    found = _to_mark(it)
    it.push({key_of(key): value for key, value in zip(found[::2], found[1::2], strict=False)})


# control


@operator_of("if")
def _if(it: Interpreter) -> None:
    procedure, condition = it.pop(), it.pop()
    if condition:
        it.execute(procedure)


@operator_of("ifelse")
def _ifelse(it: Interpreter) -> None:
    other, procedure, condition = it.pop(), it.pop(), it.pop()
    it.execute(procedure if condition else other)


@operator_of("for")
def _for(it: Interpreter) -> None:
    procedure = it.pop()
    value, step, last = it.numbers(3)
    if not step:
        raise Failed("a loop without end")
    with contextlib.suppress(Exit):
        while value <= last if step > 0 else value >= last:
            it.push(value)
            it.execute(procedure)
            value += step


@operator_of("repeat")
def _repeat(it: Interpreter) -> None:
    procedure = it.pop()
    (count,) = it.numbers(1)
    with contextlib.suppress(Exit):
        for _ in range(int(count)):
            it.execute(procedure)


@operator_of("loop")
def _loop(it: Interpreter) -> None:
    procedure = it.pop()
    with contextlib.suppress(Exit):
        while True:
            it.execute(procedure)


@operator_of("forall")
def _forall(it: Interpreter) -> None:
    procedure, values = it.pop(), it.pop()
    it.charge(8 * len(values))
    with contextlib.suppress(Exit):
        for value in list(values.items() if isinstance(values, dict) else values):
            if isinstance(values, dict):
                it.push(Literal(value[0]) if isinstance(value[0], str) else value[0], value[1])
            else:
                it.push(value)
            it.execute(procedure)


@operator_of("exit")
def _exit(it: Interpreter) -> None:
    raise Exit


@operator_of("stop")
def _stop(it: Interpreter) -> None:
    raise Failed("stop")


@operator_of("stopped")
def _stopped(it: Interpreter) -> None:
    procedure = it.pop()
    try:
        it.execute(procedure)
    except (Failed, TypeError, ValueError, LookupError, ArithmeticError, AttributeError):
        it.push(True)
    else:
        it.push(False)


@operator_of("exec")
def _exec(it: Interpreter) -> None:
    it.execute(it.pop())


@operator_of("quit", "showpage", "copypage")
def _quit(it: Interpreter) -> None:
    raise Quit("")


# dictionaries, arrays and strings


def _size_of(it: Interpreter, most: int) -> int:
    (size,) = it.numbers(1)
    if not 0 <= size <= most:
        raise Failed("too much memory")
    return int(size)


@operator_of("dict")
def _dict(it: Interpreter) -> None:
    it.pop()
    it.push({})


@operator_of("array")
def _array(it: Interpreter) -> None:
    size = _size_of(it, MAX_ITEMS)
    it.charge(ITEM_BYTES * size)
    it.push([None] * size)


@operator_of("string")
def _new_string(it: Interpreter) -> None:
    size = _size_of(it, MAX_STRING_BYTES)
    it.charge(size)
    it.push(bytearray(size))


@operator_of("begin")
def _begin(it: Interpreter) -> None:
    value = it.pop()
    if not isinstance(value, dict) or len(it.dictionaries) > 200:
        raise Failed("something else instead of a dictionary")
    it.dictionaries.append(value)


@operator_of("end")
def _end(it: Interpreter) -> None:
    if len(it.dictionaries) > 2:
        it.dictionaries.pop()


@operator_of("def")
def _def(it: Interpreter) -> None:
    value, name = it.pop(), it.pop()
    it.dictionaries[-1][key_of(name)] = value
    if len(it.dictionaries[-1]) > MAX_ITEMS:
        raise Failed("too much memory")


@operator_of("store")
def _store(it: Interpreter) -> None:
    value, name = it.pop(), key_of(it.pop())
    held = next((each for each in reversed(it.dictionaries[1:]) if name in each), it.dictionaries[-1])
    held[name] = value


@operator_of("load")
def _load(it: Interpreter) -> None:
    it.push(it.find(it.pop()))


@operator_of("known")
def _known(it: Interpreter) -> None:
    name, dictionary = key_of(it.pop()), it.pop()
    it.push(name in dictionary)


@operator_of("where")
def _where(it: Interpreter) -> None:
    name = key_of(it.pop())
    for dictionary in reversed(it.dictionaries):
        if name in dictionary:
            it.push(dictionary, True)
            return
    it.push(False)


@operator_of("undef")
def _undef(it: Interpreter) -> None:
    name, dictionary = key_of(it.pop()), it.pop()
    dictionary.pop(name, None)


@operator_of("currentdict")
def _currentdict(it: Interpreter) -> None:
    it.push(it.dictionaries[-1])


@operator_of("systemdict", "statusdict", "errordict")
def _systemdict(it: Interpreter) -> None:
    it.charge(ITEM_BYTES * len(it.system))
    it.push(dict(it.system))


@operator_of("userdict", "globaldict", "$error")
def _userdict(it: Interpreter) -> None:
    it.push(it.user)


@operator_of("get")
def _get(it: Interpreter) -> None:
    at, held = key_of(it.pop()), it.pop()
    if isinstance(held, dict) and at not in held:
        raise Failed("an entry that is not there")
    if not isinstance(held, dict) and not 0 <= at < len(held):
        raise Failed("an entry that is not there")
    it.push(held[at])


@operator_of("put")
def _put(it: Interpreter) -> None:
    value, at, held = it.pop(), key_of(it.pop()), it.pop()
    if not isinstance(held, dict) and not 0 <= at < len(held):
        raise Failed("an entry that is not there")
    held[at] = value


@operator_of("length", "maxlength")
def _length(it: Interpreter) -> None:
    it.push(len(it.pop()))


@operator_of("getinterval")
def _getinterval(it: Interpreter) -> None:
    start, count = (int(number) for number in it.numbers(2))
    held = it.pop()[max(0, start) : max(0, start) + max(0, count)]
    it.charge(ITEM_BYTES * len(held) if isinstance(held, list) else len(held))
    it.push(held)


@operator_of("putinterval")
def _putinterval(it: Interpreter) -> None:
    source, start, held = it.pop(), int(it.pop()), it.pop()
    if not 0 <= start <= len(held) - len(source):
        raise Failed("an entry that is not there")
    held[start : start + len(source)] = source


@operator_of("aload")
def _aload(it: Interpreter) -> None:
    held = it.pop()
    it.push(*held, held)


@operator_of("astore")
def _astore(it: Interpreter) -> None:
    held = it.pop()
    if len(it.stack) < len(held):
        raise Failed("more values than there are")
    held[:] = it.stack[len(it.stack) - len(held) :]
    del it.stack[len(it.stack) - len(held) :]
    it.push(held)


@operator_of("cvs")
def _cvs(it: Interpreter) -> None:
    it.pop()
    it.push(bytearray(_written(it.pop()), "latin-1", "replace"))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytearray):
        return value.decode("latin-1")
    return str(value)[:200] if isinstance(value, (int, float, str)) else "--nostringval--"


@operator_of("cvn")
def _cvn(it: Interpreter) -> None:
    it.push(Literal(key_of(it.pop())))


@operator_of("cvi")
def _cvi(it: Interpreter) -> None:
    it.push(int(float(_written(it.pop()))))


@operator_of("cvr")
def _cvr(it: Interpreter) -> None:
    it.push(float(_written(it.pop())))


@operator_of("cvx")
def _cvx(it: Interpreter) -> None:
    value = it.pop()
    if isinstance(value, bytearray):
        raise Failed("a program in a string")
    it.charge(ITEM_BYTES * len(value) if isinstance(value, list) else 0)
    it.push(Procedure(value) if isinstance(value, list) else Word(value) if isinstance(value, str) else value)


@operator_of("cvlit")
def _cvlit(it: Interpreter) -> None:
    value = it.pop()
    it.charge(ITEM_BYTES * len(value) if isinstance(value, list) else 0)
    it.push(list(value) if isinstance(value, Procedure) else Literal(value) if isinstance(value, str) else value)


@operator_of("xcheck")
def _xcheck(it: Interpreter) -> None:
    it.push(isinstance(it.pop(), (Word, Procedure)))


@operator_of("type")
def _type(it: Interpreter) -> None:
    value = it.pop()
    kinds: tuple[tuple[Any, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "real"), (bytearray, "string"))
    kinds = (*kinds, (str, "name"), (list, "array"), (dict, "dict"), (type(None), "null"), (Mark, "mark"))
    it.push(Word(next((f"{name}type" for kind, name in kinds if isinstance(value, kind)), "operatortype")))


@operator_of("search")
def _search(it: Interpreter) -> None:
    wanted, held = it.pop(), it.pop()
    it.charge(len(held))
    before, found, after = held.partition(wanted)
    it.push(*((after, found, before, True) if found else (held, False)))


@operator_of("=", "==", "print")
def _print(it: Interpreter) -> None:
    it.pop()
