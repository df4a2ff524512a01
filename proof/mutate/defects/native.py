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
    Defect(
        name="a failure is not escaped",
        file=f"{NATIVE}/own_lines.py",
        old='    return Own(f"! {visible(text)}")\n',
        new='    return Own(f"! {text}")\n',
        tests=f"{OWN_LINES} -k one_line",
    ),
    Defect(
        name="a note is not escaped",
        file=f"{NATIVE}/own_lines.py",
        old='    return Own(f"note: {visible(text)}")\n',
        new='    return Own(f"note: {text}")\n',
        tests=f"{OWN_LINES} -k one_line",
    ),
    Defect(
        name="a line with words of the tool is not escaped",
        file=f"{NATIVE}/own_lines.py",
        old="    return Own(visible(text))\n",
        new="    return Own(text)\n",
        tests=f"{OWN_LINES} -k one_line",
    ),
    Defect(
        name="a quote in a name ends its quotes",
        file=f"{NATIVE}/own_lines.py",
        old="""    return '"' + shown.replace('"', "\\\\x22") + '"'\n""",
        new="""    return '"' + shown + '"'\n""",
        tests=OWN_LINES,
    ),
    Defect(
        name="a name that contains a separator has no quotes",
        file=f"{NATIVE}/own_lines.py",
        old="not any(separator in name for separator in _SEPARATORS)",
        new="True",
        tests=OWN_LINES,
    ),
    Defect(
        name="the name of a sheet can be taken for lines",
        file=f"{NATIVE}/own_lines.py",
        old="""        if not part[:1].isalpha() or ":" in sheet or '"' in part:\n""",
        new="        if False:\n",
        tests=f"{OWN_LINES} -k could_be_lines",
    ),
    Defect(
        name="a symbol of an outline starts its line",
        file=f"{NATIVE}/own_lines.py",
        old="visible(line) if line[:1] in _ROW_STARTS else entry(line)",
        new="visible(line)",
        tests=f"{OWN_LINES} -k symbol_never",
    ),
    Defect(
        name="fillers and tags are shown as they are",
        file=f"{SRC}/escape.py",
        old="        return character in FILLERS or ",
        new="        return ",
        tests="tests/test_escape.py",
    ),
    Defect(
        name="a printable text is never looked at",
        file=f"{SRC}/escape.py",
        old="    if text.isprintable() and (text.isascii() or not any(map(is_hidden, text))):\n",
        new="    if text.isprintable():\n",
        tests="tests/test_escape.py",
    ),
    Defect(
        name="a backslash that looks like an escape is not written as one",
        file=f"{SRC}/escape.py",
        old="    elif _BYTE_ESCAPE in path:\n",
        new="    elif False:\n",
        tests="tests/test_escape.py tests/dialects/test_paths_lead_back.py",
    ),
    Defect(
        name="escaped bytes of a name are no characters",
        file=f"{SRC}/escape.py",
        old="        return os.fsdecode(os.fsencode(path))\n",
        new="        return path\n",
        tests="tests/test_escape.py tests/dialects/test_paths_lead_back.py",
    ),
)
