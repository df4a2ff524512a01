"""Pictures, decoded to be sure that they can be, and made small enough where they are not.

What every model API takes (PNG, JPEG, GIF, WebP) and fits its limits comes back byte for byte, once it has been decoded
whole: a picture that only looks like one ends a conversation. All else comes back as a new PNG, JPEG or WebP, turned
upright, its longer side at most `max_px`.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

try:
    import pillow_heif
except ImportError:
    pillow_heif = None
from PIL import AvifImagePlugin, Image, ImageFile, MpoImagePlugin, UnidentifiedImageError, features

from eyespan.errors import Missing, Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import BinaryIO

MAX_PIXELS = 100_000_000
"""At 4 bytes each this is what the memory of a job has room for."""
MAX_JPEG_PIXELS = 400_000_000
"""A JPEG can be decoded at an eighth of its size, so its header may tell more; what is decoded may not."""
KEEPS = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
FORMATS = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/x-icon": "ICO",
    "image/avif": "AVIF",
    "image/heic": "HEIF",
}
_PHOTO_FORMATS = ("JPEG", "AVIF", "HEIF")
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# The library's own check of pixels (see `_open`) only warns, up to twice its limit: make that an error.
warnings.simplefilter("ignore")
warnings.simplefilter("error", Image.DecompressionBombWarning)
# Inside the sandbox no plugin can be imported: import all of them, and what they load on first use.
Image.init()
AvifImagePlugin.DEFAULT_MAX_THREADS = 1
HAS_AVIF = bool(features.check("avif"))
_MPO = MpoImagePlugin.MpoImageFile.format  # what a JPEG of many cameras turns into when it is opened
if pillow_heif is not None:
    pillow_heif.options.DECODE_THREADS = 1
    pillow_heif.register_heif_opener(thumbnails=False)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """The picture in `file` as one blob, and its facts.

    `params`: `media_type` (what its first bytes say), `max_px` (longer side of what is made anew), `max_side_px` and
    `max_bytes` (what may pass as it is), `crop` (x, y, width, height in pixels of the upright original) or None.

    Raises: Unreadable, Missing.
    """
    kind = FORMATS[params["media_type"]]
    if kind == "HEIF" and pillow_heif is None:
        raise Missing("", what="reading HEIC pictures", install="pip install 'eyespan[heic]'")
    if kind == "AVIF" and not HAS_AVIF:
        raise _unreadable("the installed Pillow has no AVIF decoder")
    data = file.read(params["max_bytes"] + 1)
    while data and len(data) <= params["max_bytes"]:
        more = file.read(params["max_bytes"] + 1 - len(data))
        if not more:
            break
        data += more
    small = len(data) <= params["max_bytes"]

    def source() -> BinaryIO:
        """The picture from its start: an object of Pillow's that has failed once does not fail again."""
        if small:
            return io.BytesIO(data)
        file.seek(0)
        return file

    try:
        if small and params.get("crop") is None and kind in KEEPS:
            facts = _whole(source, kind, params["max_side_px"])
            if facts is not None:
                return facts, [data]
        return _anew(source(), kind, params)
    except (MemoryError, Unreadable):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_many_pixels() from None
    except Exception as error:
        # What can be decoded of a damaged picture, drawn anew, harms nobody; the facts say that it is damaged.
        return _salvaged(source(), kind, params, error)


def rehearse() -> None:
    """Decodes and draws anew a small picture of every format and mode, so that nothing is left to be imported."""
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", *(["AVIF"] if HAS_AVIF else [])):
        for mode in ("RGB", "RGBA", "P", "L", "1", "I;16"):
            made = io.BytesIO()
            frame = Image.new(mode, (16, 16))
            try:
                frame.save(made, kind, **({"save_all": True, "append_images": [frame]} if kind == "GIF" else {}))
            except (OSError, ValueError, KeyError):
                continue  # not a mode of this format
            for crop in (None, (0, 0, 4, 4)):
                made.seek(0)
                media_type = next(name for name, each in FORMATS.items() if each == kind)
                limits = {"max_px": 8, "max_side_px": 8000, "max_bytes": 100_000}
                decode(made, {"media_type": media_type, "crop": crop, **limits})
            made.seek(0)
            decode(made, {"media_type": media_type, "crop": None, **limits, "max_side_px": 4})


def _whole(source: Callable[[], BinaryIO], kind: str, max_side_px: int) -> dict[str, Any] | None:
    """The facts of a picture that may pass as it is, once it has been decoded; None if it may not."""
    picture = _open(source(), kind)
    facts = _facts(picture, kind)
    if max(picture.size) > max_side_px:
        return None
    _check_pixels(picture.size, MAX_PIXELS)
    _open(source(), kind).load()
    return {**facts, "media_type": KEEPS[kind], "unchanged": True}


def _anew(file: BinaryIO, kind: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    picture = _open(file, kind)
    orientation = _orientation(picture)
    facts = _facts(picture, kind)
    box = _crop_box(params.get("crop"), facts["width"], facts["height"])
    if box is not None:
        facts["crop"] = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
    shown = _shown(picture, orientation, box, params["max_px"], facts)
    blob, media_type = _encode(shown, kind, params["max_bytes"])
    facts.update(media_type=media_type, shown_width=shown.width, shown_height=shown.height)
    return facts, [blob]


def _salvaged(
    file: BinaryIO, kind: str, params: Mapping[str, Any], error: Exception
) -> tuple[dict[str, Any], list[bytes]]:
    """What is left of a damaged picture. Raises: Unreadable, for `error`, if that is nothing."""
    if isinstance(error, UnidentifiedImageError):
        reason = f"its header is not that of a picture ({kind})"  # Pillow's own words hold a memory address
    else:
        reason = f"it is damaged: {error or type(error).__name__}"[:200]
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        facts, blobs = _anew(file, kind, params)
        with Image.open(io.BytesIO(blobs[0])) as shown:
            extremes = shown.convert("RGBA").getextrema()
    except MemoryError:
        raise
    except Exception:
        raise _unreadable(reason) from None
    if all(isinstance(pair, tuple) and pair[0] == pair[1] for pair in extremes):
        raise _unreadable(reason)
    return {**facts, "damaged": True}, blobs


def _facts(picture: Image.Image, kind: str) -> dict[str, Any]:
    width, height = picture.size
    if _orientation(picture) >= 5:
        width, height = height, width
    facts: dict[str, Any] = {"format": kind, "width": width, "height": height}
    if _is_animated(picture):
        facts["animated"] = True
    return facts


def _open(file: BinaryIO, kind: str) -> Image.Image:
    # Opening decodes nothing, and the check below can tell the size; only an icon is decoded at once, and what it
    # holds (a PNG, a bomb) has no other check than the library's own.
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS if kind == "ICO" else None
    picture = Image.open(file, formats=(kind,))
    _check_pixels(picture.size, MAX_JPEG_PIXELS if kind == "JPEG" else MAX_PIXELS)
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    return picture


def _check_pixels(size: tuple[int, int], most: int) -> None:
    if size[0] * size[1] > most:
        raise _too_many_pixels(f"it has {size[0]} x {size[1]} pixels", most)


def _too_many_pixels(what: str = "it holds a picture of more pixels", most: int = MAX_PIXELS) -> Unreadable:
    return _unreadable(f"{what}; at most {most // 1_000_000} million are decoded")


def _orientation(picture: Image.Image) -> int:
    if picture.format == "PNG" and "exif" not in picture.info:
        return 1  # to look behind the pixels for it, all of them would be decoded
    try:
        value = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # Exif data is whatever a file says it is; broken, it says nothing
        return 1
    return value if value in _UPRIGHT else 1


def _is_animated(picture: Image.Image) -> bool:
    try:
        return bool(getattr(picture, "is_animated", False)) and picture.format != _MPO
    except Exception:  # a broken second frame is no reason not to show the first
        return False


def _crop_box(crop: list[int] | None, width: int, height: int) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom within the upright picture. Raises: Unreadable, if nothing of it is inside."""
    if crop is None:
        return None
    x, y, w, h = crop
    box = (max(0, x), max(0, y), min(width, x + w), min(height, y + h))
    if box[0] >= box[2] or box[1] >= box[3]:
        raise _unreadable(f"the crop {x},{y} {w}x{h} lies outside the picture of {width} x {height} pixels")
    return box


def _stored_box(box: tuple[int, int, int, int], size: tuple[int, int], orientation: int) -> tuple[int, int, int, int]:
    """A box of the upright picture in the coordinates in which it is stored; `size` is that of what is stored."""
    width, height = size
    left, top, right, bottom = box
    if orientation >= 5:
        left, top, right, bottom = top, left, bottom, right
    if orientation in (2, 3, 7, 8):
        left, right = width - right, width - left
    if orientation in (3, 4, 6, 7):
        top, bottom = height - bottom, height - top
    return left, top, right, bottom


def _shown(
    picture: Image.Image, orientation: int, box: tuple[int, int, int, int] | None, max_px: int, facts: dict[str, Any]
) -> Image.Image:
    """The picture, or the box of it, upright and at most `max_px` on its longer side."""
    size = picture.size
    part = (0, 0, *size) if box is None else _stored_box(box, size, orientation)
    wide, high = part[2] - part[0], part[3] - part[1]
    scale = min(1.0, max_px / max(wide, high))
    target = max(1, round(wide * scale)), max(1, round(high * scale))
    if scale < 1 and picture.format in ("JPEG", _MPO):
        # The decoder itself halves, while what comes out is still larger than what is wanted.
        picture.draft(None, (max(1, round(size[0] * scale)), max(1, round(size[1] * scale))))
        drafted = picture.size
        if drafted != size:
            across, down = drafted[0] / size[0], drafted[1] / size[1]
            part = (int(part[0] * across), int(part[1] * down), round(part[2] * across), round(part[3] * down))
            part = (part[0], part[1], max(part[0] + 1, part[2]), max(part[1] + 1, part[3]))
    _check_pixels(picture.size, MAX_PIXELS)
    picture.load()
    if part != (0, 0, *picture.size):
        picture = picture.crop(part)
    picture = _plain(picture)
    if scale < 1:
        factor = min(picture.width // target[0], picture.height // target[1])
        if factor >= 2:
            picture = picture.reduce(factor)
        picture = picture.resize(target, Image.Resampling.BICUBIC)
    facts["scale"] = scale
    if picture.mode == "CMYK":
        picture = picture.convert("RGB")
    if orientation in _UPRIGHT:
        picture = picture.transpose(_UPRIGHT[orientation])
    picture.info = {}  # no profile, comment or Exif block of the file goes on
    return picture


def _plain(picture: Image.Image) -> Image.Image:
    """The picture in a mode that can be scaled: L, LA, RGB, RGBA or CMYK."""
    mode = picture.mode
    if mode in ("RGBA", "LA", "CMYK"):
        return picture
    if "transparency" in picture.info:
        return picture.convert("RGBA")
    if mode in ("L", "RGB"):
        return picture
    if mode == "1":
        return picture.convert("L")
    if mode.startswith("I;16"):
        return picture.convert("I").point(lambda value: value / 256).convert("L")
    if mode in ("I", "F"):
        return _grey(picture)
    if mode in ("PA", "RGBa", "La"):
        return picture.convert("RGBA")
    return picture.convert("RGB")


def _grey(picture: Image.Image) -> Image.Image:
    """Numbers of any range as shades: the least is black, the greatest white."""
    low, high = picture.getextrema()
    assert isinstance(low, (int, float))
    assert isinstance(high, (int, float))
    factor = 255 / (high - low) if high > low else 0
    return picture.convert("F").point(lambda value: value * factor + (0 - low * factor)).convert("L")


def _encode(picture: Image.Image, kind: str, max_bytes: int) -> tuple[bytes, str]:
    """As small a file as suits: JPEG for what is opaque, PNG for drawings at their own size and for what is not."""
    opaque = not picture.mode.endswith("A")
    if not opaque:
        alpha = picture.getchannel("A").getextrema()
        if alpha == (255, 255):
            picture, opaque = picture.convert(picture.mode[:-1]), True
    tries: list[tuple[str, dict[str, Any]]] = []
    if opaque:
        is_photo = kind in _PHOTO_FORMATS
        if not is_photo and picture.width * picture.height <= 1_000_000:
            tries.append(("PNG", {"compress_level": 6}))
        # Coloured lines and letters of a drawing would lose their edges to subsampled colour.
        tries += [("JPEG", {"quality": quality, "subsampling": 2 * is_photo}) for quality in (85, 60)]
    else:
        tries += [("PNG", {"compress_level": 3}), ("WEBP", {"quality": 85, "method": 0})]
    for name, options in tries:
        out = io.BytesIO()
        picture.save(out, name, **options)
        if out.tell() <= max_bytes:
            return out.getvalue(), KEEPS[name]
    half = picture.resize((max(1, picture.width // 2), max(1, picture.height // 2)), Image.Resampling.BICUBIC)
    return _encode(half, kind, max_bytes)


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind="image", reason=reason)
