"""Images: checked by decoding, and converted where a model API would not accept them.

An upright image within the limits, in a format that every model API accepts (PNG, JPEG, GIF, WebP), is returned byte
for byte, after it was decoded completely, because an invalid image ends a conversation. Any other is returned as a new
PNG, JPEG or WebP, rotated upright, with a longer side of at most `max_px`. Numbers of more than 8 bits are scaled to
the bits that they use. Of an EPS file its TIFF preview is shown.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Callable, Mapping
from typing import IO, Any, BinaryIO, Literal

try:
    import pillow_heif
except ImportError:
    pillow_heif = None
from PIL import AvifImagePlugin, Image, ImageCms, ImageFile, MpoImagePlugin, UnidentifiedImageError, features

from eyespan.decoders.files import read_up_to, unreadable
from eyespan.errors import Missing, Unreadable

MAX_TIFF_FRAMES = 100_000
"""More frames are not counted."""
_MAX_OFFSET = 1 << 62
MAX_PIXELS = 100_000_000
"""At 4 bytes each, the most that fits in the memory of a job."""
MAX_GREY_PIXELS = 200_000_000
"""The same for one byte each."""
MAX_SCALABLE_PIXELS = 400_000_000
"""The limit for the header of an image that can be decoded at a fraction of its size: JPEG, JPEG 2000."""
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
    "image/jp2": "JPEG2000",
    "image/x-portable-anymap": "PPM",
    "image/vnd.ms-dds": "DDS",
    "image/x-tga": "TGA",
    "image/vnd.adobe.photoshop": "PSD",
    "image/icns": "ICNS",
    "image/sgi": "SGI",
    "image/vnd.zbrush.pcx": "PCX",
    "image/x-fli": "FLI",
    "image/x-xbitmap": "XBM",
    "image/x-eps": "EPS",
}
_WEBP_IN_TIFF = 50001
_PHOTO_FORMATS = ("JPEG", "AVIF", "HEIF", "JPEG2000")
_PLAIN_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX")
"""The modes of an image that model APIs show as it is. They would clip numbers of 16 bits."""
_OPENED_DECODED = ("ICO", "ICNS")
"""Formats whose images are decoded when they are opened."""
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

# Up to twice its limit, the library's own check of pixels (see `_open`) only warns: make that an error.
warnings.simplefilter("ignore")
warnings.simplefilter("error", Image.DecompressionBombWarning)
# In the sandbox no module can be imported, so load every plugin before.
Image.init()
AvifImagePlugin.DEFAULT_MAX_THREADS = 1
HAS_AVIF = bool(features.check("avif"))
_MPO = MpoImagePlugin.MpoImageFile.format  # Pillow opens the JPEG files of many cameras as this
if pillow_heif is not None:
    pillow_heif.options.DECODE_THREADS = 1
    pillow_heif.register_heif_opener(thumbnails=False)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the image in `file` as one blob, and its facts.

    `params`: `media_type` (by its first bytes), `max_px` (longer side of a converted image), `max_side_px` and
    `max_bytes` (limits for an unchanged one), `crop` (x, y, width, height in pixels of the upright original) or None,
    `frame` (from 1) or None. No blob, and the fact `frames`: there is no such frame.

    Raises: Unreadable, Missing.
    """
    kind = FORMATS[params["media_type"]]
    if kind == "HEIF" and pillow_heif is None:
        raise Missing("", what="reading HEIC images", install="pip install 'eyespan[heic]'")
    if kind == "EPS":
        return _preview(file, params)
    if kind == "AVIF" and not HAS_AVIF:
        raise unreadable("the installed Pillow has no AVIF decoder")
    data = read_up_to(file, params["max_bytes"] + 1)
    is_small = len(data) <= params["max_bytes"]

    def source() -> BinaryIO:
        """Return the file at its start, for a new object: one of Pillow's that failed once does not fail again."""
        if is_small:
            return io.BytesIO(data)
        file.seek(0)
        return file

    try:
        if is_small and params.get("crop") is None and params.get("frame") is None and kind in KEEPS:
            facts = _check(source, kind, params["max_side_px"])
            if facts is not None:
                return facts, [data]
        return _convert(source(), kind, params)
    except (MemoryError, Unreadable):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise _too_many_pixels() from None
    except Exception as error:
        if kind in _OPENED_DECODED and isinstance(error, UnidentifiedImageError):
            raise unreadable(f"invalid {kind} header") from None
        return _salvage(source(), kind, params, error)


def rehearse() -> None:
    """Decode and convert a small image of every format and mode, so that nothing is left to be imported."""
    formats = ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM", "TGA", "PCX", "SGI", "DDS", "ICNS", "XBM"]
    formats += [name for name, feature in (("AVIF", "avif"), ("JPEG2000", "jpg_2000")) if features.check(feature)]
    for kind in formats:
        for mode in ("RGB", "RGBA", "P", "L", "1", "I;16", "CMYK", "LAB"):
            made = io.BytesIO()
            frame = Image.new(mode, (16, 16))
            try:
                frame.save(made, kind, **({"save_all": True, "append_images": [frame]} if kind == "GIF" else {}))
            except (OSError, ValueError, KeyError, SystemError):
                continue  # not a mode of this format
            for crop in (None, (0, 0, 4, 4)):
                made.seek(0)
                media_type = next(name for name, each in FORMATS.items() if each == kind)
                limits = {"max_px": 8, "max_side_px": 2000, "max_bytes": 100_000}
                decode(made, {"media_type": media_type, "crop": crop, **limits})
            made.seek(0)
            decode(made, {"media_type": media_type, "crop": None, **limits, "max_side_px": 4})


def _preview(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the TIFF in an EPS file for programs that do not execute PostScript. Raises: Unreadable."""
    at, size_bytes = struct.unpack("<II", read_up_to(file, 28)[20:].ljust(8, b"\0"))
    file.seek(at)
    tiff = io.BytesIO(read_up_to(file, min(size_bytes, 32 * 1024 * 1024)))
    facts, blobs = decode(tiff, {**params, "media_type": "image/tiff"})
    return {**facts, "format": "EPS", "is_preview": True}, blobs


def _check(source: Callable[[], BinaryIO], kind: str, max_side_px: int) -> dict[str, Any] | None:
    """Decode an image and return its facts; None if it is too large to be returned unchanged."""
    image = _open(source(), kind)
    facts = _facts(image, kind)
    if max(image.size) > max_side_px or image.mode not in _PLAIN_MODES or _orientation(image) != 1:
        return None
    _check_pixels(image.size, MAX_PIXELS)
    _open(source(), kind).load()
    return {**facts, "media_type": KEEPS[kind], "unchanged": True}


def _convert(file: BinaryIO, kind: str, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    image = _open(file, kind)
    orientation = _orientation(image)
    facts = _facts(image, kind)
    if params.get("frame") is not None:
        facts["frame"] = params["frame"]
        if not _seek(image, params["frame"]):
            return facts, []
        facts["width"], facts["height"] = image.size if orientation < 5 else image.size[::-1]
    box = _crop_box(params.get("crop"), facts["width"], facts["height"])
    if box is not None:
        facts["crop"] = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
    shown = _upright(image, orientation, box, params["max_px"], facts)
    blob, media_type = _encode(shown, kind, params["max_bytes"])
    facts.update(media_type=media_type, shown_width=shown.width, shown_height=shown.height)
    return facts, [blob]


def _salvage(
    file: BinaryIO, kind: str, params: Mapping[str, Any], error: Exception
) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the part of a damaged image that can be decoded. Raises: Unreadable, for `error`, if there is none."""
    if isinstance(error, UnidentifiedImageError):
        reason = f"invalid {kind} header"  # Pillow's own message contains a memory address
    else:
        reason = f"corrupt image: {error or type(error).__name__}"[:200]
        if str(error).startswith("decoder error"):
            reason = "corrupt image, or one of a compression that is not supported"
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        facts, blobs = _convert(file, kind, params)
        with Image.open(io.BytesIO(blobs[0])) as shown:
            extremes = shown.convert("RGBA").getextrema()
    except MemoryError:
        raise
    except Exception:
        raise unreadable(reason) from None
    if all(isinstance(pair, tuple) and pair[0] == pair[1] for pair in extremes):
        raise unreadable(reason)
    return {**facts, "damaged": True}, blobs


def _facts(image: Image.Image, kind: str) -> dict[str, Any]:
    width, height = image.size
    if _orientation(image) >= 5:
        width, height = height, width
    facts: dict[str, Any] = {"format": kind, "width": width, "height": height}
    if _is_animated(image):
        facts["animated"] = True
        facts["frames"] = _frame_count(image)
    return facts


def _frame_count(image: Image.Image) -> int:
    """Return the number of frames of an image; 1 if its format has no frames."""
    file: IO[bytes] | None = getattr(image, "fp", None)
    if image.format == "TIFF" and file is not None:
        place = file.tell()
        try:
            return _tiff_directory_count(file)
        finally:
            file.seek(place)
    return int(getattr(image, "n_frames", 1))


def _tiff_directory_count(file: IO[bytes]) -> int:
    """Return the number of directories of a TIFF, each of which is a frame.

    Pillow parses all of them to count them, and takes more than ten seconds for some ten thousand.
    """
    file.seek(0)
    header = file.read(16)
    order: Literal["little", "big"] = "little" if header[:2] == b"II" else "big"
    is_big = b"\x2b" in header[2:4]
    width, entry_bytes, count_bytes = (8, 20, 8) if is_big else (4, 12, 2)
    at = int.from_bytes(header[width : 2 * width], order)
    offsets: set[int] = set()
    while 0 < at < _MAX_OFFSET and at not in offsets and len(offsets) < MAX_TIFF_FRAMES:
        file.seek(at)
        count = file.read(count_bytes)
        end = at + count_bytes + entry_bytes * int.from_bytes(count, order)
        if len(count) < count_bytes or end > _MAX_OFFSET:
            break
        offsets.add(at)
        file.seek(end)
        at = int.from_bytes(file.read(width), order)
    return max(1, len(offsets))


def _seek(image: Image.Image, frame: int) -> bool:
    """Select a frame, counted from 1; return False if there is none."""
    if not 1 <= frame <= _frame_count(image):
        return False
    image.seek(frame - 1)
    _check_pixels(image.size, MAX_PIXELS)
    return True


def _open(file: BinaryIO, kind: str) -> Image.Image:
    # Opening decodes nothing, so the check below is in time. Only an icon is decoded at once, and the image in it is
    # checked by nothing but the library itself.
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS if kind in _OPENED_DECODED else None
    image = Image.open(file, formats=(kind,))
    _check_pixels(image.size, MAX_SCALABLE_PIXELS if kind in ("JPEG", "JPEG2000") else _most_pixels(image))
    Image.MAX_IMAGE_PIXELS = MAX_GREY_PIXELS
    return image


def _most_pixels(image: Image.Image) -> int:
    return MAX_GREY_PIXELS if image.mode in ("1", "L") else MAX_PIXELS


def _check_pixels(size: tuple[int, int], most: int) -> None:
    if size[0] * size[1] > most:
        raise _too_many_pixels(f"it has {size[0]} x {size[1]} pixels", most)


def _too_many_pixels(size: str = "an image in it has more pixels", most: int = MAX_PIXELS) -> Unreadable:
    return unreadable(f"{size}; the limit is {most // 1_000_000} million")


def _orientation(image: Image.Image) -> int:
    if image.format == "TIFF":
        return 1  # Pillow rotates it when it is loaded, and its size is that of the upright image before
    if image.format == "PNG" and "exif" not in image.info:
        return 1  # Pillow would decode all pixels to look for Exif data after them
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # invalid Exif data raises many types
        return 1
    return value if value in _UPRIGHT else 1


def _is_animated(image: Image.Image) -> bool:
    try:
        return bool(getattr(image, "is_animated", False)) and image.format != _MPO
    except Exception:  # a damaged second frame does not prevent showing the first
        return False


def _crop_box(crop: list[int] | None, width: int, height: int) -> tuple[int, int, int, int] | None:
    """Return left, top, right and bottom within the upright image. Raises: Unreadable, if the crop is outside."""
    if crop is None:
        return None
    x, y, w, h = crop
    box = (max(0, x), max(0, y), min(width, x + w), min(height, y + h))
    if box[0] >= box[2] or box[1] >= box[3]:
        raise unreadable(f"the crop {x},{y} {w}x{h} lies outside the image of {width} x {height} pixels")
    return box


def _stored_box(box: tuple[int, int, int, int], size: tuple[int, int], orientation: int) -> tuple[int, int, int, int]:
    """Convert a box of the upright image to coordinates of the stored image, whose size is `size`."""
    width, height = size
    left, top, right, bottom = box
    if orientation >= 5:
        left, top, right, bottom = top, left, bottom, right
    if orientation in (2, 3, 7, 8):
        left, right = width - right, width - left
    if orientation in (3, 4, 6, 7):
        top, bottom = height - bottom, height - top
    return left, top, right, bottom


def _upright(
    image: Image.Image, orientation: int, box: tuple[int, int, int, int] | None, max_px: int, facts: dict[str, Any]
) -> Image.Image:
    """Return the image, or a box of it, upright and at most `max_px` on its longer side."""
    size = image.size
    part = (0, 0, *size) if box is None else _stored_box(box, size, orientation)
    wide, high = part[2] - part[0], part[3] - part[1]
    scale = min(1.0, max_px / max(wide, high))
    target = max(1, round(wide * scale)), max(1, round(high * scale))
    if scale < 1 and image.format in ("JPEG", _MPO):
        # The JPEG decoder can halve the size, as long as the result is larger than the target.
        image.draft(None, (max(1, round(size[0] * scale)), max(1, round(size[1] * scale))))
        drafted = image.size
        if drafted != size:
            across, down = drafted[0] / size[0], drafted[1] / size[1]
            part = (int(part[0] * across), int(part[1] * down), round(part[2] * across), round(part[3] * down))
            part = (part[0], part[1], max(part[0] + 1, part[2]), max(part[1] + 1, part[3]))
    if scale < 1 and image.format == "JPEG2000" and orientation == 1 and box is None:
        _reduce_on_load(image, target)
    _check_pixels(image.size, _most_pixels(image))
    # Only images of this format have tags, which the types do not show.
    if image.format == "TIFF" and image.tag_v2.get(259) == _WEBP_IN_TIFF:  # type: ignore[attr-defined]  # see above
        image = _joined_strips(image)
    else:
        image.load()
    if image.format == "JPEG2000" and box is None:
        part = (0, 0, *image.size)
    if part != (0, 0, *image.size):
        image = image.crop(part)
    image = _scalable_mode(image)
    if scale < 1:
        factor = min(image.width // target[0], image.height // target[1])
        if factor >= 2:
            image = image.reduce(factor)
        image = image.resize(target, Image.Resampling.BICUBIC)
    facts["scale"] = scale
    if image.mode in ("CMYK", "LAB", "YCbCr", "HSV"):
        image = _as_rgb(image)
    if orientation in _UPRIGHT:
        image = image.transpose(_UPRIGHT[orientation])
    image.info = {}  # no profile, comment or Exif block of the file is copied
    return image


def _joined_strips(image: Any) -> Image.Image:
    """Return a TIFF whose strips or tiles are WebP images, which the library for TIFF does not decode."""
    tags, made = image.tag_v2, Image.new("RGBA" if image.mode == "RGBA" else "RGB", image.size)
    wide, high = tags.get(322, image.width), tags.get(323) or tags.get(278, image.height)
    offsets, sizes = (tags.get(324), tags.get(325)) if 324 in tags else (tags[273], tags[279])
    across = -(-image.width // max(1, wide))
    for at, (offset, size_bytes) in enumerate(zip(offsets, sizes, strict=True)):
        image.fp.seek(offset)
        with Image.open(io.BytesIO(read_up_to(image.fp, size_bytes)), formats=("WEBP",)) as piece:
            _check_pixels(piece.size, MAX_PIXELS)
            made.paste(piece.convert(made.mode), (at % across * wide, at // across * high))
    return made


def _reduce_on_load(image: Any, target: tuple[int, int]) -> None:
    """Let the decoder of JPEG 2000 leave out resolutions, as long as the result is larger than the target."""
    width, height = image.size
    steps = 0
    while steps < 5 and min(width // target[0], height // target[1]) >> (steps + 1) >= 1:
        steps += 1
    image.reduce = steps


_SRGB = ImageCms.createProfile("sRGB") if features.check("littlecms2") else None
"""None where Pillow was built without colour management; images are then converted without their profile."""


def _as_rgb(image: Image.Image) -> Image.Image:
    """Return an image of another colour space in RGB, by its own profile if it has a valid one."""
    profile = image.info.get("icc_profile")
    if _SRGB is not None and profile and image.mode in ("CMYK", "LAB") and len(profile) < 4_000_000:
        try:
            converted = ImageCms.profileToProfile(image, io.BytesIO(profile), _SRGB, outputMode="RGB")
            if converted is not None:
                return converted
        except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
            pass  # an invalid profile; the usual conversion needs none
    return image.convert("RGB")


def _scalable_mode(image: Image.Image) -> Image.Image:
    """Return the image in a mode that can be scaled: L, LA, RGB, RGBA, CMYK or LAB."""
    mode = image.mode
    if mode in ("RGBA", "LA", "CMYK", "LAB"):
        return image
    if "transparency" in image.info:
        return image.convert("RGBA")
    if mode in ("L", "RGB"):
        return image
    if mode == "1":
        return image.convert("L")
    if mode.startswith("I;16"):
        return _narrowed(image.convert("I"))
    if mode in ("I", "F"):
        return _grey(image)
    if mode in ("PA", "RGBa", "La"):
        return image.convert("RGBA")
    return image.convert("RGB")


def _narrowed(image: Image.Image) -> Image.Image:
    """Return numbers of up to 16 bits as shades; the most bits that a pixel uses are the range."""
    extremes = image.getextrema()
    highest = extremes[1] if isinstance(extremes, tuple) else 0
    assert isinstance(highest, (int, float))
    bits = next(bits for bits in (8, 10, 12, 14, 16, 32) if highest < 1 << bits)
    factor = 255 / ((1 << bits) - 1)
    return image.point(lambda value: value * factor + 0).convert("L")


def _grey(image: Image.Image) -> Image.Image:
    """Return numbers of any range as shades: the least is black, the greatest white."""
    low, high = image.getextrema()
    assert isinstance(low, (int, float))
    assert isinstance(high, (int, float))
    factor = 255 / (high - low) if high > low else 0
    return image.convert("F").point(lambda value: value * factor + (0 - low * factor)).convert("L")


def _encode(image: Image.Image, kind: str, max_bytes: int) -> tuple[bytes, str]:
    """Encode as JPEG if the image is opaque, as PNG for small drawings and transparent images."""
    opaque = not image.mode.endswith("A")
    if not opaque:
        alpha = image.getchannel("A").getextrema()
        if alpha == (255, 255):
            image, opaque = image.convert(image.mode[:-1]), True
    tries: list[tuple[str, dict[str, Any]]] = []
    if opaque:
        is_photo = kind in _PHOTO_FORMATS
        if not is_photo and image.width * image.height <= 1_000_000:
            tries.append(("PNG", {"compress_level": 6}))
        # Subsampled colour would blur the coloured lines and letters of a drawing.
        tries += [("JPEG", {"quality": quality, "subsampling": 2 * is_photo}) for quality in (85, 60)]
    else:
        tries += [("PNG", {"compress_level": 3}), ("WEBP", {"quality": 85, "method": 0})]
    for name, options in tries:
        out = io.BytesIO()
        image.save(out, name, **options)
        if out.tell() <= max_bytes:
            return out.getvalue(), KEEPS[name]
    half = image.resize((max(1, image.width // 2), max(1, image.height // 2)), Image.Resampling.BICUBIC)
    return _encode(half, kind, max_bytes)
