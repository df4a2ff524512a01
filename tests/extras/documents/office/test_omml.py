"""Equations as LaTeX: each structure, names of functions, and texts."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

import pytest

from eyespan.extras.documents.office import omml

SPACE = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def latex(body: str) -> str:
    return omml.latex(fromstring(f'<m:oMath xmlns:m="{SPACE}">{body}</m:oMath>'))


def run(text: str, properties: str = "") -> str:
    return f"<m:r>{properties}<m:t>{text}</m:t></m:r>"


def part(name: str, text: str) -> str:
    return f"<m:{name}>{run(text)}</m:{name}>"


def value(name: str, text: str) -> str:
    return f'<m:{name} m:val="{text}"/>'


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (run("a+b"), "a+b"),
        (run("sinθ × 3"), r"\sin \theta \times 3"),
        (run("2.2×") + f"<m:sSup>{part('e', '10')}{part('sup', '−4')}</m:sSup>", r"2.2\times {10}^{-4}"),
        (f"<m:f>{part('num', 'a')}{part('den', 'λ')}</m:f>", r"\frac{a}{\lambda}"),
        (f"<m:f><m:fPr>{value('type', 'lin')}</m:fPr>{part('num', 'a')}{part('den', 'bc')}</m:f>", "a/{bc}"),
        (
            f"<m:f><m:fPr>{value('type', 'noBar')}</m:fPr>{part('num', 'n')}{part('den', 'k')}</m:f>",
            r"\genfrac{}{}{0pt}{}{n}{k}",
        ),
        (f"<m:sSub>{part('e', 'x')}{part('sub', 'i')}</m:sSub>", "x_{i}"),
        (f"<m:sSubSup>{part('e', 'R')}{part('sub', 'i')}{part('sup', 'j')}</m:sSubSup>", "R_{i}^{j}"),
        (f"<m:sPre>{part('sub', '2')}{part('sup', '4')}{part('e', 'He')}</m:sPre>", "{}_{2}^{4}{He}"),
        (f"<m:rad>{part('deg', '')}{part('e', 'x')}</m:rad>", r"\sqrt{x}"),
        (f"<m:rad>{part('deg', '3')}{part('e', 'x')}</m:rad>", r"\sqrt[3]{x}"),
        (
            f"<m:nary><m:naryPr>{value('chr', '∑')}</m:naryPr>{part('sub', 'k=0')}{part('sup', 'n')}{part('e', 'k')}"
            "</m:nary>",
            r"\sum_{k=0}^{n} k",
        ),
        (f"<m:nary>{part('e', 'f')}</m:nary>", r"\int f"),
        (f"<m:d>{part('e', 'x')}</m:d>", r"\left( x \right)"),
        (
            f"<m:d><m:dPr>{value('begChr', '{')}{value('endChr', '')}</m:dPr>{part('e', 'x')}{part('e', 'y')}</m:d>",
            r"\left\{ x | y \right.",
        ),
        (f"<m:func>{part('fName', 'lim')}{part('e', 'x')}</m:func>", r"\lim {x}"),
        (f"<m:limLow>{part('e', 'lim')}{part('lim', 'n→∞')}</m:limLow>", r"\lim_{n\to \infty}"),
        (f"<m:limLow>{part('e', 'opt')}{part('lim', 'n')}</m:limLow>", r"\operatorname*{opt}_{n}"),
        (f"<m:limUpp>{part('e', '=')}{part('lim', '!')}</m:limUpp>", r"\overset{!}{=}"),
        (f"<m:acc>{part('e', 'e')}</m:acc>", r"\hat{e}"),
        (f"<m:acc><m:accPr>{value('chr', chr(0x20D7))}</m:accPr>{part('e', 'v')}</m:acc>", r"\vec{v}"),
        (f"<m:bar><m:barPr>{value('pos', 'top')}</m:barPr>{part('e', 'z')}</m:bar>", r"\overline{z}"),
        (f"<m:groupChr>{part('e', 'z')}</m:groupChr>", r"\underbrace{z}"),
        (f"<m:borderBox>{part('e', 'z')}</m:borderBox>", r"\boxed{z}"),
        (
            f"<m:m><m:mr>{part('e', 'a')}{part('e', 'b')}</m:mr><m:mr>{part('e', 'c')}</m:mr></m:m>",
            r"\begin{matrix}a & b \\ c\end{matrix}",
        ),
        (f"<m:eqArr>{part('e', 'a')}{part('e', 'b')}</m:eqArr>", r"\begin{aligned}a \\ b\end{aligned}"),
        (run("price $5", "<m:rPr><m:nor/></m:rPr>"), r"\text{price \$5}"),
        (run("50% of a_b"), r"50\% of a\_b"),
        (f"<m:box>{part('e', 'unknown')}</m:box>", "unknown"),
        ("", ""),
    ],
)
def test_a_structure_is_the_command_that_means_the_same(body, wanted):
    assert latex(body) == wanted


def test_very_deep_equations_keep_their_text():
    deep = run("x")
    for _ in range(omml.MAX_DEPTH):
        deep = f"<m:rad><m:e>{deep}</m:e></m:rad>"

    assert latex(deep).rstrip("}").endswith("x")
