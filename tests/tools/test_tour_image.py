"""docs/tour.svg shows the output of `make run`, with its indentation."""

from __future__ import annotations

import os
import re
from html import unescape

import pytest

from tools import tour_image


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="runs the tour on a terminal")
def test_the_image_shows_the_tour():
    assert tour_image.PAGE.read_text("utf-8") == tour_image.image()


def test_the_image_compares_two_answers():
    assert tour_image.COMPARED.read_text("utf-8") == tour_image.compared()


def test_the_image_keeps_indentation_and_the_fields_of_objects():
    rows = [unescape(re.sub("<[^>]*>", "", line)) for line in tour_image.PAGE.read_text("utf-8").splitlines()]
    text = "\n".join(rows).replace("\xa0", " ")

    assert "\n    1201        def moor_200(boat):\n" in text
    assert re.search(r'"meta": \{"byte_length": \d+, "line_count": 34, ', text)
