"""Recognise the encoding of a Chinese, Japanese or Korean text by the characters that every such text uses most.

A hundred characters are a third of any Chinese text, and of the kanji in any Japanese one; a hundred syllables are half
of any Korean text. Bytes that are read in a wrong encoding of East Asia give characters from everywhere: these hundred
are then at most one in twenty. So an encoding is returned only if its most frequent characters are there and those of
every other encoding are not. Short texts, mixtures and everything else are for chardet, which takes a hundred times as
long.
"""

from __future__ import annotations

SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种"
    "事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实"
)
TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種"
    "事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實"
)
KANJI = (
    "日一人年大十二本中長出三時行見月後前生五間上東四今金入学高円子外六下来気小七山話女書先名川水電校語手場自分者会社合"
    "方地力部動物業問度体新用作内思言事国的定意発明開対理文使通家同何強持知所世以主当回目心最全私様品情報"
)
HANGUL = (
    "이다는에의을가고하지로한를은도어사기서아대해그자리나인시수있일과부라제만보정주구전니야스으면안오세용없요것등여장무게러"
    "거들화원중성생상물적"
)
KANA = "".join([chr(code) for code in (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7), 0x30FC)])
SHARED = "，。、！？：；（）「」『』“”‘’…—·～　・【】《》〈〉"
"""Signs that have the same bytes in several of these encodings, and so decide nothing."""
ROWS = (
    ("gb18030", SIMPLIFIED, False),
    ("big5hkscs", TRADITIONAL, False),
    ("cp949", HANGUL, False),
    ("cp932", KANJI, True),
    ("euc-jp", KANJI, True),
)
"""A codec, its most frequent characters, and True where they are counted among those that are not kana: kana have the
same bytes in EUC-JP and in the encodings of China."""
LEAST_CHARS = 40
"""A text with fewer characters to judge by is left to chardet."""
LEAST_DIFFERENT = 6
"""So many of the frequent characters must occur: a repeated word may be frequent characters of another language."""
LEAST_KANA = 0.3
"""The least share of kana in a Japanese text."""
LEAST_SHARE = 0.14
"""The least share of the most frequent characters. Real texts have 0.15 to 0.6, wrong readings less than 0.05."""
MOST_OTHER = 0.3
"""The most that any other reading may have of the best one's share."""


def likeliest(sample: bytes) -> str | None:
    """Return the codec of a text that reads like one of East Asia in it and in no other; None if that is not clear."""
    found, best, second = None, 0.0, 0.0
    for codec, common, has_kana in ROWS:
        # A codec whose library cannot be loaded, for lack of a descriptor, would be unknown for good.
        __import__(f"encodings.{codec.replace('-', '_')}")
        try:
            text = sample.decode(codec)
        except UnicodeDecodeError:
            continue
        share = _share(text, common, has_kana)
        if share > best:
            found, best, second = codec, share, best
        else:
            second = max(second, share)
    return found if best >= LEAST_SHARE and second <= MOST_OTHER * best else None


def _share(text: str, common: str, has_kana: bool) -> float:
    """Return the share of these characters in those of a text that are neither ASCII nor shared signs nor kana."""
    chars = len(text) - len(text.encode("ascii", "ignore")) - _count(text, SHARED)
    if chars < LEAST_CHARS:
        return 0.0
    if has_kana:
        kana = _count(text, KANA)
        if kana < LEAST_KANA * chars:
            return 0.0
        chars -= kana
    counts = [*map(text.count, common)]
    has_several = len(counts) - counts.count(0) >= LEAST_DIFFERENT
    return sum(counts) / chars if has_several and chars >= 10 else 0.0


def _count(text: str, chars: str) -> int:
    return sum(map(text.count, chars))
