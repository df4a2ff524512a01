from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eyespan.search import first_true


@given(st.integers(-20, 20), st.integers(0, 40), st.integers(-30, 70))
def test_the_first_true_number_is_found_as_by_trying_all(low, size, border):
    tried = []

    def reaches(number):
        tried.append(number)
        return number >= border

    found = first_true(low, low + size, reaches)

    assert found == next((number for number in range(low, low + size) if number >= border), low + size)
    assert len(tried) <= size.bit_length()
    assert all(low <= number < low + size for number in tried)
