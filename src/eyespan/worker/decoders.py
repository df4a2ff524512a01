"""The decoders that the worker knows, by task: `module:function`, imported in the worker process only."""

DECODERS = {
    "image": "eyespan.worker.image:decode",
    "pdf": "eyespan.worker.pdf:decode",
    "parquet": "eyespan.worker.parquet:decode",
    "sqlite": "eyespan.worker.sqlite:decode",
    "docx": "eyespan.readers.office.docx:decode",
    "pptx": "eyespan.readers.office.pptx:decode",
    "sheet": "eyespan.readers.office.sheet:decode",
    "epub": "eyespan.readers.office.epub:decode",
    "html": "eyespan.readers.office.html:decode",
    "eml": "eyespan.readers.office.eml:decode",
}
