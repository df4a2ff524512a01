"""Documents side by side with the libraries people use today: time and memory, as ratios, in one run.

    python bench/documents.py                 all cases
    python bench/documents.py pdf-all jpeg    some
    python bench/documents.py --small         the same on small files, to see that it runs

Every contender runs in a process of its own: import, one call that is not counted, then `--calls` calls of which the
best counts; contenders take turns for `--rounds` rounds. Memory is the peak of that process (eyespan decodes in another
process, so its decoder is run alone for that figure). Peers are installed into `--cache` (default: a folder of the
user's cache) when they are first needed, never into the checkout. A new case is one row in `CASES`.
"""

import argparse
import io
import json
import os
import random
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path
from time import perf_counter

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eyespan-bench"
PEERS = {
    "pypdf": ["pypdf"],
    "pdfminer": ["pdfminer.six"],
    "markitdown": ["markitdown[pdf,docx,pptx,xlsx]"],
}
SHOWN_PX = 1568


# --- the files ------------------------------------------------------------------------------------------------------


def make_pdf(path, small):
    """300 pages of text (12 when small), written by hand so that no contender's library made it."""
    dice = random.Random(3)
    words = ["harbor", "lantern", "river", "stone", "copper", "maple", "signal", "ledger", "compass", "orchard"]
    pages = 12 if small else 300
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for number in range(1, pages + 1):
        lines = [f"Page number {number}"] + [" ".join(dice.choices(words, k=13)) for _ in range(48)]
        text = b"BT /F1 10 Tf 14 TL 50 780 Td " + b" ".join(b"(%s) Tj T*" % line.encode() for line in lines) + b" ET"
        packed = zlib.compress(text)
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed))
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
        objects.append(page % len(objects) + b" /Resources << /Font << /F1 3 0 R >> >> >>")
        kids.append(len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, b" ".join(b"%d 0 R" % kid for kid in kids))
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    path.write_bytes(out)


def photo(size):
    from PIL import Image

    random.seed(1)
    planes = [
        Image.effect_noise((size[0] // 16, size[1] // 16), 70).resize(size, Image.Resampling.BICUBIC) for _ in "RGB"
    ]
    return Image.merge("RGB", planes)


def make_jpeg(path, small):
    photo((1200, 800) if small else (6000, 4000)).save(path, quality=90)


def make_png(path, small):
    photo((1600, 1200) if small else (8000, 6000)).save(path, compress_level=1)


WORDS = ("harbor", "lantern", "river", "stone", "copper", "maple", "signal", "ledger", "compass", "orchard", "violet")
MAIN = "http://schemas.openxmlformats.org/"
TYPES = "application/vnd.openxmlformats-officedocument."
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def make_package(path, main, parts, relations=()):
    """An Office file of these parts (name: content type, XML); `main` is the one that opens it."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{TYPES}{kind}+xml"/>' for name, (kind, _) in parts.items()
    )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr(
            "[Content_Types].xml",
            f'{HEAD}<Types xmlns="{MAIN}package/2006/content-types"><Default Extension="rels" ContentType='
            f'"application/vnd.openxmlformats-package.relationships+xml"/>{overrides}</Types>',
        )
        for name, targets in (("_rels/.rels", [("officeDocument", main)]), *relations):
            links = "".join(
                f'<Relationship Id="rId{i}" Type="{MAIN}officeDocument/2006/relationships/{kind}" Target="{target}"/>'
                for i, (kind, target) in enumerate(targets, 1)
            )
            package.writestr(
                name, f'{HEAD}<Relationships xmlns="{MAIN}package/2006/relationships">{links}</Relationships>'
            )
        for name, (_, xml) in parts.items():
            package.writestr(name, HEAD + xml)


def make_sheet(path, small):
    """20,000 rows (500 when small) of 10 columns: words, in one shared table as Excel has them, and numbers."""
    dice = random.Random(5)
    rows = []
    for row in range(1, (500 if small else 20_000) + 1):
        cells = [f'<c r="{letter}{row}" t="s"><v>{dice.randrange(len(WORDS))}</v></c>' for letter in "ABCD"]
        cells += [f'<c r="{letter}{row}"><v>{dice.randrange(10**6) / 100}</v></c>' for letter in "EFGHIJ"]
        rows.append(f'<row r="{row}">{"".join(cells)}</row>')
    space = f'xmlns="{MAIN}spreadsheetml/2006/main" xmlns:r="{MAIN}officeDocument/2006/relationships"'
    parts = {
        "xl/workbook.xml": (
            "spreadsheetml.sheet.main",
            f'<workbook {space}><sheets><sheet name="Data" sheetId="1" r:id="rId1"/></sheets></workbook>',
        ),
        "xl/worksheets/sheet1.xml": (
            "spreadsheetml.worksheet",
            f"<worksheet {space}><sheetData>{''.join(rows)}</sheetData></worksheet>",
        ),
        "xl/sharedStrings.xml": (
            "spreadsheetml.sharedStrings",
            f"<sst {space}>{''.join(f'<si><t>{word}</t></si>' for word in WORDS)}</sst>",
        ),
    }
    targets = [("worksheet", "worksheets/sheet1.xml"), ("sharedStrings", "sharedStrings.xml")]
    make_package(path, "xl/workbook.xml", parts, [("xl/_rels/workbook.xml.rels", targets)])


def make_docx(path, small):
    """2,000 paragraphs (100 when small), every 20th of them a heading."""
    dice = random.Random(6)
    body = []
    for number in range(100 if small else 2000):
        style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if number % 20 == 0 else ""
        body.append(f"<w:p>{style}<w:r><w:t>{' '.join(dice.choices(WORDS, k=5 if style else 60))}</w:t></w:r></w:p>")
    space = f'xmlns:w="{MAIN}wordprocessingml/2006/main"'
    style = '<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>'
    parts = {
        "word/document.xml": (
            "wordprocessingml.document.main",
            f"<w:document {space}><w:body>{''.join(body)}</w:body></w:document>",
        ),
        "word/styles.xml": ("wordprocessingml.styles", f"<w:styles {space}>{style}</w:styles>"),
    }
    make_package(path, "word/document.xml", parts, [("word/_rels/document.xml.rels", [("styles", "styles.xml")])])


def make_pptx(path, small):
    """200 slides (10 when small), each with a title, eight lines and notes; places come from a layout, as they do."""
    dice = random.Random(7)
    space = (
        f'xmlns:p="{MAIN}presentationml/2006/main" xmlns:a="{MAIN}drawingml/2006/main" '
        f'xmlns:r="{MAIN}officeDocument/2006/relationships"'
    )
    count = 10 if small else 200
    group = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'

    def shape(number, holder, lines, place=""):
        text = "".join(f'<a:p><a:r><a:rPr lang="en-GB"/><a:t>{line}</a:t></a:r></a:p>' for line in lines)
        return (
            f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="s{number}"/><p:cNvSpPr/><p:nvPr><p:ph type="{holder}" '
            f'idx="{number}"/></p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>{text}'
            "</p:txBody></p:sp>"
        )

    def page(element, *shapes):
        return f"<p:{element} {space}><p:cSld><p:spTree>{group}{''.join(shapes)}</p:spTree></p:cSld></p:{element}>"

    def places(number):
        return f'<a:xfrm><a:off x="0" y="{number * 1000}"/><a:ext cx="9000" cy="900"/></a:xfrm>'

    ids = "".join(f'<p:sldId id="{256 + i}" r:id="rId{i}"/>' for i in range(1, count + 1))
    held = [shape(2, "title", ["Title"], places(2)), shape(3, "body", ["Text"], places(3))]
    parts = {
        "ppt/presentation.xml": (
            "presentationml.presentation.main",
            f"<p:presentation {space}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        ),
        "ppt/slideLayouts/slideLayout1.xml": ("presentationml.slideLayout", page("sldLayout", *held)),
        "ppt/slideMasters/slideMaster1.xml": ("presentationml.slideMaster", page("sldMaster", *held)),
    }
    layout = ("slideLayout", "../slideLayouts/slideLayout1.xml")
    relations = [
        ("ppt/_rels/presentation.xml.rels", [("slide", f"slides/slide{i}.xml") for i in range(1, count + 1)]),
        ("ppt/slideLayouts/_rels/slideLayout1.xml.rels", [("slideMaster", "../slideMasters/slideMaster1.xml")]),
        ("ppt/slideMasters/_rels/slideMaster1.xml.rels", [layout]),
    ]
    for number in range(1, count + 1):
        lines = [" ".join(dice.choices(WORDS, k=10)) for _ in range(8)]
        shapes = shape(2, "title", [f"Slide {number}"]), shape(3, "body", lines)
        parts[f"ppt/slides/slide{number}.xml"] = ("presentationml.slide", page("sld", *shapes))
        notes = page("notes", shape(2, "body", [f"Say {dice.choice(WORDS)}."]))
        parts[f"ppt/notesSlides/notesSlide{number}.xml"] = ("presentationml.notesSlide", notes)
        own = [layout, ("notesSlide", f"../notesSlides/notesSlide{number}.xml")]
        relations.append((f"ppt/slides/_rels/slide{number}.xml.rels", own))
        back = [("slide", f"../slides/slide{number}.xml")]
        relations.append((f"ppt/notesSlides/_rels/notesSlide{number}.xml.rels", back))
    make_package(path, "ppt/presentation.xml", parts, relations)


# --- the contenders: each is called with the file, and gives something whose size can be compared -------------------


def last_page(path):
    return 10 if path.stat().st_size < 100_000 else 250


def pdfium_all(path):
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return sum(len(page.get_textpage().get_text_range()) for page in document)


def pdfium_page(path):
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return len(document[last_page(path) - 1].get_textpage().get_text_range())


def pypdf_all(path):
    import pypdf

    return sum(len(page.extract_text()) for page in pypdf.PdfReader(path).pages)


def pypdf_page(path):
    import pypdf

    return len(pypdf.PdfReader(path).pages[last_page(path) - 1].extract_text())


def pdfminer_all(path):
    from pdfminer.high_level import extract_text

    return len(extract_text(path))


def pdfminer_page(path):
    from pdfminer.high_level import extract_text

    return len(extract_text(path, page_numbers=[last_page(path) - 1]))


def markitdown(path):
    from markitdown import MarkItDown

    return len(MarkItDown().convert(path).text_content)


def engine_read(path, kind, **options):
    from eyespan import Workspace
    from eyespan.model import ReadRequest

    with Workspace(path.parent) as workspace:
        return workspace.engine.read(ReadRequest(path.name, documents=frozenset([kind]), options=options))


def eyespan_all(path):
    found = engine_read(path, "pdf", pictures=False, max_pages=10_000)
    return sum(len(part.text) for part in found.parts)


def eyespan_page(path, number=None):
    number = number or last_page(path)
    return len(engine_read(path, "pdf", pictures=False, pages=(number, number)).parts[0].text)


def eyespan_first_page(path):
    return eyespan_page(path, 1)


def decoder_pdf(path):
    from eyespan.worker import pdf

    params = {"first": 1, "last": None, "max_pages": 10_000, "pictures": False, "seconds": 60, "max_bytes": 1 << 30}
    with open(path, "rb", buffering=0) as file:
        return sum(map(len, pdf.decode(file, {**params, "max_text_chars": 1 << 30})[1]))


def pillow_plain(path):
    from PIL import Image

    with Image.open(path) as picture:
        scale = SHOWN_PX / max(picture.size)
        small = picture.convert("RGB").resize(
            (round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS
        )
    out = io.BytesIO()
    small.save(out, "JPEG", quality=85)
    return len(out.getvalue())


def pillow_thumbnail(path):
    from PIL import Image

    with Image.open(path) as picture:
        picture.thumbnail((SHOWN_PX, SHOWN_PX))
        out = io.BytesIO()
        picture.save(out, "JPEG", quality=85)
    return len(out.getvalue())


def eyespan_picture(path):
    from eyespan.kinds import picture_type

    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        assert picture_type(file.read(64)) is not None
    if size > 4 << 20:
        return len(engine_read(path, "image").parts[0].data)
    return len(engine_read(path, "image", crop=(0, 0, 10_000, 10_000)).parts[0].data)  # else it would pass unchanged


def decoder_picture(path):
    from eyespan.kinds import picture_type
    from eyespan.worker import image

    with open(path, "rb", buffering=0) as file:
        params = {
            "media_type": picture_type(file.read(64)),
            "max_px": SHOWN_PX,
            "max_side_px": 8000,
            "max_bytes": 3932160,
        }
        file.seek(0)
        return len(image.decode(file, {**params, "crop": (0, 0, 10_000, 10_000)})[1][0])


def eyespan_text(path):
    from eyespan.kinds import OFFICE, detect

    with open(path, "rb") as file:
        kind = detect(file.read(65536), path.name).name
    assert kind in OFFICE
    return len(engine_read(path, kind).parts[0].data)


def decoder_text(path):
    from eyespan.kinds import detect
    from eyespan.worker.decoders import DECODERS
    from eyespan.worker.zygote import find

    with open(path, "rb", buffering=0) as file:
        kind = detect(file.read(65536), path.name).name
        file.seek(0)
        return len(find(DECODERS[kind])(file, {})[1][0])


def empty_job(path):
    from eyespan import worker

    assert worker.layers()["process"]
    return 1


def nothing(path):
    return 1


# --- the cases: file, its maker, what to beat, contenders (first: the one that ratios are against) -------------------

CASES = {
    # name: (file, maker, goal, {contender: (function, peer to install or "")}, decoder run alone for its memory)
    "pdf-all": (
        "text.pdf",
        make_pdf,
        "all text: at most 1.2 x bare pdfium, at least 5 x faster than pypdf",
        {
            "eyespan": (eyespan_all, ""),
            "pdfium": (pdfium_all, ""),
            "pypdf": (pypdf_all, "pypdf"),
            "pdfminer.six": (pdfminer_all, "pdfminer"),
            "markitdown": (markitdown, "markitdown"),
        },
        decoder_pdf,
    ),
    "pdf-page": (
        "text.pdf",
        make_pdf,
        "page 250 alone costs what page 1 does",
        {
            "eyespan": (eyespan_page, ""),
            "eyespan, page 1": (eyespan_first_page, ""),
            "pdfium": (pdfium_page, ""),
            "pypdf": (pypdf_page, "pypdf"),
            "pdfminer.six": (pdfminer_page, "pdfminer"),
        },
        None,
    ),
    "jpeg": (
        "photo.jpg",
        make_jpeg,
        "24 MP to 1568 px: at least 2.5 x faster than plain Pillow, under 80 MB",
        {
            "eyespan": (eyespan_picture, ""),
            "Pillow, plain": (pillow_plain, ""),
            "Pillow, thumbnail": (pillow_thumbnail, ""),
        },
        decoder_picture,
    ),
    "png": (
        "photo.png",
        make_png,
        "48 MP to 1568 px",
        {
            "eyespan": (eyespan_picture, ""),
            "Pillow, plain": (pillow_plain, ""),
            "Pillow, thumbnail": (pillow_thumbnail, ""),
        },
        decoder_picture,
    ),
    "sheet": (
        "rows.xlsx",
        make_sheet,
        "20,000 rows of 10: at least 20 x faster than markitdown",
        {"eyespan": (eyespan_text, ""), "markitdown": (markitdown, "markitdown")},
        decoder_text,
    ),
    "docx": (
        "paragraphs.docx",
        make_docx,
        "2,000 paragraphs: at least 20 x faster than markitdown",
        {"eyespan": (eyespan_text, ""), "markitdown": (markitdown, "markitdown")},
        decoder_text,
    ),
    "pptx": (
        "slides.pptx",
        make_pptx,
        "200 slides: at least 20 x faster than markitdown",
        {"eyespan": (eyespan_text, ""), "markitdown": (markitdown, "markitdown")},
        decoder_text,
    ),
    "worker": (
        "text.pdf",
        make_pdf,
        "an empty job, warm: under 10 ms",
        {"eyespan": (empty_job, ""), "a function call": (nothing, "")},
        None,
    ),
}


# --- running them -----------------------------------------------------------------------------------------------------


def one(function, path, calls):
    """In the contender's own process: the first call, the best of the others, what came out, the peak of memory."""
    start = perf_counter()
    size = function(path)
    first = perf_counter() - start
    best = float("inf")
    for _ in range(calls):
        start = perf_counter()
        function(path)
        best = min(best, perf_counter() - start)
    print(json.dumps({"first": first, "best": best, "size": size, "peak": peak_bytes()}))


def peak_bytes():
    """The most memory this process ever held."""
    try:
        # Not ru_maxrss: on Linux a process starts with the peak of the one that started it.
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run(case, contender, path, options, calls):
    command = [sys.executable, __file__, case, "--one", contender, "--file", str(path), "--calls", str(calls)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(case, contender, options)
    )
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1:] or ["no answer"]
    return json.loads(done.stdout.splitlines()[-1]), None


def environment(case, contender, options):
    peer = CASES[case][3].get(contender, (None, ""))[1]
    extra = {"PYTHONPATH": str(options.cache / "peers" / peer)} if peer else {}
    return {**os.environ, **extra}


def install(peer, cache):
    target = cache / "peers" / peer
    if not target.exists():
        print(f"installing {peer} into {target}", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(target)]
        subprocess.run([*command, *PEERS[peer]], check=True)


def compare(case, options):
    file, make, goal, contenders, decoder = CASES[case]
    path = options.cache / ("small" if options.small else "full") / file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path, options.small)
    print(f"\n{case}: {goal} ({path.stat().st_size / 1e6:.1f} MB)")
    print(f"  {'':20} {'first ms':>9} {'best ms':>9} {'ratio':>7} {'peak MB':>8} {'result':>9}")
    results = {}
    for _ in range(options.rounds):
        for name, (_, peer) in contenders.items():
            if peer:
                if options.no_peers:
                    continue
                install(peer, options.cache)
            found, error = run(case, name, path, options, options.calls)
            if error:
                results.setdefault(name, error)
            elif name not in results or found["best"] < results[name]["best"]:
                results[name] = found
    against = results[next(iter(contenders))]
    for name, found in results.items():
        if isinstance(found, list):
            print(f"  {name:20} failed: {found[0][:80]}")
            continue
        ratio = found["best"] / against["best"]
        cells = f"{found['first'] * 1e3:9.1f} {found['best'] * 1e3:9.2f} {ratio:7.2f} {found['peak'] / 1e6:8.0f}"
        print(f"  {name:20} {cells} {found['size']:9}")
    if decoder is not None:
        found, error = run(case, "decoder", path, options, 1)
        print(f"  {'decoder alone':20} {'':27} {found['peak'] / 1e6 if found else float('nan'):8.0f} {error or ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], metavar="case", help=", ".join(CASES))
    parser.add_argument("--small", action="store_true", help="small files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true", help="only what is installed already")
    parser.add_argument("--cache", type=Path, default=CACHE)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _, _, _, contenders, decoder = CASES[options.cases[0]]
        one(decoder if options.one == "decoder" else contenders[options.one][0], options.file, options.calls)
        return
    for case in options.cases or CASES:
        compare(case, options)


if __name__ == "__main__":
    main()
