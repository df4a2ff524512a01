"""Targets for documents that are decoded in the sandboxed worker, and for their decoders where these are Python."""

from __future__ import annotations

import io
import os
import sqlite3
import tempfile
from importlib import import_module

from proof.fuzz import damage
from proof.fuzz.target import Broken, FileTarget, Hang, Target, dice_of, error_outcome, fixtures, image_faults

DEADLINE_SECONDS = 60  # 10 for a job, and the start of the worker on a busy machine


class DocumentTarget(FileTarget):
    """A document read as a host reads it: decoded in the worker."""

    invariant = (
        "The process lives and answers in time; no reply is over the limits of the model APIs, every image in one "
        "can be decoded, and an undamaged file is still read afterwards."
    )
    deadline_seconds = DEADLINE_SECONDS
    guidable = False
    patterns: tuple[str, ...] = ()
    suffix = ""
    task = ""
    """The task of the worker, if it is not the name."""

    @property
    def file_name(self) -> str:
        return f"input.{self.suffix or self.name}"

    def seeds(self) -> list[bytes]:
        return fixtures(*self.patterns)

    def check(self, data: bytes) -> str:
        path = self.write(data, self.file_name)
        return self.outcome(self.ask(path, data))

    def ask(self, path: str, data: bytes):
        """Return the converted document as a reply."""
        from eyespan.errors import ReadError
        from eyespan.model import Lines, ReadRequest, Reply, ReplyError, Tail, TextContent

        dice = dice_of(data)
        selection = dice.choice((Lines(), Lines(), Lines(), Lines(3, 5), Tail(4)))
        options = self.options(dice)
        request = ReadRequest(path, selection, documents=self.documents(), options=options)
        try:
            part = self.workspace.engine.read(request).parts[0]
        except ReadError as error:
            return Reply((TextContent(str(error)),), None, ReplyError(error.code, str(error)))
        text = part.text if hasattr(part, "text") else bytes(part.data).decode("utf-8", "replace")
        return Reply((TextContent(text),))

    def documents(self) -> frozenset[str]:
        from eyespan import kinds

        return frozenset(kind.name for kind in kinds.rows() if kind.decoder) - {"image", "pdf"}

    def options(self, dice):
        from eyespan.model import DocumentOptions

        return DocumentOptions()


class Shown(DocumentTarget):
    """A document that the dialects show themselves: the claude dialect as it is, `native` with its layout."""

    def open(self) -> None:
        super().open()
        self.tools = [self.workspace.tool("claude", pdf=how) for how in ("pages", "document")]
        self.native = self.workspace.tool("native")

    def ask(self, path: str, data: bytes):
        dice = dice_of(data)
        if dice.random() < 0.5:
            return self.native.call({"files": path})
        arguments = {"file_path": path, **self.arguments(dice)}
        return self.tools[dice.random() < 0.1].call(arguments)

    def arguments(self, dice) -> dict:
        return {}


class Image(Shown):
    name = "image"
    patterns = ("pictures/*.*",)
    file_name = "input"  # without a suffix: the first bytes identify the format

    def seeds(self) -> list[bytes]:
        return [*super().seeds(), *self._small()]

    @staticmethod
    def _small() -> list[bytes]:
        """Return tiny images in several formats: damage hits their structure rather than their pixels."""
        from PIL import Image as PillowImage

        made = []
        for mode, fmt in (
            *(("RGB", "PNG"), ("P", "GIF"), ("RGB", "JPEG"), ("RGBA", "WEBP"), ("L", "BMP"), ("1", "TIFF")),
            *(("RGBA", "DDS"), ("P", "PCX"), ("RGB", "SGI"), ("RGB", "PPM"), ("RGB", "JPEG2000"), ("RGBA", "ICNS")),
            *(("1", "XBM"), ("CMYK", "TIFF"), ("RGBA", "ICO")),
        ):
            buffer = io.BytesIO()
            PillowImage.new(mode, (16, 16) if fmt == "ICNS" else (9, 7), 1).save(buffer, fmt)
            made.append(buffer.getvalue())
        return made


class Pdf(Shown):
    name = "pdf"
    patterns = ("pdfs/*.pdf",)

    def arguments(self, dice) -> dict:
        return dice.choice(({"pages": "1-2"}, {"pages": "1"}, {"pages": "2-3"}))

    def seeds(self) -> list[bytes]:
        from tests.readers.pdf_files import pages, words

        cells = [(72 + 90 * column, 700 - 16 * row, f"r{row}c{column}") for row in range(5) for column in range(4)]
        return [*super().seeds(), pages(words(*cells, (72, 500, "After the table"))), _tiny_pdf()]


def _tiny_pdf() -> bytes:
    """Return the smallest PDF with a page of text, in which nearly every byte matters."""
    stream = b"BT /F1 12 Tf 20 50 Td (Tide table) Tj ET"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    made = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    start = len(made)
    made += b"xref\n0 %d\n0000000000 65535 f \n%strailer<</Size %d/Root 1 0 R>>\n" % (size, table, size)
    return made + b"startxref\n%d\n%%%%EOF" % start


class Package(DocumentTarget):
    how = damage.PACKAGES


class Docx(Package):
    name, patterns = "docx", ("office/*.docx",)


class Pptx(Package):
    name, patterns = "pptx", ("office/*.pptx",)


class Sheet(Package):
    name, suffix = "sheet", "xlsx"
    patterns = ("office/*.xlsx", "office/*.ods", "office/*.xls")

    def options(self, dice):
        from eyespan.model import DocumentOptions, SheetOptions

        chosen = dice.choice((("", ""), ("", ""), ("Ledger", ""), ("", "A1:C3"), ("Notes", "B:B")))
        return DocumentOptions(sheet=SheetOptions(*chosen))


class Epub(Package):
    name, patterns = "epub", ("office/*.epub",)


class Odf(Package):
    name, suffix = "odf", "odt"

    def seeds(self) -> list[bytes]:
        from tests.extras.documents.office import test_odf

        return test_odf.samples()


class Xls(DocumentTarget):
    name, patterns = "xls", ("office/*.xls",)
    task = "sheet"

    def seeds(self) -> list[bytes]:
        from tests.extras.documents.office_files import ole
        from tests.extras.documents.sheets.test_biff import samples

        # Damage of a container rarely reaches the records in it, so most seeds have none.
        return [*super().seeds(), *samples(), *samples(), *[ole(Workbook=made).getvalue() for made in samples()]]


class Rtf(DocumentTarget):
    name, how = "rtf", (*damage.WEB, damage.swell)

    def seeds(self) -> list[bytes]:
        link = rb'{\field{\*\fldinst HYPERLINK "https://a.example/"}{\fldrslt there}}'
        table = rb"\trowd a\cell b\cell\row\pard "
        fonts = rb"{\fonttbl{\f1\fcharset204 Arial;}}"
        return [rb"{\rtf1\ansi\ansicpg1252 %s one\par \f1 \'ef\u1088?%s{\footnote n}%s}" % (fonts, table, link)]


class Html(DocumentTarget):
    name, patterns, how = "html", ("office/*.html",), (*damage.WEB, damage.swell)


class Eml(DocumentTarget):
    name, patterns, how = "eml", ("office/*.eml",), (*damage.WEB, damage.swell)


class Sqlite(DocumentTarget):
    name = "sqlite"

    def options(self, dice):
        from eyespan.model import DocumentOptions, TableOptions

        chosen = dice.choice(((None,), (None,), ("ships",), ("ships", 2, 3), ("no such",)))
        return DocumentOptions(table=TableOptions(*chosen))

    def seeds(self) -> list[bytes]:
        return [_database(page) for page in (512, 4096)]


def _database(page_bytes: int) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "seed")
        with sqlite3.connect(path) as database:
            database.execute(f"pragma page_size = {page_bytes}")
            database.execute("create table ships (id integer primary key, name text not null, tons real, raw blob)")
            database.execute("create index by_name on ships (name)")
            database.execute("create view heavy as select * from ships where tons > 100")
            rows = [(n, f"ship {n}" * (n % 7), n / 3, bytes([n % 256]) * n) for n in range(60)]
            database.executemany("insert into ships values (?, ?, ?, ?)", rows)
        database.close()
        with open(path, "rb") as file:
            return file.read()


class Parquet(DocumentTarget):
    name = "parquet"

    def options(self, dice):
        from eyespan.model import DocumentOptions, TableOptions

        chosen = dice.choice(((1, None), (1, None), (2, 3), (1, 0)))
        return DocumentOptions(table=TableOptions(None, *chosen))

    def unavailable(self) -> str:
        try:
            import duckdb  # noqa: F401  (checks that it is installed)
        except ImportError:
            return "duckdb is not installed, which makes the seeds"
        return ""

    def seeds(self) -> list[bytes]:
        import duckdb

        made = []
        query = "select i, 'ship ' || i as name, [i, null] as tons, i / 7 as share from range(300) t(i)"
        with tempfile.TemporaryDirectory() as directory:
            for codec in ("uncompressed", "snappy", "zstd"):
                path = os.path.join(directory, codec)
                with duckdb.connect() as database:
                    database.execute(f"copy ({query}) to '{path}' (format parquet, codec '{codec}')")
                with open(path, "rb") as file:
                    made.append(file.read())
        return made


class Text(DocumentTarget):
    """Readable sources that are shown as documents on request."""

    how = (*damage.WEB, damage.swell)
    source = b""

    def seeds(self) -> list[bytes]:
        return [self.source]


class Decoder(Target):
    """A decoder in Python, called in this process: faster, and coverage can guide the inputs."""

    invariant = (
        "Text in UTF-8, or a reason that helps a person; nothing else is raised. The worker ends a job that takes long."
    )
    deadline_seconds = 10  # that of a job in the worker
    cpu_seconds = 10

    def __init__(self, document: type[DocumentTarget]) -> None:
        self.document = document()
        self.name = f"decode-{document.name}"
        self.how = document.how
        self.task = document.task or document.name

    def seeds(self) -> list[bytes]:
        return self.document.seeds()

    def unavailable(self) -> str:
        return self.document.unavailable()

    def open(self) -> None:
        from eyespan.worker.tasks import DECODERS

        module, _, function = DECODERS[self.task].partition(":")
        self.decode = getattr(import_module(module), function)

    def check(self, data: bytes) -> str:
        from eyespan.errors import Missing, Unreadable

        params = {"seconds": 10.0, "first": 1, "count": 10, "table": None, "windowed": False}
        try:
            facts, blobs = self.decode(_File(data), params)
        except (Unreadable, Missing) as error:
            return error_outcome(error.code, str(error))
        except (MemoryError, RecursionError) as error:
            return type(error).__name__  # the worker has messages of its own for these
        except Hang:
            return "ended by the deadline"
        damage.dumps(facts)
        for blob in blobs:
            try:
                blob.decode("utf-8")
            except UnicodeDecodeError as error:
                raise Broken(f"the text is not UTF-8: {error}") from None
        return "text"


class ShownDecoder(Decoder):
    """The decoder of pages or images in this process. Its libraries are in C, so a crash ends the run."""

    invariant = (
        "Text in UTF-8 and images that can be decoded, or a reason that helps a person; the process lives. "
        "The worker ends a job that takes long."
    )
    deadline_seconds = DEADLINE_SECONDS
    limits = (-1, -1)
    """The memory limits of this process before `open`."""
    params = {
        "media_type": None,
        "max_px": 400,
        "max_side_px": 800,
        "max_bytes": 1 << 20,
        "crop": None,
        "frame": None,
        "first": 1,
        "last": None,
        "max_pages": 4,
        "max_text_chars": 200_000,
        "layout": True,
        "textless": 1,
        "images": False,
        "seconds": 10.0,
    }

    def open(self) -> None:
        import resource

        super().open()
        self.limits = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_DECODER_BYTES, self.limits[1]))

    def close(self) -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, self.limits)
        super().close()

    def check(self, data: bytes) -> str:
        from eyespan import signatures
        from eyespan.errors import Missing, Unreadable

        media_type = (
            signatures.drawing_type(data[:4096]) if self.task == "drawing" else signatures.image_type(data[:4096])
        )
        if self.task != "pdf" and media_type is None:
            return "no image"
        try:
            facts, blobs = self.decode(_File(data), {**self.params, "media_type": media_type})
        except (Unreadable, Missing) as error:
            return error_outcome(error.code, str(error))
        except (MemoryError, RecursionError) as error:
            return type(error).__name__
        except Hang:
            return "ended by the deadline"
        damage.dumps(facts)
        if self.task != "pdf":
            _check_image(blobs[0], facts["media_type"])
            return "image"
        left = list(blobs)
        for page in facts["pages"]:
            left.pop(0).decode("utf-8")
            if "media_type" in page:
                _check_image(left.pop(0), page["media_type"])
        return "pages"


MAX_DECODER_BYTES = 2 << 30


def _check_image(data: bytes, media_type: str) -> None:
    from eyespan.model import ImageContent

    found = image_faults(ImageContent(data, media_type))
    if found:
        raise Broken("; ".join(found))


class _File(io.BytesIO):
    """Bytes as a file without a name and without a descriptor."""

    def fileno(self) -> int:
        raise OSError("in memory")


_CONVERTED = (Docx, Pptx, Sheet, Odf, Xls, Rtf, Epub, Html, Eml)
TARGETS = (Image(), Pdf(), *(kind() for kind in _CONVERTED), Sqlite(), Parquet())
DECODERS = tuple(Decoder(kind) for kind in _CONVERTED if kind is not Sheet)  # calamine is not Python
DECODERS += (ShownDecoder(Pdf), ShownDecoder(Image))
