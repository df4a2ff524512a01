"""The judge of differences from originals: declarations are recomputed, need each of their rules, and leave nothing."""

from __future__ import annotations

import pytest

from proof.originals.rules import OUTSIDE, Judge, Rule

LOUD = Rule("letters are capitals", files=lambda data: data.upper())
MARKED = Rule("the answer has no mark", answer=lambda case, own: (own[0], f"{own[1]}!"))
REFUSED = Rule("any reason", refused=lambda case: True, refused_here=lambda case: True)


@pytest.fixture
def judge_of(tmp_path):
    root = tmp_path / "place-of-the-tree" / "tree00"
    root.mkdir(parents=True)
    (root / "poem.txt").write_text("one\ntwo\n")
    (root / "capitals.txt").write_text("ONE\n")
    (root.parent / "beside.txt").write_text("three\n")
    (root / "out.txt").symlink_to(root.parent / "beside.txt")
    judges = []

    def make(*rules):
        judges.append(Judge("pi", rules, root))
        return judges[-1]

    yield make
    for judge in judges:
        judge.close()


def reason(judge, path, theirs):
    case = judge.case("read", {"path": path})
    return judge.reason(case, theirs, judge.answer(case))


def test_a_difference_is_declared_only_if_the_rules_make_the_answer_of_the_original(judge_of):
    judge = judge_of(LOUD, MARKED)

    assert reason(judge, "poem.txt", (False, "ONE\nTWO")) == ("letters are capitals", True)
    assert reason(judge, "poem.txt", (False, "ONE\nTWO!")) == ("letters are capitals; the answer has no mark", True)
    assert reason(judge, "poem.txt", (False, "ONE\ntwo")) is None


def test_rules_that_were_known_together_are_named_only_where_each_is_needed(judge_of):
    judge = judge_of(LOUD, MARKED)
    reason(judge, "poem.txt", (False, "ONE\nTWO!"))

    assert reason(judge, "capitals.txt", (False, "ONE!")) == ("the answer has no mark", True)


def test_a_reason_to_refuse_counts_only_if_nothing_makes_the_answer_of_the_original(judge_of):
    judge = judge_of(REFUSED, MARKED)
    text = judge.answer(judge.case("read", {"path": "none.txt"}))[1]

    assert reason(judge, "none.txt", (True, f"{text}!")) == ("the answer has no mark", True)
    assert reason(judge, "none.txt", (True, "other words")) == ("any reason", False)
    assert reason(judge, "poem.txt", (True, "other words")) is None


def test_a_changed_copy_holds_what_is_beside_the_root_and_is_removed(judge_of, tmp_path):
    judge = judge_of(OUTSIDE, LOUD)

    assert reason(judge, "out.txt", (False, "THREE"))[1] is True
    judge.close()
    assert [path.name for path in tmp_path.iterdir()] == ["place-of-the-tree"]
