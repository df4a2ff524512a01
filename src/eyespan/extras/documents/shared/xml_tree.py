"""XML parts of office files and e-books as ElementTree trees.

A document type is refused, so there are no entities to expand, internal or external. Elements that are nested more
deeply than `MAX_DEPTH` are refused at the end of each piece of input. A tree may still be deep within one piece:
recursion over it then raises RecursionError, and the worker reports that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from eyespan.decoders.files import unreadable

MAX_DEPTH = 256
_PIECE_BYTES = 256 * 1024
"""Input parsed at once. A refused document type stops the parser at the end of a piece."""
_PREFIXES = (
    ("wordprocessingml", "w:"),
    ("presentationml", "p:"),
    ("spreadsheetml", "x:"),
    ("markup-compatibility", "mc:"),
    ("officeDocument/2006/math", "m:"),
    ("officeDocument/math", "m:"),
    ("drawingml", "a:"),
    ("relationships", "r:"),
)
"""Parts of namespace names, and the prefixes used for them here."""


# --- names -----------------------------------------------------------------------------------------------------------


class _Names(dict[str, str]):
    """Short names of elements by qualified name."""

    def __missing__(self, tag: str) -> str:
        space, _, leaf = tag.rpartition("}")
        prefix = next((prefix for part, prefix in _PREFIXES if part in space), "")
        self[tag] = name = prefix + leaf
        return name


class _Keys(dict[str, str]):
    """Short names of attributes by qualified name."""

    def __missing__(self, name: str) -> str:
        space, _, leaf = name.rpartition("}")
        self[name] = key = f"r:{leaf}" if "relationships" in space else leaf
        return key


NAMES = _Names()
"""Short names of elements by tag: `w:p`, whatever prefix and edition of the standard a file uses."""
_KEYS = _Keys()


class Handlers(dict[str, "Any"]):
    """Functions by the tag of the elements they handle, made from a table by short name; None: no function."""

    def __init__(self, by_name: Mapping[str, Any]) -> None:
        super().__init__()
        self._by_name = by_name

    def __missing__(self, tag: str) -> Any:
        self[tag] = handler = self._by_name.get(NAMES[tag])
        return handler


class _LocalNames(dict[str, str]):
    """Names of elements and attributes without their namespaces by qualified name."""

    def __missing__(self, tag: str) -> str:
        self[tag] = name = tag.rpartition("}")[2]
        return name


LOCAL_NAMES = _LocalNames()


def local_name(element: Element) -> str:
    """Return the name of an element without its namespace."""
    return LOCAL_NAMES[element.tag]


def attributes(element: Element) -> dict[str, str]:
    """Return the attributes of an element by local name; the id of a relation is `r:id`."""
    return {_KEYS[name]: value for name, value in element.items()}


def text_of(element: Element) -> str:
    """Return the text of an element and of all elements in it."""
    return "".join(element.itertext()) if len(element) else element.text or ""


# --- parsing ---------------------------------------------------------------------------------------------------------


def parse(data: bytes, *, part: str) -> Element:
    """Parse a part and return its root element. Raises: Unreadable."""
    feeder = _Feeder(data, part)
    while not feeder.is_finished:
        feeder.feed()
    return feeder.tree[0]


def stream(data: bytes, containers: Set[str], *, part: str) -> GrowingElement:
    """Return the root element of a part, which is parsed while its children are iterated.

    A child whose short name is in `containers` is a `GrowingElement` too, unless it is complete when it is reached. Any
    other child is yielded once it is complete. Raises: Unreadable, also during the iteration.
    """
    feeder = _Feeder(data, part)
    while not len(feeder.tree):
        feeder.feed()
    return GrowingElement(feeder.tree[0], feeder, containers)


class GrowingElement:
    """An element whose children are parsed while they are iterated, and dropped afterwards."""

    def __init__(
        self, element: Element, feeder: _Feeder, containers: Set[str], parent: GrowingElement | None = None
    ) -> None:
        self.tag = element.tag
        self.attrib = element.attrib
        self._element = element
        self._feeder = feeder
        self._containers = containers
        self._parent = parent

    def __iter__(self) -> Iterator[Element | GrowingElement]:
        element = self._element
        opened: Element | None = None
        while True:
            is_complete = self._is_complete()
            children = element[:] if is_complete else element[:-1]  # the last child may be incomplete
            for child in children:
                if child is not opened:
                    yield child
            del element[: len(children)]
            if is_complete:
                return
            if len(element) and element[0] is not opened and NAMES[element[0].tag] in self._containers:
                opened = element[0]
                yield GrowingElement(opened, self._feeder, self._containers, self)
            else:
                self._feeder.feed()

    def _is_complete(self) -> bool:
        if self._feeder.is_finished or self._parent is None:
            return self._feeder.is_finished
        return self._parent._element[-1] is not self._element or self._parent._is_complete()


class _Feeder:
    """A parser that is given its input in pieces."""

    def __init__(self, data: bytes, part: str) -> None:
        self._data = data
        self._at = 0
        self._part = part
        self._builder = _RefusingBuilder()
        self._parser = XMLParser(target=self._builder)
        self.tree = self._builder.start("", {})
        """An element around the root element, which makes it accessible before it is complete."""
        self.is_finished = False

    def feed(self) -> None:
        """Parse the next piece, or finish. Raises: Unreadable."""
        piece = self._data[self._at : self._at + _PIECE_BYTES]
        self._at += len(piece)
        try:
            if piece:
                self._parser.feed(piece)
                self._check_depth()
            else:
                # Since Expat 2.6 the parser may hold back the end of its input.
                getattr(self._parser, "flush", _do_nothing)()
                self._builder.end("")
                self._parser.close()
                self.is_finished = True
        except ParseError as error:
            place = f" (line {error.position[0]})" if hasattr(error, "position") else ""
            raise unreadable(f"corrupt XML in its part {self._part}{place}") from None
        except (ValueError, LookupError) as error:  # an encoding that is unknown or not supported
            raise unreadable(f"the XML of its part {self._part} cannot be decoded: {error}") from None

    def _check_depth(self) -> None:
        element = self.tree
        for _ in range(MAX_DEPTH):
            if not len(element):
                return
            element = element[-1]
        raise unreadable(f"its XML is nested more than {MAX_DEPTH} levels deep")


def _do_nothing() -> None:
    pass  # an older parser holds nothing back


class _RefusingBuilder(TreeBuilder):
    """A tree builder that refuses document types."""

    def doctype(self, name: str, public_id: str | None, system_id: str | None) -> None:
        raise unreadable("its XML has a document type, which is refused")
