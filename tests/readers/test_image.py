import io
import json
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from eyespan import Workspace, worker
from eyespan.errors import Unreadable
from eyespan.model import DocumentOptions, ImageContent, ImageOptions, ReadRequest, TextContent
from eyespan.readers import image
from eyespan.worker.client import JobLimits, Worker
from tests import sizes

IMAGES = Path(__file__).parent.parent / "fixtures" / "pictures"
EXPECTED = json.loads((IMAGES / "expected.json").read_text())
UNCHANGED = {
    "mono.png": "image/png",
    "moving.gif": "image/gif",
    "palette.png": "image/png",
    "photo.jpg": "image/jpeg",
    "plain.png": "image/png",
    "progressive.jpg": "image/jpeg",
    "still.webp": "image/webp",
}
CONVERTED = sorted(set(EXPECTED) - set(UNCHANGED))
RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def read(path, **settings):
    return Workspace("/").tool("claude", **settings).call({"file_path": str(path)})


def parts(path, **options):
    """Return the document for these options, which only some dialects have."""
    workspace = Workspace(path.parent)
    request = ReadRequest(
        path.name, documents=frozenset(["image"]), options=DocumentOptions(image=ImageOptions(**options))
    )
    return workspace.engine.read(request)


def opened(block):
    image = Image.open(io.BytesIO(block.data))
    image.load()
    return image


def near(colour, wanted):
    return all(abs(a - b) < 24 for a, b in zip(colour, wanted, strict=True))


@pytest.mark.parametrize(("name", "media_type"), UNCHANGED.items())
def test_an_image_that_model_apis_accept_is_returned_byte_for_byte(name, media_type):
    reply = read(IMAGES / name)

    assert reply.content == (ImageContent((IMAGES / name).read_bytes(), media_type),)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_size_is_the_one_that_another_program_finds(name):
    if name == "photo.heic":
        pytest.importorskip("pillow_heif", reason="the extra [heic]")
    wanted = EXPECTED[name]
    sides = wanted["width"], wanted["height"]

    facts = read(IMAGES / name).structured

    upright = sides[::-1] if wanted["orientation"] == "RightTop" else sides
    assert (facts["width"], facts["height"]) == upright
    # The images of an icon are sizes of the same one, not frames.
    assert facts.get("animated", False) is (wanted["frames"] > 1 and not name.endswith(".ico"))


@pytest.mark.parametrize("name", CONVERTED)
def test_an_image_that_they_do_not_accept_is_converted_within_their_limits(name):
    if name == "photo.heic":
        pytest.importorskip("pillow_heif", reason="the extra [heic]")
    reply = read(IMAGES / name)

    shown = opened(reply.content[0])
    assert Image.MIME[shown.format] == reply.content[0].media_type
    assert reply.content[0].media_type in image_types()
    assert max(shown.size) == min(1568, max(reply.structured["width"], reply.structured["height"]))
    assert (shown.width, shown.height) == (reply.structured["shown_width"], reply.structured["shown_height"])


def image_types():
    return ("image/png", "image/jpeg", "image/gif", "image/webp")


def test_a_scaled_image_comes_with_its_size_and_scale():
    reply = read(IMAGES / "huge.png")

    assert reply.content[1:] == (
        TextContent(
            "The original image has 9000 x 1500 pixels (PNG). It is shown at 1568 x 261 pixels (scale 0.1742): "
            "multiply coordinates by 5.7398 to get those of the original."
        ),
    )
    shown = opened(reply.content[0]).convert("RGB")
    assert near(shown.getpixel((10, 10)), RED)
    assert near(shown.getpixel((1500, 250)), BLUE)
    assert near(shown.getpixel((10, 250)), WHITE)


def test_a_scaled_image_keeps_its_transparency():
    shown = opened(read(IMAGES / "alpha.png").content[0])

    assert shown.getpixel((10, 100)) == (255, 0, 0, 255)
    assert shown.getpixel((1500, 100))[3] == 0


def test_an_image_stored_on_its_side_is_shown_upright():
    reply = read(IMAGES / "turned.jpg")

    shown = opened(reply.content[0])
    assert shown.size == (209, 1568)
    # As stored, the left half of the upper half is red; turned right, that is the upper half of the right side.
    assert near(shown.getpixel((200, 20)), RED)
    assert near(shown.getpixel((5, 20)), WHITE)
    assert near(shown.getpixel((200, 1500)), WHITE)


def test_the_first_frame_of_a_scaled_animation_is_shown_with_a_note():
    reply = read(IMAGES / "moving_wide.gif")

    assert near(opened(reply.content[0]).convert("RGB").getpixel((5, 5)), RED)
    assert reply.content[1].text.endswith("It has several frames; the first is shown.")


def test_a_crop_is_given_in_pixels_of_the_original():
    document = parts(IMAGES / "plain.png", crop=(30, 10, 20, 20))

    shown = opened(document.parts[0]).convert("RGB")
    assert shown.size == (20, 20)
    assert [shown.getpixel(at) for at in ((0, 0), (9, 9), (10, 9), (9, 10))] == [BLUE, BLUE, RED, RED]
    assert document.parts[1].text == (
        "The original image has 120 x 80 pixels (PNG). The part of 20 x 20 pixels at x=30, y=10 is shown. "
        "It is shown at 20 x 20 pixels (scale 1)."
    )


def test_a_crop_over_the_edge_is_cut_at_it():
    document = parts(IMAGES / "plain.png", crop=(-10, 70, 1000, 1000))

    assert document.extra["crop"] == [0, 70, 120, 10]


def test_a_crop_outside_of_the_image_is_an_error():
    with pytest.raises(Unreadable, match="lies outside the image of 120 x 80 pixels"):
        parts(IMAGES / "plain.png", crop=(120, 0, 5, 5))


def corners(size):
    """Return an image whose corners are red, green, blue and black, clockwise from the top left."""
    made = Image.new("RGB", size, "white")
    width, height = size
    for at, colour in (((0, 0), "red"), ((1, 0), "lime"), ((1, 1), "blue"), ((0, 1), "black")):
        made.paste(
            colour, (at[0] * (width - 60), at[1] * (height - 60), at[0] * (width - 60) + 60, at[1] * (height - 60) + 60)
        )
    return made


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_crop_of_a_turned_image_is_a_part_of_the_upright_image(tmp_path, orientation):
    upright = corners((400, 240))
    back = {
        1: None,
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    stored = upright if back is None else upright.transpose(back)
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "turned.jpg", quality=95, subsampling=0, exif=exif)

    seen = [
        opened(parts(tmp_path / "turned.jpg", crop=(x, y, 40, 40)).parts[0]).convert("RGB").getpixel((20, 20))
        for x, y in ((5, 5), (355, 5), (355, 195), (5, 195))
    ]

    wanted = [RED, (0, 255, 0), BLUE, (0, 0, 0)]
    assert [near(a, b) for a, b in zip(seen, wanted, strict=True)] == [True] * 4, seen


def test_a_crop_of_a_large_photo_is_decoded_at_the_shown_size(tmp_path):
    big = Image.new("RGB", (4000, 2000), "white")
    big.paste("red", (1000, 500, 3000, 1500))
    big.save(tmp_path / "big.jpg", quality=90)

    document = parts(tmp_path / "big.jpg", crop=(500, 0, 3000, 2000), max_px=300)

    shown = opened(document.parts[0])
    assert (shown.size, document.extra["scale"]) == ((300, 200), 0.1)
    assert [near(shown.getpixel(at), want) for at, want in (((60, 60), RED), ((40, 60), WHITE), ((60, 40), WHITE))] == [
        True
    ] * 3


def test_a_file_over_the_byte_limit_is_scaled_though_its_sides_fit(tmp_path):
    noise = Image.effect_noise((2600, 2600), 90)
    noise.save(tmp_path / "noise.png", compress_level=1)
    assert (tmp_path / "noise.png").stat().st_size > image.MAX_BYTES

    reply = read(tmp_path / "noise.png")

    assert len(reply.content[0].data) <= image.MAX_BYTES
    assert max(opened(reply.content[0]).size) == 1568


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK", "F", "I"])
def test_every_mode_of_pixels_can_be_converted(tmp_path, mode):
    name = "deep.tif" if mode not in ("LA", "P") else "deep.png"
    if mode in ("I", "F", "I;16"):
        made = Image.new(mode, (3000, 40), 7000)
        made.paste(20, (0, 0, 1500, 40))
    else:
        made = Image.linear_gradient("L").resize((3000, 40)).convert(mode)
    made.save(tmp_path / name)

    document = parts(tmp_path / name, max_px=100, crop=(0, 0, 3000, 40))

    assert opened(document.parts[0]).size == (100, 1)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "TGA"])
@pytest.mark.parametrize(
    "size",
    sizes.size(
        short=[(2001, 40), (40, 2001), (2000, 200)],
        long=[(2001, 40), (40, 2001), (2162, 322), (7900, 60), (2000, 2000), (1, 2000)],
    ),
)
def test_no_image_leaves_with_a_side_or_size_that_an_api_refuses(tmp_path, kind, size):
    Image.linear_gradient("L").resize(size).convert("P" if kind == "GIF" else "RGB").save(tmp_path / "a", kind)

    shown = opened(read(tmp_path / "a").content[0])

    assert max(shown.size) == (2000 if max(size) <= 2000 and kind in KEPT else 1568)


KEPT = ("PNG", "JPEG", "GIF", "WEBP")


@pytest.mark.parametrize("kind", ["JPEG", "TIFF", "WEBP", "PNG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_orientation_is_applied_to_the_pixels_once(tmp_path, kind, orientation):
    stored = corners((400, 240))
    exif = Image.Exif()
    exif[0x0112] = orientation
    stored.save(tmp_path / "turned", kind, exif=exif)
    turned = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }
    upright = stored.transpose(turned[orientation]) if orientation > 1 else stored

    reply = read(tmp_path / "turned")

    shown = opened(reply.content[0])
    assert (reply.structured["width"], reply.structured["height"]) == shown.size == upright.size
    assert shown.getexif().get(0x0112, 1) == 1
    places = [(20, 20), (shown.width - 20, 20), (20, shown.height - 20)]
    assert all(near(shown.convert("RGB").getpixel(at), upright.getpixel(at)) for at in places)


@pytest.mark.parametrize(("highest", "shade"), [(200, 200), (1023, 255), (4095, 255), (4000, 249), (65535, 255)])
@pytest.mark.parametrize("kind", ["TIFF", "PNG"])
def test_deep_pixels_are_scaled_to_the_bits_that_they_use(tmp_path, kind, highest, shade):
    row = highest.to_bytes(2, "little") * 20 + bytes(2 * 20)
    Image.frombytes("I;16", (40, 40), row * 40).save(tmp_path / "deep", kind)

    shown = opened(read(tmp_path / "deep").content[0]).convert("L")

    assert abs(shown.getpixel((5, 5)) - shade) <= 2
    assert shown.getpixel((35, 5)) == 0


@pytest.mark.parametrize(("mode", "colour"), [("CMYK", (0, 255, 255, 0)), ("LAB", (136, 208, 195))])
def test_other_colour_spaces_are_shown_in_rgb(tmp_path, mode, colour):
    Image.new(mode, (40, 40), colour).save(tmp_path / "a.tif")

    shown = opened(read(tmp_path / "a.tif").content[0]).convert("RGB")

    red, green, blue = shown.getpixel((20, 20))
    assert red > 200
    assert green < 60
    assert blue < 80


@pytest.mark.parametrize("kind", ["PPM", "TGA", "PCX", "SGI", "DDS", "ICNS", "JPEG2000", "BMP", "TIFF", "ICO", "AVIF"])
def test_every_format_that_can_be_decoded_is_shown(tmp_path, kind):
    made = Image.new("RGB", (64, 64), "red")
    try:
        made.save(tmp_path / "a", kind)
    except (KeyError, OSError):
        pytest.skip(f"this Pillow writes no {kind}")

    reply = Workspace(tmp_path).tool("native").call({"files": "a"})

    assert [block.type for block in reply.content] == ["text", "image"]
    assert opened(reply.content[1]).size in ((64, 64), (1024, 1024))  # an ICNS has several sizes


class TestFrames:
    @pytest.fixture
    def moving(self, tmp_path):
        frames = [Image.new("RGB", (30, 20), colour) for colour in ("red", "lime", "blue")]
        frames[0].save(tmp_path / "anim.gif", save_all=True, append_images=frames[1:])
        frames[0].save(tmp_path / "scan.tif", save_all=True, append_images=frames[1:])
        return Workspace(tmp_path).tool("native")

    @pytest.mark.parametrize("name", ["anim.gif", "scan.tif"])
    def test_a_frame_is_selected_by_its_number(self, moving, name):
        reply = moving.call({"files": f"{name}:f3"})

        assert near(opened(reply.content[1]).convert("RGB").getpixel((5, 5)), BLUE)
        assert "Frame 3 of 3 is shown." in reply.text
        assert moving.call({"files": reply.structured["parts"][0]["selector"]}).text == reply.text

    def test_the_number_of_frames_is_in_the_answer(self, moving):
        assert "It has 3 frames: anim.gif:f2 shows the second." in moving.call({"files": "anim.gif"}).text

    @pytest.mark.parametrize("selector", ["anim.gif:f4", "scan.tif:f99"])
    def test_a_frame_after_the_last_is_an_error(self, moving, selector):
        assert "no frame" in moving.call({"files": selector}).error.message

    @pytest.mark.parametrize("selector", ["anim.gif:f0", "anim.gif:f1-2", "anim.gif:x", "anim.gif:3"])
    def test_other_parts_of_an_image_do_not_exist(self, moving, selector):
        assert moving.call({"files": selector}).error.code == "no_such_part"


def test_an_image_is_detected_by_its_bytes_and_not_by_its_name(tmp_path):
    (tmp_path / "notes.txt").write_bytes((IMAGES / "photo.jpg").read_bytes())
    (tmp_path / "page.png").write_text("<html></html>\n")

    assert read(tmp_path / "notes.txt").content[0].type == "image"
    assert read(tmp_path / "page.png").text == "     1\t<html></html>"


def test_a_truncated_image_is_shown_as_far_as_it_goes_with_a_note(tmp_path):
    whole = (IMAGES / "photo.jpg").read_bytes()
    (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])

    reply = read(tmp_path / "cut.jpg")

    assert opened(reply.content[0]).size == (640, 480)
    assert reply.content[0].data != whole[: len(whole) // 2]
    assert "The file is damaged; what could be decoded is shown" in reply.text


def test_an_image_of_which_nothing_can_be_decoded_is_an_error(tmp_path):
    (tmp_path / "cut.png").write_bytes((IMAGES / "palette.png").read_bytes()[:205])

    reply = read(tmp_path / "cut.png")

    assert reply.error.code == "unreadable"
    assert reply.error.message.startswith("This image cannot be read: ")
    assert "0x" not in reply.error.message


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width, height, data):
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def test_a_bomb_is_refused_by_its_header_and_the_next_image_is_read(tmp_path):
    (tmp_path / "bomb.png").write_bytes(png(50_000, 50_000, bytes(50_000_000)))

    reply = read(tmp_path / "bomb.png")

    assert reply.error.message == ("This image cannot be read: it has 50000 x 50000 pixels; the limit is 200 million")
    assert not read(IMAGES / "plain.png").is_error


def test_a_bomb_inside_an_icon_is_refused_too(tmp_path):
    inner = png(40_000, 40_000, bytes(5_000_000))
    entry = struct.pack("<BBBBHHII", 0, 0, 0, 0, 1, 1, len(inner), 22)
    (tmp_path / "bomb.ico").write_bytes(struct.pack("<HHH", 0, 1, 1) + entry + inner)

    reply = read(tmp_path / "bomb.ico")

    assert "the limit is 100 million" in reply.error.message


def test_an_image_that_takes_too_much_memory_is_an_error(monkeypatch, tmp_path):
    small = Worker(JobLimits(memory_bytes=110 << 20))
    monkeypatch.setattr(worker, "_worker", small)
    Image.new("RGBA", (6000, 6000)).save(tmp_path / "wide.png", compress_level=1)

    reply = read(tmp_path / "wide.png")

    assert reply.error.message == "This image cannot be read: decoding it takes more memory than is allowed"
    assert not read(IMAGES / "plain.png").is_error
    small.stop()


@pytest.mark.parametrize(
    ("task", "seconds", "words"),
    [
        ("crash", 60, "the decoder crashed on it (signal 11)"),
        ("loop", 1, "no answer within 1 s"),
        ("eat", 60, "more memory"),
    ],
)
def test_a_decoder_that_fails_badly_is_one_error_reply_and_the_next_read_works(monkeypatch, task, seconds, words):
    directory = str(Path(__file__).parent.parent)
    bad = Worker(JobLimits(seconds=seconds), decoders={"image": f"bad_decoders:{task}"}, path=[directory])
    monkeypatch.setattr(worker, "_worker", bad)

    reply = read(IMAGES / "plain.png")

    assert reply.is_error
    assert words in reply.error.message
    bad.stop()
    monkeypatch.undo()
    assert not read(IMAGES / "plain.png").is_error


@pytest.mark.parametrize(
    ("facts", "blobs"),
    [
        ({"media_type": "image/png"}, []),
        ({"media_type": "image/png"}, [b"\xff\xd8\xff"]),
        ({}, [b"plain text"]),
        ({"media_type": "text/html"}, [b"<html>"]),
        ({"media_type": "image/png"}, [b"\x89PNG\r\n\x1a\n" + bytes(image.MAX_BYTES)]),
    ],
)
def test_a_response_without_an_image_is_not_returned(monkeypatch, facts, blobs):
    monkeypatch.setattr(worker, "run", lambda *_, **__: (facts, blobs))

    reply = read(IMAGES / "plain.png")

    assert "invalid response" in reply.error.message


def test_heic_without_its_extra_names_the_command_that_installs_it(monkeypatch, tmp_path):
    # A worker that finds an empty module under that name has no decoder for it.
    (tmp_path / "pillow_heif.py").write_text("raise ImportError('not installed')\n")
    bare = Worker(path=[str(tmp_path)])
    monkeypatch.setattr(worker, "_worker", bare)

    reply = read(IMAGES / "photo.heic")

    assert "pip install 'eyespan[heic]'" in reply.error.message
    bare.stop()


@pytest.mark.parametrize("dialect", ["forge", "workspace"])
def test_dialects_without_images_treat_them_like_any_binary_file(dialect):
    reply = Workspace(IMAGES).tool(dialect).call({"path": "photo.jpg"})

    if dialect == "forge":
        assert (reply.structured["binary"], reply.structured["media_type"]) == (True, "image/jpeg")
    else:
        assert reply.error.code == "BINARY_NOT_SUPPORTED"


def test_a_tiff_of_webp_strips_is_joined(tmp_path):
    strips = []
    for colour in (RED, BLUE):
        made = io.BytesIO()
        Image.new("RGB", (32, 16), colour).save(made, "WEBP", lossless=True)
        strips.append(made.getvalue())
    places = [8, 8 + len(strips[0])]
    at = 8 + sum(map(len, strips))
    tags = {256: 32, 257: 32, 258: 8, 259: 50001, 262: 2, 277: 3, 278: 16}
    entries = [struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items()]
    after = at + 2 + 12 * 9 + 4
    entries.insert(5, struct.pack("<HHII", 273, 4, 2, after))
    entries.append(struct.pack("<HHII", 279, 4, 2, after + 8))
    file = b"II*\0" + struct.pack("<I", at) + b"".join(strips) + struct.pack("<H", 9) + b"".join(entries) + bytes(4)
    file += struct.pack("<4I", *places, *map(len, strips))
    (tmp_path / "a.tif").write_bytes(file)

    shown = opened(parts(tmp_path / "a.tif").parts[0])

    assert [near(shown.getpixel((16, y)), colour) for y, colour in ((4, RED), (28, BLUE))] == [True, True]


@pytest.mark.parametrize("is_loop", [False, True])
def test_the_directories_of_a_tiff_are_counted_without_being_parsed(tmp_path, is_loop):
    """Pillow takes a third of a millisecond for each."""
    fields = [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
    fields += [(273, 4, 1, 8), (277, 3, 1, 1), (278, 4, 1, 8), (279, 4, 1, 64)]
    body = struct.pack("<H", len(fields)) + b"".join([struct.pack("<HHLL", *field) for field in fields])
    count = 30_000
    following = [8 + (len(body) + 4) * number for number in range(1, count)] + [8 if is_loop else 0]
    directories = b"".join([body + struct.pack("<L", at) for at in following])
    (tmp_path / "a.tiff").write_bytes(b"II*\0\x08\0\0\0" + directories)

    reply = Workspace(tmp_path).tool("native").call({"files": "a.tiff"})

    assert f"It has {count} frames" in reply.text


def eps(preview, program=b"%!PS-Adobe-3.0 EPSF-3.0\n"):
    """Return an EPS file with a TIFF for programs that do not execute PostScript."""
    places = 32 + len(program), len(preview)
    return struct.pack("<7IHH", 0xC6D3D0C5, 32, len(program), 0, 0, *places, 0xFFFF, 0) + program + preview


def test_an_eps_file_shows_its_preview(tmp_path):
    tiff = io.BytesIO()
    Image.new("RGB", (20, 10), RED).save(tiff, "TIFF")
    (tmp_path / "a.eps").write_bytes(eps(tiff.getvalue()))

    reply = Workspace(tmp_path).tool("native").call({"files": "a.eps"})

    (block,) = [block for block in reply.content if isinstance(block, ImageContent)]
    assert opened(block).getpixel((5, 5)) == RED
    assert "This is the preview in the file, of 20 x 10 pixels (EPS)." in reply.text


@pytest.mark.parametrize("preview", [b"no TIFF", b"II*\0\x08\0\0\0"])
def test_an_eps_file_with_a_damaged_preview_is_an_error(tmp_path, preview):
    (tmp_path / "a.eps").write_bytes(eps(preview))

    reply = Workspace(tmp_path).tool("native").call({"files": "a.eps"})

    assert (reply.error.code, reply.text) == ("unreadable", ">! a.eps: invalid TIFF header")
