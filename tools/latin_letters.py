"""Count the letters beyond ASCII in languages of the Latin script, for the table of eyespan.lines.latin.

    python tools/latin_letters.py              prints the table
    python tools/latin_letters.py --check      prints how often other texts are detected rightly

Counts the translations of free programs on a Debian system (/usr/share/locale): every second program, in the order of
their names. The check reads the others, cut to pieces of 300, 1,000 and 4,000 characters.
"""

import argparse
import collections
import gettext
import random
import sys
from pathlib import Path

LANGUAGES = {
    "cp1252": ("fr", "de", "es", "pt", "pt_BR", "it", "nl", "sv", "da", "nb", "fi", "is", "ca", "gl", "eu"),
    "cp1250": ("pl", "cs", "sk", "hu", "ro", "hr", "sl"),
    "cp1254": ("tr",),
    "cp1257": ("lt", "lv", "et"),
}
LEAST = 2
"""Per thousand: a rarer letter is not in the table."""


def texts(language, part, encoding):
    """Return the translations of every second program (`part` 0 or 1) that the encoding can represent."""
    found = []
    for file in sorted(Path("/usr/share/locale", language, "LC_MESSAGES").glob("*.mo"))[part::2]:
        with file.open("rb") as stream:
            try:
                catalog = gettext.GNUTranslations(stream)._catalog
            except (OSError, UnicodeDecodeError, LookupError, ValueError):
                continue
        for key, text in catalog.items():
            if key and isinstance(text, str) and not text.isascii() and len(text) > 30:
                try:
                    text.encode(encoding)
                except UnicodeEncodeError:
                    continue
                found.append(text)
    return found


def table():
    for encoding, languages in LANGUAGES.items():
        for language in languages:
            counts = collections.Counter()
            for text in texts(language, 0, encoding):
                counts.update(char for char in text.lower() if char > "\x7f" and char.isalpha())
            total = sum(counts.values())
            if total < 300:
                continue
            shares = [(char, round(1000 * count / total)) for char, count in counts.most_common()]
            told = " ".join(f"{char}{share}" for char, share in shares if share >= LEAST)
            print(f'    ("{encoding}", "{told}"),  # {language}')


def check():
    from eyespan.lines.detect import detect

    dice = random.Random(11)
    for encoding, languages in LANGUAGES.items():
        for language in languages:
            messages = texts(language, 1, encoding)
            if len(messages) < 50:
                continue
            told = []
            for size in (300, 1000, 4000):
                right = 0
                for _ in range(20):
                    dice.shuffle(messages)
                    text = ""
                    while len(text) < size:
                        text += messages[len(text) % len(messages)] + "\n"
                    found = detect(text.encode(encoding))
                    try:
                        right += found is not None and text.encode(encoding).decode(found.name) == text
                    except UnicodeDecodeError:
                        pass
                told.append(f"{right}/20")
            print(f"{encoding} {language:6} {' '.join(told)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check() if parser.parse_args().check else table()


if __name__ == "__main__":
    sys.exit(main())
