"""docs/tour.svg shows the output of `make run`, with its indentation."""

from __future__ import annotations

import os
import re
from html import unescape
from xml.etree import ElementTree

import pytest

from tools import tour_image


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="runs the tour on a terminal")
def test_the_image_shows_the_tour():
    assert tour_image.PAGE.read_text("utf-8") == tour_image.image()


def test_the_image_compares_two_answers():
    assert tour_image.COMPARED.read_text("utf-8") == tour_image.compared()


@pytest.mark.parametrize("image", sorted(tour_image.HERE.glob("docs/**/*.svg")), ids=str)
def test_an_image_is_well_formed(image):
    assert ElementTree.parse(image).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_a_long_line_is_cut_at_its_text():
    line = tour_image.row("\x1b[2m" + "x" * 200 + "\x1b[0m", 1)

    assert line == f'<text x="16" y="25"><tspan class="dim">{"x" * (tour_image.WIDTH - 1)}…</tspan></text>'


def test_the_image_keeps_indentation_and_the_fields_of_objects():
    rows = [unescape(re.sub("<[^>]*>", "", line)) for line in tour_image.PAGE.read_text("utf-8").splitlines()]
    text = "\n".join(rows).replace("\xa0", " ")

    assert "\n    1201        def moor_200(boat):\n" in text
    assert re.search(r'"meta": \{"byte_length": \d+, "line_count": 34, ', text)
