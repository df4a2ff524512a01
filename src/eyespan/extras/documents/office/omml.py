"""Equations of office files (Office MathML) as LaTeX.

An equation in a file is a tree: a fraction has a numerator and a denominator. Its texts in a row lose the meaning, so
each element is written as the command of LaTeX that means the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

from eyespan.extras.documents.shared.xml_tree import NAMES, attributes, text_of

MAX_DEPTH = 60
"""Elements nested more deeply are written without their structure."""

_GREEK = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma tau upsilon "
    "varphi chi psi omega"
)


def _table(text: str) -> dict[str, str]:
    """Return a table of words that stand in pairs."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


_COMMANDS = {chr(0x3B1 + place): name for place, name in enumerate(_GREEK.split()) if name != "o"} | _table(
    "Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Υ Upsilon Φ Phi Ψ Psi Ω Omega ϵ epsilon ϑ vartheta "
    "ϕ phi ϱ varrho × times ÷ div ± pm ∓ mp ≤ le ≥ ge ≠ ne ≈ approx ≡ equiv ∞ infty ∂ partial ∇ nabla ∑ sum "
    "∏ prod ∐ coprod ∫ int ∬ iint ∭ iiint ∮ oint ∈ in ∉ notin ∋ ni ⊂ subset ⊆ subseteq ⊃ supset ⊇ supseteq "
    "∪ cup ∩ cap ∧ wedge ∨ vee ¬ neg ∀ forall ∃ exists → to ← leftarrow ↔ leftrightarrow ⇒ Rightarrow "
    "⇐ Leftarrow ⇔ Leftrightarrow ↦ mapsto ⋅ cdot ∙ cdot · cdot … dots ⋯ cdots ⋮ vdots ⋱ ddots √ surd "
    "∝ propto ∠ angle ⊥ perp ∥ parallel ∅ emptyset ℏ hbar ℓ ell ℜ Re ℑ Im ′ prime ∘ circ ⊕ oplus ⊗ otimes "
    "∼ sim ≅ cong ≪ ll ≫ gg ⟨ langle ⟩ rangle 〈 langle 〉 rangle ⌈ lceil ⌉ rceil ⌊ lfloor ⌋ rfloor ‖ | "
    "ℝ mathbb{R} ℕ mathbb{N} ℤ mathbb{Z} ℚ mathbb{Q} ℂ mathbb{C} ⋀ bigwedge ⋁ bigvee ⋂ bigcap ⋃ bigcup "
    "∖ setminus ° degree"
)
_ACCENTS = {
    "\u0300": "grave",
    "\u0301": "acute",
    "\u0302": "hat",
    "\u0303": "tilde",
    "\u0304": "bar",
    "\u0305": "overline",
    "\u0306": "breve",
    "\u0307": "dot",
    "\u0308": "ddot",
    "\u030c": "check",
    "\u0332": "underline",
    "\u20d1": "vec",
    "\u20d6": "overleftarrow",
    "\u20d7": "vec",
    "\u20db": "dddot",
    "¯": "bar",
    "^": "hat",
    "~": "tilde",
    "→": "vec",
}
_FUNCTION_NAMES = (
    "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan log ln lg exp lim max min sup inf det dim ker "
    "gcd arg deg hom Pr"
)
_FUNCTIONS = frozenset(_FUNCTION_NAMES.split())
_HIDDEN = dict.fromkeys((0x2061, 0x2062, 0x2063, 0x2064, 0x200B, 0xFEFF))
_WORD = re.compile(r"(?<!\\)(?<![A-Za-z])[A-Za-z]{2,}")
_COMMAND = re.compile(r"\\[A-Za-z]+|\\?.")
_ESCAPED = "%&#_$"
_SIGNS = {"\\": "\\backslash ", "−": "-", "–": "-", "∗": "*"}


def latex(equation: Element) -> str:
    """Return an equation as LaTeX, without the signs around it; "" if it is empty."""
    return " ".join(_children(equation, 0).split())


# --- texts -----------------------------------------------------------------------------------------------------------


def _characters(text: str) -> str:
    written = []
    for character in text.translate(_HIDDEN):
        # Letters of other shapes (bold, script) have characters of their own.
        plain = unicodedata.normalize("NFKC", character) if "\U0001d400" <= character < "\U0001d800" else character
        command = _COMMANDS.get(plain)
        if command is not None:
            written.append(f"\\{command} ")
        elif plain in _ESCAPED or plain in ("{", "}"):
            written.append("\\" + plain)
        else:
            written.append(_SIGNS.get(plain, plain))
    return _WORD.sub(_named_function, "".join(written))


def _named_function(found: re.Match[str]) -> str:
    return f"\\{found[0]} " if found[0] in _FUNCTIONS else found[0]


def _quoted_text(text: str) -> str:
    """Return text that is not mathematics."""
    if not text.strip():
        return text
    return "\\text{" + "".join(["\\" + c if c in _ESCAPED or c in "{}" else c for c in text]) + "}"


def _run(element: Element, depth: int) -> str:
    is_plain = any(NAMES[child.tag] == "m:rPr" and _child(child, "nor") is not None for child in element)
    written = []
    for child in element:
        name = NAMES[child.tag]
        if name in ("m:t", "w:t", "a:t"):
            text = text_of(child)
            written.append(_quoted_text(text) if is_plain else _characters(text))
        elif name in ("w:br", "w:tab", "a:br"):
            written.append(" ")
    return "".join(written)


# --- structures ------------------------------------------------------------------------------------------------------


def _children(element: Iterable[Element], depth: int) -> str:
    return "".join([_element(child, depth + 1) for child in element])


def _element(element: Element, depth: int) -> str:
    name = NAMES[element.tag]
    if depth > MAX_DEPTH:
        return _characters("".join(element.itertext()))
    if name in ("m:t", "w:t", "a:t"):
        return _characters(text_of(element))
    if name.endswith("Pr") or name in ("w:del", "w:moveFrom"):
        return ""
    write = _WRITERS.get(name)
    return _children(element, depth) if write is None else write(element, depth)


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if NAMES[child.tag] == f"m:{name}"), None)


def _argument(element: Element, name: str, depth: int) -> str:
    child = _child(element, name)
    return "" if child is None else _children(child, depth).strip()


def _property(element: Element, properties: str, name: str) -> str | None:
    """Return a property of an element: None if it is not given, "" if it has no value."""
    group = _child(element, properties)
    child = None if group is None else _child(group, name)
    return None if child is None else attributes(child).get("val", "")


def _group(text: str) -> str:
    return "{" + text + "}"


def _base(text: str) -> str:
    """Return what a script belongs to; more than one sign is grouped."""
    return text if _COMMAND.fullmatch(text) else _group(text)


def _fraction(element: Element, depth: int) -> str:
    above, below = _argument(element, "num", depth), _argument(element, "den", depth)
    kind = _property(element, "fPr", "type")
    if kind == "lin":
        return f"{_base(above)}/{_base(below)}"
    if kind == "noBar":
        return "\\genfrac{}{}{0pt}{}" + _group(above) + _group(below)
    return "\\frac" + _group(above) + _group(below)


def _scripts(element: Element, depth: int) -> str:
    base = _base(_argument(element, "e", depth))
    for name, sign in (("sub", "_"), ("sup", "^")):
        if _child(element, name) is not None:
            base += sign + _group(_argument(element, name, depth))
    return base


def _scripts_before(element: Element, depth: int) -> str:
    scripts = "".join([sign + _group(_argument(element, name, depth)) for name, sign in (("sub", "_"), ("sup", "^"))])
    return "{}" + scripts + _base(_argument(element, "e", depth))


def _root(element: Element, depth: int) -> str:
    degree = _argument(element, "deg", depth)
    return "\\sqrt" + (f"[{degree}]" if degree else "") + _group(_argument(element, "e", depth))


def _operator(element: Element, depth: int) -> str:
    """Return a sum, a product or an integral with its limits."""
    sign = _property(element, "naryPr", "chr")
    written = _characters("∫" if sign is None else sign).strip() or "\\int"
    for name, script in (("sub", "_"), ("sup", "^")):
        if limit := _argument(element, name, depth):
            written += script + _group(limit)
    return f"{written} {_argument(element, 'e', depth)}"


def _fences(element: Element, depth: int) -> str:
    signs = [_property(element, "dPr", name) for name in ("begChr", "sepChr", "endChr")]
    left, between, right = [usual if sign is None else sign for sign, usual in zip(signs, "(|)", strict=True)]
    inner = [_children(child, depth).strip() for child in element if NAMES[child.tag] == "m:e"]
    separator = f" {_characters(between).strip()} "
    return f"\\left{_fence(left)} {separator.join(inner)} \\right{_fence(right)}"


def _fence(sign: str) -> str:
    return _characters(sign).strip() or "."


def _function(element: Element, depth: int) -> str:
    return f"{_argument(element, 'fName', depth)} {_group(_argument(element, 'e', depth))}"


def _limit_below(element: Element, depth: int) -> str:
    base = _argument(element, "e", depth)
    written = base if base.startswith("\\") else "\\operatorname*" + _group(base)
    return f"{written}_{_group(_argument(element, 'lim', depth))}"


def _limit_above(element: Element, depth: int) -> str:
    return "\\overset" + _group(_argument(element, "lim", depth)) + _group(_argument(element, "e", depth))


def _accent(element: Element, depth: int) -> str:
    sign = _property(element, "accPr", "chr")
    return "\\" + _ACCENTS.get("\u0302" if sign is None else sign, "hat") + _group(_argument(element, "e", depth))


def _bar(element: Element, depth: int) -> str:
    command = "\\overline" if _property(element, "barPr", "pos") == "top" else "\\underline"
    return command + _group(_argument(element, "e", depth))


def _brace(element: Element, depth: int) -> str:
    command = "\\overbrace" if _property(element, "groupChrPr", "pos") == "top" else "\\underbrace"
    return command + _group(_argument(element, "e", depth))


def _box(element: Element, depth: int) -> str:
    return "\\boxed" + _group(_argument(element, "e", depth))


def _matrix(element: Element, depth: int) -> str:
    rows = [
        " & ".join([_children(cell, depth).strip() for cell in row if NAMES[cell.tag] == "m:e"])
        for row in element
        if NAMES[row.tag] == "m:mr"
    ]
    return "\\begin{matrix}" + " \\\\ ".join(rows) + "\\end{matrix}"


def _stacked_lines(element: Element, depth: int) -> str:
    rows = [_children(row, depth).strip() for row in element if NAMES[row.tag] == "m:e"]
    return "\\begin{aligned}" + " \\\\ ".join(rows) + "\\end{aligned}"


_WRITERS: dict[str, Callable[[Element, int], str]] = {
    "m:r": _run,
    "m:f": _fraction,
    **dict.fromkeys(("m:sSub", "m:sSup", "m:sSubSup"), _scripts),
    "m:sPre": _scripts_before,
    "m:rad": _root,
    "m:nary": _operator,
    "m:d": _fences,
    "m:func": _function,
    "m:limLow": _limit_below,
    "m:limUpp": _limit_above,
    "m:acc": _accent,
    "m:bar": _bar,
    "m:groupChr": _brace,
    "m:borderBox": _box,
    "m:m": _matrix,
    "m:eqArr": _stacked_lines,
}
"""Functions by element. All other elements are written as their children in a row."""
