"""Defects in the answers of the native dialect: forged lines, budgets, searches."""

from proof.mutate.defect import SRC, Defect

NATIVE = f"{SRC}/dialects/native"
OWN_LINES = "tests/dialects/native/test_own_lines.py"

DEFECTS = (
    Defect(
        name="a name in a list starts its line",
        file=f"{NATIVE}/own_lines.py",
        old='    return f" {visible(name)}"\n',
        new="    return visible(name)\n",
        tests=f"{OWN_LINES} -k never_starts",
    ),
    Defect(
        name="a header is not escaped",
        file=f"{NATIVE}/own_lines.py",
        old='    return Own(f" {visible(text)}")\n',
        new='    return Own(f" {text}")\n',
        tests=f"{OWN_LINES} -k parsed_back",
    ),
    Defect(
        name="bare rows do not change the sign",
        file=f"{NATIVE}/own_lines.py",
        old="    while count in taken:\n        count += 1\n",
        new="",
        tests=f"{OWN_LINES} -k sign",
    ),
    Defect(
        name="a path with a colon has no quotes",
        file=f"{NATIVE}/own_lines.py",
        old="""    if ":" in base or '"' in base:\n""",
        new="    if False:\n",
        tests=f"{OWN_LINES} -k parsed_back",
    ),
    Defect(
        name="a long line is left out whole",
        file=f"{NATIVE}/fitted.py",
        old="left_room >= max(LEAST_CUT_TOKENS, room // 20)",
        new="False",
        tests="tests/dialects/native/test_fitted.py -k long_line",
    ),
    Defect(
        name="a place is shown from its beginning",
        file=f"{NATIVE}/fitted.py",
        old="    if wanted.places and not held:\n",
        new="    if False:\n",
        tests="tests/dialects/native/test_wanted.py -k middle",
    ),
    Defect(
        name="an outline over the budget is not continued",
        file=f"{NATIVE}/outline_items.py",
        old="        if count < len(groups):\n",
        new="        if False:\n",
        tests="tests/dialects/native/test_outline_items.py -k continued",
    ),
    Defect(
        name="a search does not state where it stopped",
        file=f"{NATIVE}/searches.py",
        old="                stopped.append(at)\n",
        new="",
        tests="tests/dialects/native/test_searches.py -k too_long",
    ),
    Defect(
        name="states of an expression are never dropped",
        file=f"{SRC}/linear_regex.py",
        old="            if len(self._states) >= MAX_STATES:\n",
        new="            if False:\n",
        tests="tests/test_linear_regex.py -k many_states",
    ),
)
