"""Number formats of spreadsheets, applied where they change what a number means.

A percentage, a currency, a unit, a date and leading zeros are part of the meaning of a number. Rounding, separators of
thousands and colours are not: the exact number is shown.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Literal, NamedTuple

Meaning = Literal["", "percent", "text", "zeros", "date", "time", "datetime", "elapsed"]

_TOKEN = re.compile(
    r'"([^"]*)"?'  # 1: a quoted text
    r"|\\(.)"  # 2: an escaped character
    r"|[_*](?:.|$)"  # a blank as wide as a character, or a character that fills the cell
    r"|\[([^\]]*)\]"  # 3: a colour, a condition, a locale with a currency, or a count of hours, minutes or seconds
    r"|(General|[Ee][+-]|AM/PM|A/P|[^;])",  # 4: a placeholder, or a character that stands for itself
    re.DOTALL | re.IGNORECASE,
)
_SYMBOLS = "$€£¥₩₹₽¢₺₴₪฿₫₱"
_MAX_CODE_CHARS = 255

BUILT_IN = {
    5: '"$"#,##0',
    6: '"$"#,##0',
    7: '"$"#,##0.00',
    8: '"$"#,##0.00',
    9: "0%",
    10: "0.00%",
    14: "yyyy-mm-dd",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm",
    42: '"$"#,##0',
    44: '"$"#,##0.00',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
}
"""Formats that files name by number only."""


class NumberFormat(NamedTuple):
    """The meaning of one section of a format: what a number is, and the texts around it."""

    meaning: Meaning
    prefix: str = ""
    suffix: str = ""
    template: str = ""
    """For leading zeros: the placeholders and the characters between them."""


_PLAIN = NumberFormat("")


def has_meaning(code: str) -> bool:
    """Return True if a number of this format means more than its digits, dates aside."""
    return any(section.meaning in ("percent", "text", "zeros") for section in _sections(code[:_MAX_CODE_CHARS]))


def meaning(code: str) -> Meaning:
    """Return the meaning of positive numbers of this format."""
    return _sections(code[:_MAX_CODE_CHARS])[0].meaning


def shown(value: float, code: str) -> str | None:
    """Return a number as its format gives it, with up to 15 digits; None if the format adds nothing to them."""
    sections = _sections(code[:_MAX_CODE_CHARS])
    section = sections[0]
    if value < 0 and len(sections) > 1:
        section = sections[1]
    elif value == 0 and len(sections) > 2:
        section = sections[2]
    if section.meaning == "percent":
        percent = _percent(value)
        return None if percent is None else f"{section.prefix}{percent}{section.suffix}"
    if section.meaning == "text":
        return f"{section.prefix}{rounded(value)}{section.suffix}"
    if section.meaning == "zeros":
        return _filled(value, section.template)
    return None


def plain(value: float) -> str:
    """Return a number with all its digits, whole numbers without a fraction."""
    return repr(value).removesuffix(".0")


def rounded(value: float) -> str:
    """Return a number with the 15 digits that spreadsheets show at most."""
    return plain(float(f"{value:.15g}"))


def _percent(value: float) -> str | None:
    try:
        scaled = (Decimal(f"{value:.15g}") * 100).normalize()
    except InvalidOperation:
        return None
    if not scaled.is_finite():
        return None
    return f"{scaled:f}" if -20 < scaled.adjusted() < 20 else str(scaled)


def _filled(value: float, template: str) -> str | None:
    """Return a whole number in a template of zeros: 501 in "00000" is 00501."""
    if value < 0 or value != int(value):
        return None
    digits = str(int(value)).rjust(template.count("0"), "0")
    filled = []
    for character in reversed(template):
        if character == "0":
            filled.append(digits[-1])
            digits = digits[:-1]
        else:
            filled.append(character)
    return digits + "".join(reversed(filled))


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[NumberFormat, ...]:
    sections = _split(code)[:3]
    if any(match[3] and match[3][:1] in "<>=" for section in sections for match in section):
        return (_PLAIN,)  # conditions on the number decide on the section
    return tuple([_section(section) for section in sections])


def _split(code: str) -> list[list[re.Match[str]]]:
    """Return the tokens of each section; a semicolon in quotes belongs to the text."""
    sections: list[list[re.Match[str]]] = [[]]
    at = 0
    while at < len(code):
        match = _TOKEN.match(code, at)
        if match is None:  # a semicolon
            sections.append([])
            at += 1
        else:
            sections[-1].append(match)
            at = match.end()
    return sections


def _section(tokens: list[re.Match[str]]) -> NumberFormat:
    texts = {"before": "", "between": "", "after": ""}
    place = "before"
    letters = ""  # the placeholders of a date, in their order
    template = ""
    has_percent = is_scaled = False
    for match in tokens:
        quoted, escaped, bracketed, sign = match.groups()
        literal = quoted if quoted is not None else escaped or ""
        if bracketed is not None:
            if bracketed.startswith("$"):
                literal = bracketed[1:].partition("-")[0]
            elif bracketed.lower().strip("hms") == "" and bracketed:
                return NumberFormat("elapsed")
        elif sign is not None:
            lower = sign.lower()
            if sign == "%":
                has_percent = True
            elif sign in "0#?":
                if place == "after":
                    texts["between"] += texts["after"]
                    texts["after"] = ""
                    is_scaled = False
                place = "after"
                template += sign
            elif sign == ",":
                is_scaled = place == "after"  # after the last digit: the number is shown in thousands
            elif lower in ("am/pm", "a/p"):
                letters += "h"
            elif lower in "ymdhs":
                letters += lower
            elif sign in _SYMBOLS:
                literal = sign
            elif sign in ".@/" or lower == "general" or lower[0] == "e":
                template += "x"
                place = "after" if lower == "general" else place
            elif sign in "-:":
                template += sign
                continue
        if literal:
            texts[place] += literal
            template += literal
    if letters:
        return NumberFormat(_date_meaning(letters))
    if not template or is_scaled:
        return _PLAIN
    return _number_section(texts, template, has_percent)


def _number_section(texts: dict[str, str], template: str, has_percent: bool) -> NumberFormat:
    has_digits = any(sign in template for sign in "0#?x")
    before, after = _unit(texts["before"]), _unit(texts["after"])
    if not has_digits:
        return _PLAIN  # a text instead of the number: the number says more
    if has_percent:
        return NumberFormat("percent", before, "%" + after)
    zeros = template.strip()
    if zeros.count("0") > 1 and not set(zeros) - set("0-./ ()") and zeros[:1] in "0(":
        return NumberFormat("zeros", template=zeros)
    return NumberFormat("text", before, after) if before or after else _PLAIN


def _unit(text: str) -> str:
    """Return a text beside a number without the signs that stand for less than zero; "" if nothing is left."""
    kept = text.strip("()-+") if text.strip(" ()-+") else ""
    return kept if kept.strip(" –—.,:;") else ""


def _date_meaning(letters: str) -> Meaning:
    has_time = "h" in letters or "s" in letters
    has_date = "y" in letters or "d" in letters or ("m" in letters and not has_time)
    return "datetime" if has_date and has_time else "time" if has_time else "date"
