"""Formulas of xls workbooks: tokens in the order of evaluation, written as text.

Parentheses are tokens, so operators are
written as they come. A formula with a token that is not known, or with names that are missing, has no text.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from eyespan.extras.documents.sheets import cells

MAX_CHARS = 8192
_MAX_TOKENS = 4096
_ROWS, _COLUMNS = 65_536, 256
_REF, _AREA = struct.Struct("<HH"), struct.Struct("<HHHH")
ERRORS = {
    0x00: "#NULL!",
    0x07: "#DIV/0!",
    0x0F: "#VALUE!",
    0x17: "#REF!",
    0x1D: "#NAME?",
    0x24: "#NUM!",
    0x2A: "#N/A",
    0x2B: "#GETTING_DATA",
}
_BINARY = dict(enumerate(("+", "-", "*", "/", "^", "&", "<", "<=", "=", ">=", ">", "<>", " ", ",", ":"), 0x03))
_FUTURE = "_xlfn."
"""The prefix of functions that are newer than the format."""
_FUNCTION_NAMES = (
    "COUNT IF ISNA:1 ISERROR:1 SUM AVERAGE MIN MAX ROW COLUMN NA:0 NPV STDEV DOLLAR FIXED SIN:1 COS:1 TAN:1 ATAN:1 "
    "PI:0 SQRT:1 EXP:1 LN:1 LOG10:1 ABS:1 INT:1 SIGN:1 ROUND:2 LOOKUP INDEX REPT:2 MID:3 LEN:1 VALUE:1 TRUE:0 FALSE:0 "
    "AND OR NOT:1 MOD:2 DCOUNT:3 DSUM:3 DAVERAGE:3 DMIN:3 DMAX:3 DSTDEV:3 VAR DVAR:3 TEXT:2 LINEST TREND LOGEST GROWTH "
    "56 PV FV NPER PMT RATE MIRR:3 IRR RAND:0 MATCH DATE:3 TIME:3 DAY:1 MONTH:1 YEAR:1 WEEKDAY HOUR:1 MINUTE:1 "
    "SECOND:1 NOW:0 AREAS:1 ROWS:1 COLUMNS:1 OFFSET 82 SEARCH TRANSPOSE:1 86 TYPE:1 92 SERIESSUM:4 97 ATAN2:2 ASIN:1 "
    "ACOS:1 CHOOSE HLOOKUP VLOOKUP 105 ISREF:1 109 LOG 111 CHAR:1 LOWER:1 UPPER:1 PROPER:1 LEFT RIGHT EXACT:2 TRIM:1 "
    "REPLACE:4 SUBSTITUTE CODE:1 124 FIND CELL ISERR:1 ISTEXT:1 ISNUMBER:1 ISBLANK:1 T:1 N:1 140 DATEVALUE:1 "
    "TIMEVALUE:1 SLN:3 SYD:4 DDB 148 INDIRECT 162 CLEAN:1 MDETERM:1 MINVERSE:1 MMULT:2 167 IPMT PPMT COUNTA 183 "
    "PRODUCT FACT:1 189 DPRODUCT:3 ISNONTEXT:1 193 STDEVP VARP DSTDEVP:3 DVARP:3 TRUNC ISLOGICAL:1 DCOUNTA:3 204 "
    "USDOLLAR FINDB SEARCHB REPLACEB:4 LEFTB RIGHTB MIDB:3 LENB:1 ROUNDUP:2 ROUNDDOWN:2 ASC:1 DBCS:1 RANK 219 ADDRESS "
    "DAYS360 TODAY:0 VDB 227 MEDIAN SUMPRODUCT SINH:1 COSH:1 TANH:1 ASINH:1 ACOSH:1 ATANH:1 DGET:3 244 INFO:1 247 DB "
    "252 FREQUENCY:2 261 ERROR.TYPE:1 269 AVEDEV BETADIST GAMMALN:1 BETAINV BINOMDIST:4 CHIDIST:2 CHIINV:2 COMBIN:2 "
    "CONFIDENCE:3 CRITBINOM:3 EVEN:1 EXPONDIST:3 FDIST:3 FINV:3 FISHER:1 FISHERINV:1 FLOOR:2 GAMMADIST:4 GAMMAINV:3 "
    "CEILING:2 HYPGEOMDIST:4 LOGNORMDIST:3 LOGINV:3 NEGBINOMDIST:3 NORMDIST:4 NORMSDIST:1 NORMINV:3 NORMSINV:1 "
    "STANDARDIZE:3 ODD:1 PERMUT:2 POISSON:3 TDIST:3 WEIBULL:4 SUMXMY2:2 SUMX2MY2:2 SUMX2PY2:2 CHITEST:2 CORREL:2 "
    "COVAR:2 FORECAST:3 FTEST:2 INTERCEPT:2 PEARSON:2 RSQ:2 STEYX:2 SLOPE:2 TTEST:4 PROB DEVSQ GEOMEAN HARMEAN SUMSQ "
    "KURT SKEW ZTEST LARGE:2 SMALL:2 QUARTILE:2 PERCENTILE:2 PERCENTRANK MODE TRIMMEAN:2 TINV:2 336 CONCATENATE "
    "POWER:2 342 RADIANS:1 DEGREES:1 SUBTOTAL SUMIF COUNTIF:2 COUNTBLANK:1 350 ISPMT:4 DATEDIF:3 DATESTRING:1 "
    "NUMBERSTRING:2 ROMAN 358 GETPIVOTDATA:2 HYPERLINK PHONETIC:1 AVERAGEA MAXA MINA STDEVPA VARPA STDEVA VARA "
    "BAHTTEXT:1 THAIDAYOFWEEK:1 THAIDIGIT:1 THAIMONTHOFYEAR:1 THAINUMSOUND:1 THAINUMSTRING:1 THAISTRINGLENGTH:1 "
    "ISTHAIDIGIT:1 ROUNDBAHTDOWN:1 ROUNDBAHTUP:1 THAIYEAR:1 RTD CUBEVALUE CUBEMEMBER CUBEMEMBERPROPERTY "
    "CUBERANKEDMEMBER HEX2BIN HEX2DEC:1 HEX2OCT DEC2BIN DEC2HEX DEC2OCT OCT2BIN OCT2HEX OCT2DEC:1 BIN2DEC:1 BIN2OCT "
    "BIN2HEX IMSUB:2 IMDIV:2 IMPOWER:2 IMABS:1 IMSQRT:1 IMLN:1 IMLOG2:1 IMLOG10:1 IMSIN:1 IMCOS:1 IMEXP:1 IMARGUMENT:1 "
    "IMCONJUGATE:1 IMAGINARY:1 IMREAL:1 COMPLEX IMSUM IMPRODUCT SERIESSUM:4 FACTDOUBLE:1 SQRTPI:1 QUOTIENT:2 DELTA "
    "GESTEP ISEVEN:1 ISODD:1 MROUND:2 ERF ERFC:1 BESSELJ:2 BESSELK:2 BESSELY:2 BESSELI:2 XIRR XNPV:3 PRICEMAT YIELDMAT "
    "INTRATE RECEIVED DISC PRICEDISC YIELDDISC TBILLEQ:3 TBILLPRICE:3 TBILLYIELD:3 PRICE YIELD DOLLARDE:2 DOLLARFR:2 "
    "NOMINAL:2 EFFECT:2 CUMPRINC:6 CUMIPMT:6 EDATE:2 EOMONTH:2 YEARFRAC COUPDAYBS COUPDAYS COUPDAYSNC COUPNCD COUPNUM "
    "COUPPCD DURATION MDURATION ODDLPRICE ODDLYIELD ODDFPRICE ODDFYIELD RANDBETWEEN:2 WEEKNUM AMORDEGRC AMORLINC "
    "CONVERT:3 ACCRINT ACCRINTM WORKDAY NETWORKDAYS GCD MULTINOMIAL LCM FVSCHEDULE:2 CUBEKPIMEMBER CUBESET "
    "CUBESETCOUNT:1 IFERROR:2 COUNTIFS SUMIFS AVERAGEIF AVERAGEIFS"
)
"""Functions by number from 0, with the number of arguments if it is fixed. A number goes before one after a gap."""


def _function_table() -> dict[int, tuple[str, int]]:
    """Return the names of functions by number, and the number of arguments; -1 if it varies."""
    table: dict[int, tuple[str, int]] = {}
    number = 0
    for word in _FUNCTION_NAMES.split():
        if word.isdecimal():
            number = int(word)
            continue
        name, _, count = word.partition(":")
        table[number] = (name, int(count) if count else -1)
        number += 1
    return table


_FUNCTIONS = _function_table()


class FormulaNames:
    """The sheets and names that the formulas of one workbook refer to."""

    def __init__(self) -> None:
        self.sheets: list[str] = []
        self.names: list[str] = []
        """Defined names by number from 1."""
        self.references: list[tuple[int, int, int]] = []
        """For each number of a reference: the workbook, the first and the last sheet."""
        self.own_books: set[int] = set()
        """Numbers of workbooks that stand for the file itself."""
        self.outer_names: dict[int, list[str]] = {}
        """Names in other workbooks and functions of extensions, by the number of the workbook."""
        self.outer_books: dict[int, tuple[str, list[str]]] = {}
        """The file names of other workbooks and their sheets, by the number of the workbook."""

    def sheet(self, number: int) -> str | None:
        """Return the sheets of a reference as they precede the name of a cell; None if they are not known."""
        if number >= len(self.references):
            return None
        book, first, last = self.references[number]
        file, sheets = ("", self.sheets) if book in self.own_books else self.outer_books.get(book, ("", []))
        if not (0 <= first < len(sheets) and 0 <= last < len(sheets)):
            return None
        name = f"[{file}]" if file else ""
        name += sheets[first] if first == last else f"{sheets[first]}:{sheets[last]}"
        is_plain = name.replace("_", "a").replace(":", "a").isalnum() and not name[0].isdecimal()
        return f"{name}!" if is_plain else "'" + name.replace("'", "''") + "'!"

    def name(self, number: int) -> str | None:
        """Return a defined name."""
        return self.names[number - 1].removeprefix(_FUTURE) if 0 < number <= len(self.names) else None

    def outer_name(self, reference: int, number: int) -> str | None:
        """Return a name of another workbook, or of the file itself."""
        if reference >= len(self.references):
            return None
        book = self.references[reference][0]
        if book in self.own_books:
            return self.name(number)
        names = self.outer_names.get(book, [])
        return names[number - 1].removeprefix(_FUTURE) if 0 < number <= len(names) else None


class _Unknown(Exception):
    """A token cannot be written as text."""


class FormulaReader:
    """Reads the tokens of formulas of one workbook."""

    def __init__(self, names: FormulaNames) -> None:
        self._names = names

    def text(self, tokens: bytes, extra: bytes = b"", place: tuple[int, int] = (0, 0)) -> str | None:
        """Return a formula without the equals sign; None if it cannot be written.

        `extra` is what follows the tokens, `place` the cell that relative references are counted from.
        """
        try:
            stack = self._run(tokens, _Extra(extra), place)
        except (_Unknown, IndexError, struct.error, UnicodeDecodeError, ValueError):
            return None
        return stack[0] if len(stack) == 1 and 0 < len(stack[0]) <= MAX_CHARS else None

    def _run(self, tokens: bytes, extra: _Extra, place: tuple[int, int]) -> list[str]:
        stack: list[str] = []
        at = count = size = 0
        while at < len(tokens):
            code = tokens[at]
            at += 1
            count += 1
            if code >= 0x40:
                code = (code | 0x20) & 0x3F
            operator = _BINARY.get(code)
            if operator is not None:
                right, left = stack.pop(), stack.pop()
                stack.append(left + operator + right)
                size = len(stack[-1])
            elif code == 0x24:
                row, column = _REF.unpack_from(tokens, at)
                at += _REF.size
                stack.append(self._cell(row, column))
            elif code == 0x25:
                stack.append(self._area_text(*_AREA.unpack_from(tokens, at)))
                at += _AREA.size
            elif code in _OTHERS:
                at = _OTHERS[code](self, tokens, at, stack, extra, place)
                size = len(stack[-1]) if stack else 0
            else:
                raise _Unknown
            if size > MAX_CHARS or count > _MAX_TOKENS:
                raise _Unknown
        return stack

    # --- references --------------------------------------------------------------------------------------------------

    def _cell(self, row: int, column: int) -> str:
        letters = cells.column_letters(column & 0xFF)
        return f"{'' if column & 0x4000 else '$'}{letters}{'' if column & 0x8000 else '$'}{row + 1}"

    def _area_text(self, first_row: int, last_row: int, first_column: int, last_column: int) -> str:
        if first_row == 0 and last_row == _ROWS - 1:
            first, last = cells.column_letters(first_column & 0xFF), cells.column_letters(last_column & 0xFF)
            return f"{_fixed(first_column, 0x4000)}{first}:{_fixed(last_column, 0x4000)}{last}"
        if first_column & 0xFF == 0 and last_column & 0xFF == _COLUMNS - 1:
            return f"{_fixed(first_column, 0x8000)}{first_row + 1}:{_fixed(last_column, 0x8000)}{last_row + 1}"
        return f"{self._cell(first_row, first_column)}:{self._cell(last_row, last_column)}"

    def _moved(self, row: int, column: int, place: tuple[int, int]) -> tuple[int, int]:
        """Return a reference of a shared formula: relative numbers are counted from the place, around the edge."""
        if column & 0x8000:
            row = (row + place[0]) % _ROWS
        if column & 0x4000:
            flags = column & 0xC000
            column = flags | ((column & 0xFF) + place[1]) % _COLUMNS
        return row, column

    def _add_relative(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        row, column = _REF.unpack_from(tokens, at)
        stack.append(self._cell(*self._moved(row, column, place)))
        return at + _REF.size

    def _add_relative_area(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        first_row, last_row, first_column, last_column = _AREA.unpack_from(tokens, at)
        first_row, first_column = self._moved(first_row, first_column, place)
        last_row, last_column = self._moved(last_row, last_column, place)
        stack.append(self._area_text(first_row, last_row, first_column, last_column))
        return at + _AREA.size

    def _add_sheet_cell(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        row, column = _REF.unpack_from(tokens, at + 2)
        stack.append(self._sheet(tokens, at) + self._cell(row, column))
        return at + 2 + _REF.size

    def _add_sheet_area(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        stack.append(self._sheet(tokens, at) + self._area_text(*_AREA.unpack_from(tokens, at + 2)))
        return at + 2 + _AREA.size

    def _sheet(self, tokens: bytes, at: int) -> str:
        name = self._names.sheet(int.from_bytes(tokens[at : at + 2], "little"))
        if name is None:
            raise _Unknown
        return name

    def _add_lost(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        code = tokens[at - 1] & 0x1F
        stack.append("#REF!")
        return at + (_REF.size if code in (0x0A, 0x1C) else _AREA.size) + (2 if code >= 0x1C else 0)

    # --- operands ----------------------------------------------------------------------------------------------------

    def _add_text(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        is_utf16 = tokens[at + 1] & 1
        size, at, encoding = tokens[at] * (1 + is_utf16), at + 2, "utf-16-le" if is_utf16 else "latin-1"
        stack.append('"' + tokens[at : at + size].decode(encoding).replace('"', '""') + '"')
        return at + size

    def _add_constant(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        code = tokens[at - 1]
        if code == 0x16:
            stack.append("")
            return at
        if code == 0x1C:
            stack.append(ERRORS.get(tokens[at], "#ERROR"))
            return at + 1
        if code == 0x1D:
            stack.append("TRUE" if tokens[at] else "FALSE")
            return at + 1
        if code == 0x1E:
            stack.append(str(struct.unpack_from("<H", tokens, at)[0]))
            return at + 2
        stack.append(repr(struct.unpack_from("<d", tokens, at)[0]).removesuffix(".0"))
        return at + 8

    def _add_array(self, tokens: bytes, at: int, stack: list[str], extra: _Extra, place: tuple[int, int]) -> int:
        stack.append(extra.array())
        return at + 7

    def _add_name(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        name = self._names.name(int.from_bytes(tokens[at : at + 2], "little"))
        if name is None:
            raise _Unknown
        stack.append(name)
        return at + 4

    def _add_outer_name(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        reference = int.from_bytes(tokens[at : at + 2], "little")
        number = int.from_bytes(tokens[at + 2 : at + 4], "little")
        name = self._names.outer_name(reference, number)
        if name is None:
            raise _Unknown
        stack.append(name)
        return at + 6

    # --- operators and functions -------------------------------------------------------------------------------------

    def _add_sign(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        before, after = {0x12: ("+", ""), 0x13: ("-", ""), 0x14: ("", "%"), 0x15: ("(", ")")}[tokens[at - 1]]
        stack.append(before + stack.pop() + after)
        return at

    def _add_function(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        name, count = _FUNCTIONS.get(struct.unpack_from("<H", tokens, at)[0], ("", -1))
        if count < 0:
            raise _Unknown
        _call(stack, name, count)
        return at + 2

    def _add_varied_function(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        count, number = tokens[at] & 0x7F, struct.unpack_from("<H", tokens, at + 1)[0] & 0x7FFF
        if number == 0xFF and count:  # the first argument is the name
            name = stack[-count]
            del stack[-count]
            count -= 1
        else:
            name = _FUNCTIONS.get(number, ("", -1))[0]
        if not name:
            raise _Unknown
        _call(stack, name, count)
        return at + 3

    def _skip_attribute(self, tokens: bytes, at: int, stack: list[str], _: _Extra, place: tuple[int, int]) -> int:
        kind, number = tokens[at], int.from_bytes(tokens[at + 1 : at + 3], "little")
        if kind & 0x10:
            _call(stack, "SUM", 1)
        return at + 3 + (2 * number + 2 if kind & 0x04 else 0)

    def _skip_memory(self, tokens: bytes, at: int, stack: list[str], extra: _Extra, place: tuple[int, int]) -> int:
        """Skip a token before an expression of areas, which follows."""
        code = tokens[at - 1] & 0x1F
        extra.is_known = extra.is_known and code != 0x06
        return at + (2 if code == 0x09 else 6)


def _fixed(column: int, bit: int) -> str:
    return "" if column & bit else "$"


def _call(stack: list[str], name: str, count: int) -> None:
    if count > len(stack):
        raise _Unknown
    arguments = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    stack.append(f"{name}({','.join(arguments)})")


class _Extra:
    """The values of arrays, which follow the tokens of a formula."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self.is_known = True

    def array(self) -> str:
        """Return the next array: {1,2;3,4}."""
        if not self.is_known:
            raise _Unknown
        columns, rows = struct.unpack_from("<BH", self._data, self._at)
        self._at += 3
        if (columns + 1) * (rows + 1) > _MAX_TOKENS:
            raise _Unknown
        return "{" + ";".join([",".join([self._value() for _ in range(columns + 1)]) for _ in range(rows + 1)]) + "}"

    def _value(self) -> str:
        kind, at = self._data[self._at], self._at + 1
        self._at = at + 8
        if kind == 0x01:
            return repr(struct.unpack_from("<d", self._data, at)[0]).removesuffix(".0")
        if kind == 0x02:
            count, flags = struct.unpack_from("<HB", self._data, at)
            size = count * (1 + (flags & 1))
            self._at = at + 3 + size
            text = self._data[at + 3 : self._at].decode("utf-16-le" if flags & 1 else "latin-1")
            return '"' + text.replace('"', '""') + '"'
        if kind == 0x04:
            return "TRUE" if self._data[at] else "FALSE"
        return ERRORS.get(self._data[at], "#ERROR") if kind == 0x10 else ""


_OTHERS: dict[int, Callable[[FormulaReader, bytes, int, list[str], _Extra, tuple[int, int]], int]] = {
    **dict.fromkeys((0x12, 0x13, 0x14, 0x15), FormulaReader._add_sign),
    **dict.fromkeys((0x16, 0x1C, 0x1D, 0x1E, 0x1F), FormulaReader._add_constant),
    0x17: FormulaReader._add_text,
    0x19: FormulaReader._skip_attribute,
    0x20: FormulaReader._add_array,
    0x21: FormulaReader._add_function,
    0x22: FormulaReader._add_varied_function,
    0x23: FormulaReader._add_name,
    **dict.fromkeys((0x26, 0x27, 0x28, 0x29), FormulaReader._skip_memory),
    **dict.fromkeys((0x2A, 0x2B, 0x3C, 0x3D), FormulaReader._add_lost),
    0x2C: FormulaReader._add_relative,
    0x2D: FormulaReader._add_relative_area,
    0x39: FormulaReader._add_outer_name,
    0x3A: FormulaReader._add_sheet_cell,
    0x3B: FormulaReader._add_sheet_area,
}
"""Functions by token, without the bits of its class. Each gets the place after the token and returns the next one."""
