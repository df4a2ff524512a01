"""Images and PDFs of a read as blocks of an answer."""

from __future__ import annotations

import os

from eyespan.dialects.base import CHANGED_DOCUMENT
from eyespan.dialects.resource import uri_of
from eyespan.engine import Engine
from eyespan.model import BytesPart, Document, DocumentContent, ImageContent, ImagePart


def image_blocks(document: Document) -> list[ImageContent]:
    """Return the images of a document."""
    return [ImageContent(part.data, part.media_type) for part in document.parts if isinstance(part, ImagePart)]


def media_block(document: Document, engine: Engine, media_type: str | None = None) -> ImageContent | DocumentContent:
    """Return the image of a document, or the file itself as a document with its address and type."""
    images = image_blocks(document)
    if images:
        return images[0]
    part = document.parts[0]
    assert isinstance(part, BytesPart)
    uri = uri_of(os.path.join(engine.guard.roots[0].path, document.facts.canonical))
    return DocumentContent(part.data, media_type or part.media_type, uri=uri)


def media_notes(document: Document) -> tuple[str, ...]:
    """Return a note if the file changed while it was read."""
    return (CHANGED_DOCUMENT,) if document.facts.changed else ()
