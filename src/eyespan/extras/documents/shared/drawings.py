"""Charts of office files as small tables, and diagrams (SmartArt) as lists.

Both are drawn by the program that shows a document. Their parts hold the texts and numbers: those of a chart as the
values that the cells had when it was saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from xml.etree.ElementTree import Element

from eyespan.errors import Unreadable
from eyespan.extras.documents.shared import markdown_pieces, number_formats
from eyespan.extras.documents.shared.embedded_images import Images
from eyespan.extras.documents.shared.ooxml import Package
from eyespan.extras.documents.shared.xml_tree import LOCAL_NAMES, NAMES, attributes, local_name, text_of

MAX_POINTS = 20_000
"""The points of one chart that are shown. The rest is counted."""
MAX_WIDE = 12
"""A chart with more categories than these has them as rows, not as columns."""
PART_KINDS = ("chart", "chartEx")
"""The last words of the types of relations that lead to charts."""


# --- charts ----------------------------------------------------------------------------------------------------------


def chart_blocks(root: Element) -> list[str]:
    """Return a chart as blocks: its kind, title and axes on one line, then its numbers as a table."""
    series = _ChartPart(root)
    axes = [title for axis in root.iter() if LOCAL_NAMES[axis.tag].endswith(("Ax", "axis")) and (title := _title(axis))]
    return table_blocks(series.kinds, _title(root), axes, series)


def table_blocks(kinds: list[str], title: str, axes: list[str], series: Series) -> list[str]:
    """Return a chart as blocks, of any format."""
    header = f"[chart: {' and '.join(kinds) or 'unknown kind'}"
    if title:
        header += f', "{title}"'
    if axes:
        header += f"; axes: {', '.join(axes)}"
    rows = series.rows()
    left_out = len(rows) - 1 - MAX_POINTS
    blocks = [header + "]"]
    if len(rows) > 1:
        blocks.append(markdown_pieces.table(rows[: MAX_POINTS + 1]))
    if left_out > 0:
        blocks.append(f"[{left_out} more rows of the chart are left out]")
    return blocks


class Series:
    """The series of a chart: name, categories or x, and values of each."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._keys: list[dict[int, str]] = []
        self._values: list[dict[int, str]] = []
        self._sizes: list[dict[int, str]] = []

    def append(self, name: str, keys: dict[int, str], values: dict[int, str], sizes: dict[int, str]) -> None:
        """Add a series; points are by number from 0."""
        self._names.append(" ".join(name.split()) or f"series {len(self._names) + 1}")
        self._keys.append(keys)
        self._values.append(values)
        self._sizes.append(sizes)

    def rows(self) -> list[list[str]]:
        """Return a table: of series and categories if the series share these, else one row for each point."""
        if not self._names:
            return []
        keys = self._keys[0]
        # A series without categories of its own uses those of the first.
        if all(own in (keys, {}) for own in self._keys) and not any(self._sizes):
            places = sorted({place for points in (keys, *self._values) for place in points})
            labels = [keys.get(place, str(place + 1)) for place in places]
            columns = [[points.get(place, "") for place in places] for points in self._values]
            if len(places) <= MAX_WIDE:
                return [["", *labels], *([name, *points] for name, points in zip(self._names, columns, strict=True))]
            return [["", *self._names], *([label, *points] for label, *points in zip(labels, *columns, strict=True))]
        has_sizes = any(self._sizes)
        rows = [["series", "x", "y", *(["size"] if has_sizes else [])]]
        for name, own, values, sizes in zip(self._names, self._keys, self._values, self._sizes, strict=True):
            for place in sorted({*own, *values}):
                size = [sizes.get(place, "")] if has_sizes else []
                rows.append([name, own.get(place, ""), values.get(place, ""), *size])
        return rows


class _ChartPart(Series):
    """The series of a chart in XML."""

    def __init__(self, root: Element) -> None:
        super().__init__()
        self.kinds: list[str] = []
        elements = [(LOCAL_NAMES[element.tag], element) for element in root.iter()]
        data = [element for name, element in elements if name == "data"]
        for name, element in elements:
            if name == "series":
                self._add_newer(data, element)
            elif name.endswith("Chart") and name != "Chart":
                kind = name.removesuffix("Chart").removesuffix("3D")
                series = [child for child in element if local_name(child) == "ser"]
                if kind not in self.kinds:
                    self.kinds.append(kind)
                for one in series:
                    self._add(one)

    def _add(self, series: Element) -> None:
        parts = {local_name(child): child for child in series}
        name = " ".join(_points(parts.get("tx")).values()) or _text_in(parts.get("tx"))
        keys = parts.get("cat") if "cat" in parts else parts.get("xVal")
        values = parts.get("val") if "val" in parts else parts.get("yVal")
        self.append(name, _points(keys), _points(values), _points(parts.get("bubbleSize")))

    def _add_newer(self, data: list[Element], series: Element) -> None:
        """Add a series of a chart in the format of 2014 (waterfall, treemap, box ...), whose data stand elsewhere."""
        kind = series.get("layoutId", "")
        if kind and kind not in self.kinds:
            self.kinds.append(kind)
        name = _text_in(next((child for child in series if local_name(child) == "tx"), None))
        wanted = {child.get("val") for child in series.iter() if local_name(child) == "dataId"}
        keys: dict[int, str] = {}
        values: dict[int, str] = {}
        newer = next((element for element in data if element.get("id") in wanted), None)
        for dimension in () if newer is None else newer:
            points = _levels([child for child in dimension if local_name(child) == "lvl"])
            if local_name(dimension) == "strDim":
                keys = keys or points
            else:
                values = values or points
        self.append(name, keys, values, {})


def _title(element: Element) -> str:
    """Return the title of a chart or of an axis; it may be a reference to a cell."""
    owner = element
    for child in element:
        if local_name(child) == "chart":
            owner = child
    for child in owner:
        if local_name(child) == "title":
            text = " ".join(_paragraphs(child)) or " ".join(_points(child).values())
            return " ".join(text.split()) or _text_in(child)
    return ""


def _paragraphs(element: Element) -> Iterator[str]:
    for paragraph in element.iter():
        if NAMES[paragraph.tag] == "a:p":
            text = "".join([text_of(run) for run in paragraph.iter() if NAMES[run.tag] == "a:t"]).strip()
            if text:
                yield text


def _text_in(element: Element | None) -> str:
    """Return the first value that stands in an element."""
    if element is None:
        return ""
    texts = [text_of(child) for child in element.iter() if local_name(child) == "v"]
    return " ".join(" ".join(texts).split())


def _points(element: Element | None) -> dict[int, str]:
    """Return the saved values of a reference by index."""
    if element is None:
        return {}
    levels = [child for child in element.iter() if LOCAL_NAMES[child.tag] == "lvl"]
    return _levels(levels) if levels else _level_points(element)


def _level_points(level: Element) -> dict[int, str]:
    points = {}
    names = LOCAL_NAMES
    for point in [element for element in level.iter() if names[element.tag] == "pt"]:
        index = point.get("idx", "0")
        text = point.text or ""
        for child in point:
            if names[child.tag] == "v":
                text = text_of(child)
                break
        if index.isdecimal() and len(index) < 10:
            points[int(index)] = _shortest(" ".join(text.split()))
    return points


def _shortest(text: str) -> str:
    """Return a number with as few digits as are needed to read the same number: 67.010000000000005 is 67.01."""
    if len(text) < 16 or not text[-1:].isdecimal() or not (text[0].isdecimal() or text[0] == "-"):
        return text
    try:
        return number_formats.plain(float(text))
    except ValueError:
        return text


def _levels(levels: list[Element]) -> dict[int, str]:
    """Return categories of several levels, the outermost first: "2024 / May". The innermost stands first in a file."""
    if not levels:
        return {}
    inner = _level_points(levels[0])
    labels = dict(inner)
    for level in levels[1:]:
        outer = _level_points(level)
        label = ""
        for place in sorted(labels):
            label = outer.get(place, label)
            if label:
                labels[place] = f"{label} / {labels[place]}"
    return labels


# --- diagrams --------------------------------------------------------------------------------------------------------


def diagram_blocks(root: Element) -> list[str]:
    """Return the texts of a diagram as a list, nested as its points are connected."""
    texts: dict[str, str] = {}
    children: dict[str, list[tuple[int, str]]] = {}
    for element in root.iter():
        name, facts = local_name(element), element.attrib
        if name == "pt" and facts.get("type", "node") in ("node", "asst", "doc"):
            texts[facts.get("modelId", "")] = " ".join(" ".join(_paragraphs(element)).split())
        elif name == "cxn" and facts.get("type", "parOf") == "parOf":
            order = facts.get("srcOrd", "0")
            place = int(order) if order.isdecimal() else 0
            children.setdefault(facts.get("srcId", ""), []).append((place, facts.get("destId", "")))
    below = {target for targets in children.values() for _, target in targets}
    lines: list[str] = []
    seen: set[str] = set()

    def add(point: str, level: int) -> None:
        if point in seen or level > 20:
            return
        seen.add(point)
        if texts.get(point):
            lines.append("  " * level + "- " + texts[point])
        deeper = level + 1 if texts.get(point) else level
        for _, child in sorted(children.get(point, ())):
            add(child, deeper)

    for point in [point for point in texts if point not in below] + list(texts):
        add(point, 0)
    return ["[diagram]", "\n".join(lines)] if lines else []


# --- the parts of a document -----------------------------------------------------------------------------------------


class Drawings:
    """The charts and diagrams that a part refers to, by the id of the relation. Each is read on demand, once."""

    def __init__(self, package: Package, relations: Mapping[str, tuple[str, str]]) -> None:
        self._package = package
        self._relations = relations

    def blocks_of(self, element: Element) -> list[str]:
        """Return the blocks for a reference to a chart or a diagram: an element with the id of a relation."""
        facts = attributes(element)
        for key in ("r:id", "r:dm"):
            kind, target = self._relations.get(facts.get(key, ""), ("", ""))
            if kind in PART_KINDS or kind == "diagramData":
                return self.part_blocks(kind, target)
        return []

    def part_blocks(self, kind: str, target: str) -> list[str]:
        """Return the blocks of one part."""
        noun = "diagram" if kind == "diagramData" else "chart"
        if target not in self._package:
            return [f"[{noun}: its part is missing]"]
        try:
            root = self._package.parse(target)
        except Unreadable as error:
            return [f"[{noun}: {error.reason}]"]
        return diagram_blocks(root) if kind == "diagramData" else chart_blocks(root)


def sheet_blocks(package: Package, images: Images, relations: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the charts, images and text boxes on a sheet with these relations, as blocks. Raises: Unreadable."""
    blocks: list[str] = []
    for kind, target in relations.values():
        if kind != "drawing" or target not in package:
            continue
        inner = package.relations(target)
        drawn = Drawings(package, inner)
        for element in _drawn(package.parse(target)):
            name = local_name(element)
            if name == "sp":
                lines = list(_paragraphs(element))
                blocks += [f"[text box] {' '.join(lines)}"] if lines else []
            elif name == "pic":
                blocks += images.lines(element, inner)
            else:
                blocks += drawn.blocks_of(element)
    return blocks


def _drawn(root: Element) -> Iterator[Element]:
    """Yield the shapes, images and references to charts of a drawing in their order."""
    for element in root:
        name = local_name(element)
        if name in ("sp", "pic", "chart", "relIds"):
            yield element
        elif name != "Fallback":
            yield from _drawn(element)
