"""Run one contender on one document in a separate process: `documents.py` starts it and reads its output.

    python bench/document_calls.py CONTENDER FILE SMALL CHECK CALLS SECONDS

A call on the small file comes first and is not counted: it includes the work that a library does once. Without SMALL
("-") the first call is the figure: the cost of one document in a new process. Only calls are timed; the answer is
compared with the contents of the file after the last of them.
"""

import io
import json
import sys
from pathlib import Path
from time import perf_counter

import document_files as files

SHOWN_PX = files.SHOWN_PX
PAGES = {"page-250": 250, "page-5": 5}


def _page(path, number):
    """The number of the page, from 0; the small file has fewer."""
    return min(number, 12 if path.stat().st_size < 100_000 else 300) - 1


def pdfium(path):
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return "\n".join(page.get_textpage().get_text_range() for page in document)


def pdfium_page(path, number=250):
    import pypdfium2

    with pypdfium2.PdfDocument(path) as document:
        return document[_page(path, number)].get_textpage().get_text_range()


def pypdf(path):
    import pypdf

    return "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)


def pypdf_page(path):
    import pypdf

    return pypdf.PdfReader(path).pages[_page(path, 250)].extract_text()


def pdfminer(path):
    from pdfminer.high_level import extract_text

    return extract_text(path)


def pdfminer_page(path):
    from pdfminer.high_level import extract_text

    return extract_text(path, page_numbers=[_page(path, 250)])


_kept = {}


def markitdown(path):
    """Make the converter once, as a program would: that loads a model, which takes as long as a document."""
    if "markitdown" not in _kept:
        from markitdown import MarkItDown

        _kept["markitdown"] = MarkItDown()
    return _kept["markitdown"].convert(path).text_content


def kreuzberg(path):
    from kreuzberg import extract_file_sync

    return extract_file_sync(str(path)).content


_DOCLING = {
    ".docx": ("DOCX", "msword_backend", "MsWordDocumentBackend"),
    ".pptx": ("PPTX", "mspowerpoint_backend", "MsPowerpointDocumentBackend"),
    ".xlsx": ("XLSX", "msexcel_backend", "MsExcelDocumentBackend"),
}


def docling(path):
    """Convert with the reader of the format alone; the converter of the package imports models for PDFs first."""
    from importlib import import_module

    from docling.datamodel.base_models import InputFormat
    from docling.datamodel.document import InputDocument

    kind, module, name = _DOCLING[path.suffix]
    backend = getattr(import_module(f"docling.backend.{module}"), name)
    opened = InputDocument(path_or_stream=path, format=InputFormat[kind], backend=backend)
    return opened._backend.convert().export_to_markdown()


def _read(path, kind, **options):
    from eyespan import Workspace
    from eyespan.model import DocumentOptions, ReadRequest

    if _kept.get("directory") != path.parent:
        _kept["workspace"], _kept["directory"] = Workspace(path.parent), path.parent
    request = ReadRequest(path.name, documents=frozenset([kind]), options=DocumentOptions(**options))
    return _kept["workspace"].engine.read(request)


def eyespan_pdf(path):
    """Return every page without the line of its number."""
    from eyespan.model import PdfOptions

    parts = _read(path, "pdf", pdf=PdfOptions(max_pages=10_000, has_images=False)).parts
    return "\n".join(part.text.partition("\n")[2] for part in parts)


def eyespan_layout(path):
    """Return every page as `native` shows it."""
    from eyespan.model import PdfOptions

    parts = _read(path, "pdf", pdf=PdfOptions(max_pages=10_000, has_images=False, has_layout=True)).parts
    return "\n".join(part.text for part in parts)


def eyespan_page(path, number=250):
    number = _page(path, number) + 1
    from eyespan.model import PdfOptions

    return _read(path, "pdf", pdf=PdfOptions(number, number, has_images=False)).parts[0].text.partition("\n")[2]


def eyespan_page_5(path):
    return eyespan_page(path, 5)


def decoder_pdf(path):
    from eyespan.decoders import pdf

    params = {"first": 1, "last": None, "max_pages": 10_000, "images": False, "seconds": 60, "max_bytes": 1 << 30}
    with open(path, "rb", buffering=0) as file:
        return b"\n".join(pdf.decode(file, {**params, "max_text_chars": 1 << 30})[1]).decode()


def _pillow():
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None  # Pillow warns at 89 megapixels and raises at 178
    return Image


def _written(picture):
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=85)
    return out.getvalue()


def pillow_plain(path):
    image = _pillow()
    with image.open(path) as picture:
        scale = SHOWN_PX / max(picture.size)
        size = round(picture.width * scale), round(picture.height * scale)
        return _written(picture.convert("RGB").resize(size, image.Resampling.LANCZOS))


def pillow_thumbnail(path):
    with _pillow().open(path) as picture:
        picture.thumbnail((SHOWN_PX, SHOWN_PX))
        return _written(picture)


WHOLE = (0, 0, 10_000, 10_000)
"""Crop to the whole image: without that an image within the limits is returned unchanged."""


def eyespan_picture(path):
    from eyespan.model import ImageOptions

    return _read(path, "image", image=ImageOptions(crop=WHOLE)).parts[0].data


def decoder_picture(path):
    from eyespan.decoders import image
    from eyespan.signatures import image_type

    with open(path, "rb", buffering=0) as file:
        params = {"media_type": image_type(file.read(64)), "max_px": SHOWN_PX, "max_side_px": 8000}
        file.seek(0)
        return image.decode(file, {**params, "max_bytes": 3932160, "crop": WHOLE})[1][0]


def eyespan_text(path):
    return _read(path, _kind(path)).parts[0].data.decode()


def _kind(path):
    from eyespan.kinds import detect

    with open(path, "rb") as file:
        return detect(file.read(65536), path.name).name


def decoder_text(path):
    from eyespan.worker.job import load_decoder
    from eyespan.worker.tasks import DECODERS

    with open(path, "rb", buffering=0) as file:
        return load_decoder(_kind(path), DECODERS)(file, {})[1][0].decode()


def empty_job(path):
    from eyespan import worker

    return worker.layers()


def peak_bytes():
    """Return the peak memory of this process, without that of the process that started it."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def main():
    name, path, small, check, calls, seconds = sys.argv[1:]
    call, path = globals()[name], Path(path)
    right = files.page(PAGES[check]) if check in PAGES else getattr(files, check)
    if small != "-":
        call(Path(small))
    samples, started = [], perf_counter()
    while len(samples) < int(calls) and (not samples or perf_counter() - started < float(seconds)):
        start = perf_counter()
        answer = call(path)
        samples.append(perf_counter() - start)
    peak = peak_bytes()
    outcome = right(answer, path, path.parent.name == "small")
    print(json.dumps({"samples": samples, "outcome": outcome, "peak_mb": peak / 1e6, "size": len(answer)}))


if __name__ == "__main__":
    main()
