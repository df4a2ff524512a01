import pytest

from eyespan import kinds


def name_of(kind):
    return None if kind is None else kind.name


@pytest.mark.parametrize(
    ("first_bytes", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a\x01\0\x01\0", "image/gif"),
        (b"GIF89a is what such files begin with\n", None),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVEfmt ", None),
        (b"BM" + bytes(12) + b"\x28\0\0\0", "image/bmp"),
        (b"BM stands for bitmap\n", None),
        (b"BM", None),
        (b"II*\0\x08\0\0\0", "image/tiff"),
        (b"MM\0*\0\0\0\x08", "image/tiff"),
        (b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0" + bytes(8), "image/x-icon"),
        (b"\0\0\1\0\0\0", None),
        (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0avifmif1", "image/avif"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0isommp42", None),
        (b"", None),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", None),
    ],
)
def test_an_image_is_known_by_its_first_bytes(first_bytes, media_type):
    assert kinds.image_type(first_bytes) == media_type


@pytest.mark.parametrize(
    ("first_bytes", "name", "kind"),
    [
        (b"%PDF-1.7\n", "a", "pdf"),
        (b"\xef\xbb\xbf%PDF-1.7\n", "a", "pdf"),
        (b"\0\0junk%PDF-1.7\n", "a", "pdf"),
        (b"A PDF begins with %PDF-1.7\n", "notes.md", None),
        (b"A PDF begins with %PDF-1.7\n", "notes.pdf", "pdf"),
        (b"\0" * 1024 + b"%PDF-1.7", "a", None),
        (b"text", "a.PDF", "pdf"),
        (b"", "a.pdf", None),
        (b"text", "a.png", None),
        (b"\x89PNG\r\n\x1a\n", "a.pdf", "image"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", "image"),
    ],
)
def test_contents_decide_before_the_name(first_bytes, name, kind):
    assert name_of(kinds.detect(first_bytes, name)) == kind
