"""Charts as tables and diagrams as lists, from the parts that hold them."""

from __future__ import annotations

from xml.etree.ElementTree import fromstring

from eyespan.extras.documents.shared import drawings, ooxml
from tests.extras.documents.office_files import GIF, packed, relations

CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
MAIN = "http://schemas.openxmlformats.org/drawingml/2006/main"
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
NEWER = "http://schemas.microsoft.com/office/drawing/2014/chartex"


def chart(plots, title=""):
    shown = (
        f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>" if title else ""
    )
    xml = f'<c:chartSpace xmlns:c="{CHART}" xmlns:a="{MAIN}"><c:chart>{shown}<c:plotArea>{plots}</c:plotArea></c:chart>'
    return drawings.chart_blocks(fromstring(xml + "</c:chartSpace>"))


def points(element, *values):
    inner = "".join(f'<c:pt idx="{n}"><c:v>{value}</c:v></c:pt>' for n, value in enumerate(values))
    return f"<c:{element}><c:strRef><c:f>Sheet1!$A$1</c:f><c:strCache>{inner}</c:strCache></c:strRef></c:{element}>"


def series(name, keys, values, key="cat", value="val", more=""):
    return f"<c:ser>{points('tx', name)}{points(key, *keys)}{points(value, *values)}{more}</c:ser>"


def test_series_of_the_same_categories_are_rows_of_one_table():
    plots = (
        f"<c:bar3DChart>{series('North', 'ab', (1, '67.010000000000005'))}{series('South', 'ab', (3,))}</c:bar3DChart>"
    )
    axis = (
        "<c:catAx><c:title><c:tx><c:rich><a:p><a:r><a:t>Quarter</a:t></a:r></a:p></c:rich></c:tx></c:title></c:catAx>"
    )

    assert chart(plots + axis, "Sales") == [
        '[chart: bar, "Sales"; axes: Quarter]',
        "|  | a | b |\n| --- | --- | --- |\n| North | 1 | 67.01 |\n| South | 3 |  |",
    ]


def test_points_of_different_places_are_rows():
    first = series("A", (1, 2), (5, 6), "xVal", "yVal")
    second = series("B", (3,), (7,), "xVal", "yVal", points("bubbleSize", 9))

    assert chart(f"<c:bubbleChart>{first}{second}</c:bubbleChart>") == [
        "[chart: bubble]",
        "| series | x | y | size |\n| --- | --- | --- | --- |\n| A | 1 | 5 |  |\n| A | 2 | 6 |  |\n| B | 3 | 7 | 9 |",
    ]


def test_categories_of_several_levels_are_joined():
    levels = (
        '<c:cat><c:multiLvlStrRef><c:multiLvlStrCache><c:lvl><c:pt idx="0"><c:v>May</c:v></c:pt><c:pt idx="1"><c:v>June'
        '</c:v></c:pt></c:lvl><c:lvl><c:pt idx="0"><c:v>2024</c:v></c:pt></c:lvl></c:multiLvlStrCache>'
        "</c:multiLvlStrRef></c:cat>"
    )
    one = f"<c:ser>{levels}{points('val', 1, 2)}</c:ser>"

    assert chart(f"<c:lineChart>{one}</c:lineChart>")[1] == (
        "|  | 2024 / May | 2024 / June |\n| --- | --- | --- |\n| series 1 | 1 | 2 |"
    )


def test_a_chart_of_the_newer_format_is_read():
    xml = (
        f'<x:chartSpace xmlns:x="{NEWER}"><x:chartData><x:data id="0"><x:strDim><x:lvl><x:pt idx="0">a</x:pt></x:lvl>'
        '</x:strDim><x:numDim><x:lvl><x:pt idx="0">4</x:pt></x:lvl></x:numDim></x:data></x:chartData>'
        "<x:chart><x:plotArea>"
        '<x:series layoutId="waterfall"><x:tx><x:txData><x:v>Flow</x:v></x:txData></x:tx><x:dataId val="0"/></x:series>'
        "</x:plotArea></x:chart></x:chartSpace>"
    )

    assert drawings.chart_blocks(fromstring(xml)) == [
        "[chart: waterfall]",
        "|  | a |\n| --- | --- |\n| Flow | 4 |",
    ]


def test_long_charts_have_their_categories_as_rows_and_are_cut_and_the_rest_is_counted(monkeypatch):
    monkeypatch.setattr(drawings, "MAX_POINTS", 1)
    monkeypatch.setattr(drawings, "MAX_WIDE", 2)

    assert chart(f"<c:pieChart>{series('A', 'abc', (1, 2, 3))}</c:pieChart>") == [
        "[chart: pie]",
        "|  | A |\n| --- | --- |\n| a | 1 |",
        "[2 more rows of the chart are left out]",
    ]


def test_a_diagram_is_a_nested_list():
    def point(key, text="", kind="node"):
        return f'<d:pt modelId="{key}" type="{kind}"><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>'

    def connection(source, target, order):
        return f'<d:cxn srcId="{source}" destId="{target}" srcOrd="{order}"/>'

    nodes = [
        point("0", kind="doc"),
        point("1", "Root"),
        point("3", "Second"),
        point("2", "First"),
        point("9", "x", "pres"),
    ]
    links = [connection("0", "1", 0), connection("1", "3", 1), connection("1", "2", 0), connection("2", "1", 0)]
    xml = f'<d:dataModel xmlns:d="{DIAGRAM}" xmlns:a="{MAIN}">{"".join(nodes + links)}</d:dataModel>'

    assert drawings.diagram_blocks(fromstring(xml)) == ["[diagram]", "- Root\n  - First\n  - Second"]


def test_a_missing_or_corrupt_part_is_named():
    package = ooxml.Package(packed(**{"a.xml": "<broken"}))
    found = drawings.Drawings(package, {})

    assert found.part_blocks("chart", "gone.xml") == ["[chart: its part is missing]"]
    assert found.part_blocks("diagramData", "a.xml") == ["[diagram: corrupt XML in its part a.xml (line 1)]"]


def test_charts_and_images_on_a_sheet_are_found_through_its_drawing():
    from eyespan.extras.documents.shared.embedded_images import Images

    drawing = (
        f'<w xmlns:a="{MAIN}" xmlns:c="{CHART}" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<c:chart r:id="k"/><a:sp><a:p><a:r><a:t>A box</a:t></a:r></a:p></a:sp>'
        '<a:pic><a:cNvPr descr="a map"/><a:blip r:embed="i"/></a:pic></w>'
    )
    package = ooxml.Package(
        packed(
            **{
                "d.xml": drawing,
                "_rels/d.xml.rels": relations(k=("chart", "c.xml"), i=("image", "m.gif")),
                "c.xml": f'<c:chartSpace xmlns:c="{CHART}"/>',
                "m.gif": GIF,
            }
        )
    )

    assert drawings.sheet_blocks(package, Images(package, {"name": "b.xlsx"}), {"x": ("drawing", "d.xml")}) == [
        "[chart: unknown kind]",
        "[text box] A box",
        "![a map](b.xlsx!/m.gif) (5x7)",
    ]
