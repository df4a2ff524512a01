"""The comparison of a run with the committed results."""

from __future__ import annotations

import json

import check
import pytest


def entry(best_ms, role="eyespan", *, is_right=True):
    outcome = "ok" if is_right else "wrong: another line"
    return {"role": role, "best_ms": best_ms, "ok": is_right, "outcome": outcome}


def rows(w1_ms, floor_ms=1.0, again_ms=5.0, *, title="a file", is_right=True):
    return {
        "W1": {
            "title": title,
            "contestants": {"eyespan": entry(w1_ms, is_right=is_right), "bare": entry(floor_ms, "floor")},
        },
        "W3b": {"title": "again", "contestants": {"eyespan": entry(again_ms)}},
    }


@pytest.mark.parametrize(
    ("measured", "factors"),
    [
        (rows(2.0), [1.0, 1.0]),
        (rows(3.0), [1.5, 1.0]),
        (rows(4.0, floor_ms=2.0, again_ms=10.0), [1.0, 1.0]),
        (rows(2.0, floor_ms=2.0, again_ms=5.0), [0.5, 0.5]),
        (rows(2.0, title="a larger file"), []),
    ],
    ids=["the same", "slower", "a machine of half the speed", "faster", "another file"],
)
def test_times_are_compared_as_multiples_of_the_floors(measured, factors):
    assert [factor for _, _, factor in check.compare(measured, rows(2.0))] == factors


def test_a_command_is_compared_with_the_start_of_python():
    def run(command_ms, start_ms, bare_ms):
        return {
            "W1": {
                "title": "a file",
                "contestants": {"eyespan read": entry(command_ms), "bare": entry(bare_ms, "floor")},
            },
            "W10": {"title": "cold", "contestants": {"python -c pass": entry(start_ms, "floor")}},
        }

    assert check.compare(run(30.0, 20.0, 1.0), run(15.0, 10.0, 1.0)) == [("W1", "eyespan read", 1.0)]


def test_a_row_that_became_slower_is_named():
    lines, is_good = check.report(rows(2.6), rows(2.0), tolerance=0.25)

    assert not is_good
    assert [line.split()[:3] for line in lines] == [["SLOWER", "W1", "eyespan"], ["ok", "W3b", "eyespan"]]
    assert check.report(rows(2.4), rows(2.0), tolerance=0.25)[1]


def test_an_answer_that_is_wrong_is_worse_than_a_slow_one():
    lines, is_good = check.report(rows(2.0, is_right=False), rows(2.0), tolerance=0.25)

    assert not is_good
    assert lines[-1].split()[:3] == ["WRONG", "W1", "eyespan"]


def test_results_without_a_common_row_prove_nothing():
    assert check.report({}, rows(2.0), tolerance=0.25) == (["no row of this run is among the committed results"], False)


def test_two_files_are_compared(tmp_path, capsys):
    for name, w1_ms in (("then", 2.0), ("now", 9.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": rows(w1_ms)}))

    then, now = str(tmp_path / "then.json"), str(tmp_path / "now.json")
    assert check.main(["--measured", now, "--committed", then]) == 1
    assert "SLOWER W1" in capsys.readouterr().out
    assert check.main(["--measured", then, "--committed", then]) == 0


def test_the_committed_results_agree_with_themselves():
    results = json.loads((check.HERE / "results.json").read_text())["rows"]

    assert {factor for _, _, factor in check.compare(results, results)} == {1.0}
