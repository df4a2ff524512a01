"""Number formats: what they add to a number, and what they must not change."""

from __future__ import annotations

import pytest

from eyespan.extras.documents.shared import number_formats


@pytest.mark.parametrize(
    ("code", "value", "wanted"),
    [
        ("0%", 0.125, "12.5%"),
        ("0.00%;[Red]-0.00%", -0.5, "-50%"),
        ("0.00%", 1 / 3, "33.3333333333333%"),
        ('"$"#,##0.00', 1234.5, "$1234.5"),
        ("[$€-407] #,##0.00", 3.0, "€3"),
        ("#,##0.00\\ [$kr-41D]", -3.5, "-3.5 kr"),
        ('"£"#,##0;[Red]\\-"£"#,##0', -5.0, "£-5"),
        ('0.00"°"', 1.5, "1.5°"),
        ('General" units"', 5, "5 units"),
        ("00000", 501, "00501"),
        ("000\\-00\\-0000", 123456789, "123-45-6789"),
        ("00", 1234, "1234"),
        ("00", 1.5, None),
        ('0,"K"', 1234567, None),  # in thousands: the unit belongs to another number
        ("#,##0", 3, None),
        ("0.00E+00", 5, None),
        ("# ?/?", 0.5, None),
        ("@", 5, None),
        ("General", 5, None),
        ("", 5, None),
        (";;;", 5, None),
        ('_(* #,##0_);_(* \\(#,##0\\);_(* "-"??_);_(@_)', 0, None),
        ('[>100]0"big";0"small"', 5, None),
        ("yyyy-mm-dd", 5, None),
        ("0%", float("inf"), None),
    ],
)
def test_a_number_is_shown_as_its_format_gives_it(code, value, wanted):
    assert number_formats.shown(value, code) == wanted


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("yyyy-mm-dd", "date"),
        ("mmm-yy", "date"),
        ("h:mm AM/PM", "time"),
        ("mm:ss.0", "time"),
        ("d/m/yy h:mm", "datetime"),
        ("[h]:mm:ss", "elapsed"),
        ("[$-409]d mmm", "date"),
        ("[Red]0.0", ""),
        ('"day" 0', "text"),
    ],
)
def test_dates_and_times_are_told_apart(code, wanted):
    assert number_formats.meaning(code) == wanted
