"""Office files made of a few strings."""

from __future__ import annotations

import io
import zipfile

from eyespan.decoders import docx

OFFICE_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PPTX = "http://schemas.openxmlformats.org/presentationml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
PACKAGE_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"


def packed(method=zipfile.ZIP_DEFLATED, **parts):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made


def relations(**targets):
    rows = "".join(
        f'<Relationship Id="{key}" Type="{OFFICE_RELATIONS}/{kind}" Target="{target}"/>'
        for key, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE_RELATIONS}">{rows}</Relationships>'


def word(body, **parts):
    """What the decoder makes of a document with this body; further parts are named by what they are."""
    names = {"styles": "styles", "numbering": "numbering"}
    document = (
        '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
        f'xmlns:r="{OFFICE_RELATIONS}"><w:body>{body}</w:body></w:document>'
    )
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    files = {
        "word/document.xml": document,
        "_rels/.rels": relations(a=("officeDocument", "word/document.xml")),
        "word/_rels/document.xml.rels": relations(**{key: (key, f"{key}.xml") for key in parts}),
        **{f"word/{key}.xml": f"<w:{names[key]} {space}>{text}</w:{names[key]}>" for key, text in parts.items()},
    }
    return docx.decode(packed(**files), {"seconds": 10})[1][0].decode()


def paragraph(text, style="", more=""):
    mark = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{mark}{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"
