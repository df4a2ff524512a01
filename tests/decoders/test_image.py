"""Colours of images: by their own profile, by no profile, and where Pillow cannot read profiles."""

from types import SimpleNamespace

import pytest
from PIL import Image, ImageCms, features

from eyespan.decoders import image as decoder

needs_profiles = pytest.mark.skipif(not features.check("littlecms2"), reason="this Pillow has no colour management")


def lab_image(profile: bytes) -> Image.Image:
    image = Image.new("LAB", (2, 2), (200, 160, 90))
    image.info["icc_profile"] = profile
    return image


@needs_profiles
def test_a_profile_decides_the_colours(monkeypatch):
    def convert(image, profile, _srgb, **options):
        return Image.new(options["outputMode"], image.size, tuple(profile.read()))

    monkeypatch.setattr(ImageCms, "profileToProfile", convert)

    assert decoder._as_rgb(lab_image(bytes((1, 2, 3)))).getpixel((0, 0)) == (1, 2, 3)


@needs_profiles
@pytest.mark.parametrize("profile", [b"", b"no profile"])
def test_an_image_without_a_valid_profile_is_converted(profile):
    assert decoder._as_rgb(lab_image(profile)).mode == "RGB"


def test_a_pillow_without_colour_management_converts_images(monkeypatch):
    monkeypatch.setattr(decoder, "_SRGB", None)
    image = Image.new("CMYK", (2, 2), (0, 255, 255, 0))
    image.info["icc_profile"] = b"a profile"

    assert decoder._as_rgb(image).getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("size", "steps"), [((100, 100), 0), ((199, 900), 0), ((200, 900), 1), ((1000, 999), 3), ((9999, 9999), 5)]
)
def test_no_more_resolutions_of_jpeg_2000_are_left_out_than_the_target_needs(size, steps):
    image = SimpleNamespace(size=size)

    decoder._reduce_on_load(image, (100, 100))

    assert image.reduce == steps


@pytest.mark.parametrize(
    ("kind", "width", "media_type"),
    [("BMP", 1000, "image/png"), ("BMP", 1001, "image/jpeg"), ("AVIF", 1000, "image/jpeg")],
)
def test_small_drawings_are_png_and_photos_and_large_ones_jpeg(kind, width, media_type):
    assert decoder._encode(Image.new("RGB", (width, 1000)), kind, 1_000_000)[1] == media_type
