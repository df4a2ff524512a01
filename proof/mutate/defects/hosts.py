"""Defects in what hosts see and in their configuration."""

from proof.mutate.defect import SRC, Defect

SETTINGS = f"{SRC}/extras/hosts/host_settings.py"
SETUP = f"{SRC}/extras/hosts/setup_command.py"

DEFECTS = (
    Defect(
        name="hosts: a module of the project runs in place of eyespan",
        file=f"{SRC}/extras/hosts/host_table.py",
        old='[sys.executable, "-P", "-m"',
        new='[sys.executable, "-m"',
        tests="tests/extras/hosts/test_setup.py -k no_module",
    ),
    Defect(
        name="hosts: setup drops an option",
        file=SETUP,
        old='        more += ["--config", os.path.abspath(arguments.config)]\n',
        new="        pass\n",
        tests="tests/extras/hosts/test_setup.py -k options",
    ),
    Defect(
        name="hosts: removal leaves copies of the file",
        file=SETUP,
        old="        each.unlink()\n",
        new="        pass\n",
        tests="tests/extras/hosts/test_setup.py -k changes_made_after",
    ),
    Defect(
        name="hosts: the tool is deferred",
        file=f"{SRC}/server/definitions.py",
        old='META = {"anthropic/alwaysLoad": True}',
        new="META: dict[str, bool] = {}",
        tests="tests/server/test_service.py -k byte_for_byte",
    ),
    Defect(
        name="hosts: instructions have no limit",
        file=f"{SRC}/server/service.py",
        old="    return text if len(text) <= max_chars else instead\n",
        new="    return text\n",
        tests="tests/server/test_service.py -k 1500",
    ),
    Defect(
        name="hosts: data has the text twice",
        file=f"{SRC}/server/service.py",
        old=" if name not in _CONTENT_KEYS}",
        new="}",
        tests="tests/server/test_service.py -k structured_content_is_valid",
    ),
    Defect(
        name="hosts: messages have local paths",
        file=f"{SRC}/dialects/path_map.py",
        old='"near", "message")',
        new='"near")',
        tests="tests/dialects/test_path_map.py -k one_file_of_several",
    ),
    Defect(
        name="hosts: an answer over the limit is sent",
        file=SETTINGS,
        old="        if cleaned.is_error or dialect.host.admits(cleaned):\n",
        new="        if cleaned:\n",
        tests="tests/extras/hosts/test_host_settings.py -k over_the_limit",
    ),
    Defect(
        name="hosts: an answer is cut within a line",
        file=SETTINGS,
        old="    return start if len(start) == len(text) or",
        new="    return start if start or",
        tests="tests/extras/hosts/test_host_settings.py -k cut_after_a_line",
    ),
    Defect(
        name="hosts: secrets of a long answer are not redacted",
        file=SETTINGS,
        old="    cleaned = _cleaned(dialect, _beginning(reply, most))\n",
        new="    cleaned = _beginning(reply, most)\n",
        tests="tests/extras/hosts/test_host_settings.py -k secrets_of_an_answer",
    ),
)
