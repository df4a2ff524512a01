"""The documents of the benchmark, their contents, and the checks of answers.

Office files and PDFs are written by hand, so that they do not come from the library of a contender.
"""

import io
import random
import re
import zipfile
import zlib

SHOWN_PX = 1568
WORDS = ("harbor", "lantern", "river", "stone", "copper", "maple", "signal", "ledger", "compass", "orchard", "violet")
MAIN = "http://schemas.openxmlformats.org/"
TYPES = "application/vnd.openxmlformats-officedocument."
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'


def pdf_pages(small):
    """Return the lines of each page."""
    dice = random.Random(3)
    count = 12 if small else 300
    return [
        [f"Page number {number}"] + [" ".join(dice.choices(WORDS, k=13)) for _ in range(48)]
        for number in range(1, count + 1)
    ]


def make_pdf(path, small):
    """Return a PDF of 300 pages of text (12 when small)."""
    pages = pdf_pages(small)
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for lines in pages:
        text = b"BT /F1 10 Tf 14 TL 50 780 Td " + b" ".join(b"(%s) Tj T*" % line.encode() for line in lines) + b" ET"
        packed = zlib.compress(text)
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed))
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
        objects.append(page % len(objects) + b" /Resources << /Font << /F1 3 0 R >> >> >>")
        kids.append(len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(pages), b" ".join(b"%d 0 R" % kid for kid in kids))
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

    planes = [
        Image.effect_noise((size[0] // 16, size[1] // 16), 70).resize(size, Image.Resampling.BICUBIC) for _ in "RGB"
    ]
    return Image.merge("RGB", planes)


JPEG_SIZES, PNG_SIZES = ((6000, 4000), (2400, 1600)), ((8000, 6000), (2000, 1500))


def make_jpeg(path, small):
    photo(JPEG_SIZES[small]).save(path, quality=90)


def make_png(path, small):
    photo(PNG_SIZES[small]).save(path, compress_level=1)


def make_package(path, main, parts, relations=()):
    """Return an Office file of these parts (name: content type, XML); `main` is its main part."""
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


def sheet_rows(small):
    """Return rows of four words and six numbers."""
    dice = random.Random(5)
    return [
        [dice.choice(WORDS) for _ in range(4)] + [dice.randrange(10**6) / 100 for _ in range(6)]
        for _ in range(500 if small else 20_000)
    ]


def make_sheet(path, small):
    """Return 20,000 rows (500 when small) of 10 columns: words, in one shared table as in Excel, and numbers."""
    rows = []
    for row, values in enumerate(sheet_rows(small), 1):
        cells = [f'<c r="{c}{row}" t="s"><v>{WORDS.index(v)}</v></c>' for c, v in zip("ABCD", values, strict=False)]
        cells += [f'<c r="{c}{row}"><v>{v}</v></c>' for c, v in zip("EFGHIJ", values[4:], strict=True)]
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


def docx_paragraphs(small):
    dice = random.Random(6)
    return [" ".join(dice.choices(WORDS, k=60 if n % 20 else 5)) for n in range(100 if small else 2000)]


def make_docx(path, small):
    """Return 2,000 paragraphs (100 when small), every 20th of them a heading."""
    body = []
    for number, text in enumerate(docx_paragraphs(small)):
        style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>' if number % 20 == 0 else ""
        body.append(f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>")
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


def slides(small):
    """Return the title, the lines and the note of each slide."""
    dice = random.Random(7)
    return [
        (f"Slide {number}", [" ".join(dice.choices(WORDS, k=10)) for _ in range(8)], f"Say {dice.choice(WORDS)}.")
        for number in range(1, (10 if small else 200) + 1)
    ]


def make_pptx(path, small):
    """Return 200 slides (10 when small), each with a title, eight lines and notes, placed by a layout as usual."""
    show = slides(small)
    count = len(show)
    space = (
        f'xmlns:p="{MAIN}presentationml/2006/main" xmlns:a="{MAIN}drawingml/2006/main" '
        f'xmlns:r="{MAIN}officeDocument/2006/relationships"'
    )
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
    for number, (title, lines, note) in enumerate(show, 1):
        shapes = shape(2, "title", [title]), shape(3, "body", lines)
        parts[f"ppt/slides/slide{number}.xml"] = ("presentationml.slide", page("sld", *shapes))
        notes = page("notes", shape(2, "body", [note]))
        parts[f"ppt/notesSlides/notesSlide{number}.xml"] = ("presentationml.notesSlide", notes)
        own = [layout, ("notesSlide", f"../notesSlides/notesSlide{number}.xml")]
        relations.append((f"ppt/slides/_rels/slide{number}.xml.rels", own))
        back = [("slide", f"../slides/slide{number}.xml")]
        relations.append((f"ppt/notesSlides/_rels/notesSlide{number}.xml.rels", back))
    make_package(path, "ppt/presentation.xml", parts, relations)


# --- checks of answers: "ok", or the mistake -------------------------------------------------------------------------


def all_pages(text, path, small):
    return _words(text, [word for page in pdf_pages(small) for line in page for word in line.split()])


def page(number):
    """Check a page of the large file, or the last page of the small one."""

    def check(text, path, small):
        pages = pdf_pages(small)
        return _words(text, [word for line in pages[min(number, len(pages)) - 1] for word in line.split()])

    return check


def paragraphs(text, path, small):
    return _words(text, [word for paragraph in docx_paragraphs(small) for word in paragraph.split()])


def _words(text, expected):
    found = re.findall(r"\w+", text)
    if found == expected:
        return "ok"
    same = next((n for n, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), len(found))
    return f"wrong: word {same + 1:,} of {len(expected):,}, {len(found):,} words in all"


def all_slides(text, path, small):
    """Check that every title, line and note is there, in this order."""
    at = 0
    for number, (title, lines, note) in enumerate(slides(small), 1):
        for line in (title, *lines, note):
            at = text.find(line, at)
            if at < 0:
                return f"wrong: slide {number} lacks {line[:30]!r}"
            at += len(line)
    return "ok"


def all_rows(text, path, small):
    """Check that every row has its ten values in order; the first row may be the header, with unique names."""
    wanted = [[str(value) for value in row] for row in sheet_rows(small)]
    found = []
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")][-10:]
        if len(cells) == 10 and cells[0] in WORDS:
            found.append([*cells[:4], *(_number(cell) for cell in cells[4:])])
    if found[1:] == wanted[1:] or found == wanted[1:]:
        return "ok"
    return f"wrong: {len(found):,} of {len(wanted):,} rows, or other values"


def _number(cell):
    try:
        return str(float(cell))
    except ValueError:
        return cell


def picture(data, path, small):
    """Check the size, and that it is the same image: scaled down, the mean difference is below 3 of 255."""
    from PIL import Image, ImageChops, ImageStat

    Image.MAX_IMAGE_PIXELS = None
    with Image.open(io.BytesIO(data)) as shown, Image.open(path) as whole:
        if max(shown.size) != SHOWN_PX or abs(shown.width / shown.height - whole.width / whole.height) > 0.01:
            return f"wrong: {shown.width} x {shown.height} px"
        few = [each.convert("RGB").resize((96, 72), Image.Resampling.BOX) for each in (shown, whole)]
    off = max(ImageStat.Stat(ImageChops.difference(*few)).mean)
    return "ok" if off < 3 else f"wrong: another picture (off by {off:.1f})"


def process(layers, path, small):
    return "ok" if layers["process"] else "wrong: no process"
