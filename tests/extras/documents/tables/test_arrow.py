"""Arrow files and streams: schema, rows, compression and damage. pyarrow wrote the files below."""

from __future__ import annotations

import base64
import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.errors import Unreadable
from eyespan.extras.documents.tables import arrow, unpacking


def _file(text):
    return zlib.decompress(base64.b85decode(text))


SHIPS = _file(
    "c-q}my-veG4E80LA5ercAe4b2V^_9}goy#EQiViEBGI9u5R{U)VB`T98T&8{j64P#*mu5?v&v6b99h1zefH-"
    "s$<>p|_~HoQ0|gX74kWvfK@1V3xI$4HG@2FWkPT6vP%lyUfzA||8AF1na`f05Dxz40TB2&OLiVoh?rELkL!OlVkAwjaQvNHhU(8-"
    "bRPRvKxNUA`c5SgyUx$Hqj3JO`1JwBy_0CWe)7$kVAs(K2E|LsamWj+%hCrK`%eM^K860;7W@?U{u|I$>3E_Lm*ye0^1~Db-"
    "z<>{zH(oB<^S-<82lKpp^Bnl|gc|VzoUW_+_#ZalPqx6X*cKu_V!Ow-"
    "5_Kw(?|75*2cnORJI);E(I6JHlGJ_IcFjrK&6>r0>DSzb$MP2*)gO7(>+j2#RM=eX3z1)ldX7i6fv2DLp}^oX#rFr}vHwhJZi9@w"
    "(_L}QIOu)6DZi2X{zjqiF9oKY{VVX}|NU;7;@q{lt3Ls0U|u5"
)
STREAM = _file(
    "c-oaxJ5Iwu5S_KxACQGyAmk!NN{-"
    "+bDhebT4uB<6L<Af;_!g8LfRd8KP;eAF^Ts<Hyrb~Rvqo=rXLdeM9)@8cLsSyukP1pEp&TAyELqSSa+qV-"
    "3+x7VO#G%oW=a`emAG*=Ov14mHiubqU|zS~Bl|f%zRBhOnP<R5&i{b_KAug&^=7KZLvz1yzMGBv`Wg5nGer7r1Y6#6?*f*My?svx"
    "S`M$W7o&jZlqkl^6xlK6^PNI&2d`a)Oe>K~xsT`@G5w4}xD-B^#Ehy#6Fq$1)n?UR_uXAT+2=FZ=Oo-GwwRabVp}bo|7pkk*&g#7"
    ";Y!6%g^z@5Ri{?@UN^mer26Q%*UW34Ok$}R<E-"
    "!6t~qbJMYCFN!kYW&IR8UO^G_Y^_WufzD=yW!Qu&pt=XEqYbo%Was~JM2oIcE7zpX%2"
)
LZ4 = _file(
    "c-"
    "q}nu};H44D}_K_KG5up+h7pQGt+H*%(_U7F4N1qGKviiHbr{O81B_=)l0pCop#8BN!O_CtxSOkUL7+uDG&%_SruB`Eu>{`@O3ZfG"
    ";Ev009u~fDbkBK;a5WNRTMr(1)ap{E8eQH-Tb8^sGT0qXM+#IfO@hr^sz&2|1B`h?7TJEBui~vHh89z(Df<#Pvs}3y<=(tQ_~lyH"
    "UQ*Yol{@4Ww}mjvebDkFV)$AGw~Lt<NMP92VRck&nIQNcdT1a3op)&f$m3eFRxd3#BY#23$jv&xfLqymlA<rbCv;EZe0$Vdcx~<="
    "h7sVbpm-HPw(c%6<*g57o3coy3>3<aVZUP@)0{S7tpejI+(YU)J<p-"
    "=go3WyjjTVR^)IZsnO<{=j(KxH%<EVKZDc{Koi%>4$3SRm`QvT+puRhiclLC2=x5i<8lCGM-"
    "k?S=cykI>&UwIf^akxVPfomi2vWu3C>Q|H#Ux=V&*)PM0QbsHVpJl)0}M8C9`wOlC#?U-"
    "N+CooM1LRQ786933$hk}p@t7ct;Q^!K)OO?ztftnKe?)9=-Pf5QjZcQ^Y_`vzg@drS"
)
ZSTD = _file(
    "c-q}ny-or_5T51sj>BBY#Xxcxe=xDIGj^1oofQc&k&;WKAfktdBs_?PC68cZZ^;8#_%cRk_U8Upz|+zpli8iw`TJ&X@q4}Q)hWOy"
    "5(oenh_=813rw(ag(M_M6wi2uq=CFZ9w0Y>d^|j9K^47R)Wk7_NwyAh8(Bh3Bqw3?Kx-"
    "R+q_J85NHw4%oqxymo7xML;_YfN?t<H4ypC(5yh#nT;~FZuZv}aDO}QQ9s>+?@BqAJMxi2CIdyA29RAi_~)Bv18M)^Km<+G1crap"
    "wz5wgemGqO|-7S~|FdfH=|)VY(hiEnWst`+I{<>aI71Q~F(cv;KaYZn0B={UTcMK`ky2Ul#s!H^2qr$WwR-"
    ";0ucSAWs>Hp`A?@3TB$IoIOMwe!IDSjVlB!xYNknt*Q<{ghoG%I1c7Sj<TEyuE%8;LoBk3eLl57>q~L)&3%@tL(fcCFdpnIIkv4P"
    "tzy+mNvhZHb2nzO>JI6JNMIG=5dpU>74Am-u8>iRrYieYvShS0O>o>P{`4%=&;v--ww&w#^Vd-"
    "apB4Lv^0wPiPodb`X%d<_vpXB(S7XOSN~aG{C<6d"
)
MANY = _file(
    "c-"
    "rk)KTH#06n|fPlmn}rglGqb8;HR~lbSF%m<a07#fU~DiGvh4X+ym>y_1GjM~z`{U~q77U}SJ$aOmLR;6PktHqNGlgM)Cs_x+)FuU"
    "AFm;J_pAzI*q6@9+1gUzoXd>&D#+01?ur1>gYDFytWz17PDDlCV$)lx%!j`l+xbO9?w!fM>|F$S(4B24D)gArON+j@&`$JLDJ0Me"
    "W1>5k(k4kgtON272`CzDMu*y(lUwoHK^<xYmo9O`}|G67~$@Ff7a~d?w9rHS`|R`^!DTfS`KT6@DZQzgS<Ac|6v>-"
    "zw~A8aAxgSLnTszP~8k5aGsRIPy^r0Y+7PSs&sG={*Q#Y-"
    "c};rWDTN{;=K9EVp0^F>?xYlJ|+^0ptg@@^V1^LF}tY#y?ImU5%yO<}`i~+4I9@)eB%9@o)ChdrE#+%e6<8XlK9MQwP1+(obGWj)"
    "te@zv8XIH?%ECd(o5ArI^iP(`%941m<5-_*9>*N*zjwsqJ_3j$^1VKJshT2QiJ04Ta73>t7Jo8`MAQ-"
    "Mg4yx6c~0v346fVC#@H{!n%~Cl-S!M|Qz|pQ^LuAHbx{O$_oFluM&oUG#JeOYhDh-LH9NH=LGR;Ca5uEvN0s%F=zibNec&wIS@Zx"
    "n6iwt>N;8kE(C*L1D8z7S&Vp{N=EsBpW%WW2v=~V{1e8a=d3x`GK;xq&;EiyxOwVyvRKSr}T-"
    "HmmVQ&Nk4^*2EYlF9esM`QBuWDXn$GglF)4EJkzP(b!!AL=Vn)5U}KT#FCOHrs02wWG5dLDUtxYXnEn-"
    "$H<`S}@@}*E?bumG^q$%8FnO2d+hP7XES@nm{%w);=ZGZU6-"
    "j^nWHT?5%wLh=i%fr!$<r+UEX#L};patiKGwB7q2+CcZ;Ryo?=bzYVEttJ?;^SWOkxM?lgUno;gL?q*1d?Gn}?C%5AlMnC-_J4*t"
    "Gsu{@Z#FE9Y39SvGe2KM3c9I#0Xw{c<wfOxx)1y;NuI+3WhlbLZ=)<GG&E#QAI`Jw1t%#M*L@hhVa)#jwaE>lx_NXFdnUe&$N=yb"
    "5;a(zx=Abr8?T0F3?^-"
    "L2f9Qg4PXT_0)x;pq0ujdWq99J<xOt=0WyuSufshApqQ>bVPRp%=vKe0oBS*KUeL{R4gcoA2cXytgcM^BghtWwLUn%$zv#Oc;~Dc"
    "6pTY`d4sDpC#r#vaRRWjD^_7I=ZJH-P4cm=|}hU|KXm#gNhmXKZc+2FV*Y"
)
LONG = _file(
    "c-rln*H#ok5Qe{923T>_Q5Qr-#kiQoh*``T#eg}2f`TZlf{J2}sEAoH=bUrSc;}^$;3Ig4J+r-Mg@X^kIaTNMS5@6L-PJv}e{yPS"
    "N?IaRD*FXk*cOFJ1mSp8q|9Zg9F=(#4NY*XQKaK?^}Q-Iy(*5=b1pT!I?m3@_uE^Qs=A6mt=m2;UazBlmOmp0=PXl=NarkjE6eH4"
    "tMUjnYdTq=S68_8&zZq}{27J*Kx{a<eZN1tAKOe~^bJjCH^K~JmHU~X3)IbH)rz6tphUlon~+8Fe>1hWw2$@$e1flPT`&*UCskVy"
    "=4GzXTv)X}s3HGRLr<13)JH*XUV6MhAP@)y0)apv5C{YUfj}S-2m}IwKp+qZ1OkCTAP@)ywH*1Gxp{uAldGtrpL5|R41;h-dFY`I"
    "QPjnx9`$K}MME0V7%$Pp(1ci;(v0TB(Snw=BA(W?p)KubPX~M?(2-7brVCx^Mt6FUNKbmvn?CfVA4&9Q00SAsV1_W1VI(u05sYLM"
    "qZz|k#xb4=Ok@(1Nnr|8No5+-nZZobn8j@7Fqe7EX8{XY#A24Plyov!#&R;rVg)P7CWlqzvYIvIk&mCXtfPQJ*0X_)6tRiT6tjh`"
    "Y-2k+*vT$-vxmLxV?QMv;2?)6<uGL&;V8#A&IwL(iqo8-oU@$cJQujgB`$M?t6bwcH@L|yZgYpb+~YnEc*r9j^Mt27<2f&Q$tzy-"
    "hPS-qJs<eUCqDCquYBV>K^bJFqah9GD^2zK5ss46(mF~*y(j9;Lps#oq2K9PNatC*b**+Y$&QBiFSYR(!T"
)


def shown(data, first=1, count=10):
    return arrow.decode(io.BytesIO(data), {"first": first, "count": count})[1][0].decode()


ROWS = [
    "| id | name | port |",
    "| --- | --- | --- |",
    "| 1 | Aurora | Oslo |",
    "| 2 | NULL | Turku |",
    "| 3 | Borealis | Oslo |",
]


@pytest.mark.parametrize(
    ("data", "title"),
    [
        (SHIPS, "Arrow file, 3 columns, 3 rows, 2 batches"),
        (STREAM, "Arrow stream, 3 columns, 3 rows, 2 batches"),
        (LZ4, "Arrow file, 3 columns, 3 rows, 2 batches, compression lz4"),
    ],
)
def test_columns_and_rows_of_all_batches(data, title):
    columns = "columns: id int32, name string, port dictionary of string"

    assert shown(data).split("\n") == [title, columns, "", "rows 1-3 of 3", *ROWS]


def test_rows_with_zstandard_need_its_library():
    pytest.importorskip("zstandard")

    assert shown(ZSTD).split("\n")[4:] == ROWS


def test_without_the_library_the_answer_names_what_installs_it(monkeypatch):
    monkeypatch.setattr(unpacking, "ZstdDecompressor", None)
    monkeypatch.setattr(unpacking, "zstandard", None)

    assert shown(ZSTD).split("\n")[2:] == [
        "rows are not shown: the compression zstandard needs a library (pip install 'eyespan[archives]')"
    ]


def test_a_window_of_rows_begins_within_a_batch():
    assert shown(SHIPS, first=2, count=1).split("\n")[3:] == [
        "row 2 of 3; the next with :rows 3-3",
        *ROWS[:2],
        ROWS[3],
    ]


def test_values_of_every_type():
    lines = shown(MANY).split("\n")

    assert lines[1] == (
        "columns: tons uint16, length float64, built date, seen timestamp(us, UTC), price decimal(9, 2), is_new bool, "
        "stops list of int8, crew struct<n int64, who string>, flags map, raw binary, note string view, at time(s), "
        "took duration(ms), code 2 bytes, pair 2 int8, none null"
    )
    assert lines[6:] == [
        "| NULL | 1.5 | 1900-02-28 | 2024-01-01T01:02:03.456Z | 12.50 | True | [1, 2] | {'n': 1, 'who': 'A'} "
        "| {'k': 1} | x'0001' (2 bytes) | a short one | 01:02:03 | 5 ms | x'6162' (2 bytes) | [1, 2] | NULL |",
        "| 7 | NULL | NULL | 2024-01-01T01:02:03.456Z | -1.25 | NULL | NULL | {'n': None, 'who': 'B'} | {} "
        "| x'' (0 bytes) | one that is longer than twelve bytes | NULL | NULL | NULL | [3, 4] | NULL |",
        "| 300 | -2.25 | 2024-01-31 | 2024-01-01T01:02:03.456Z | NULL | False | [] | NULL | NULL "
        "| NULL | NULL | 23:59:00 | 0 ms | x'6364' (2 bytes) | NULL | NULL |",
    ]


def test_values_of_selected_rows_are_whole():
    sample = arrow.decode(io.BytesIO(LONG), {"first": 1, "count": 2})[1][0].decode()
    facts, (selected,) = arrow.decode(io.BytesIO(LONG), {"first": 1, "count": 2, "windowed": True})

    assert f"| {'word ' * 40}... (10000 chars) | [0, 1, 2, 3," in sample
    assert f"| {'word ' * 2000} | {list(range(200))} |\n| short | [1] |" in selected.decode()
    assert "cut_cells" not in facts


def test_a_window_through_the_workspace(tmp_path):
    (tmp_path / "ships.feather").write_bytes(LZ4)
    (tmp_path / "ships").write_bytes(STREAM)
    tool = Workspace(tmp_path).tool("native")

    answers = [tool.call({"files": name}).text for name in ("ships.feather:rows 3-3", "ships")]

    assert ["| 3 | Borealis | Oslo |" in answer and "Aurora" not in answer for answer in answers] == [True, False]
    assert "Arrow stream" in answers[1]


def test_a_file_without_markers_is_called_old():
    with pytest.raises(Unreadable, match=r"it is from before Arrow 0\.15, whose messages are not read"):
        shown(SHIPS[:8] + SHIPS[12:])


def schema_fields(data):
    """Return the tables of the columns of a stream, and where their message begins."""
    size = int.from_bytes(data[4:8], "little")
    header = arrow._FlatTable.root(data[8 : 8 + size]).table(2)
    return header.tables(1), 8


@pytest.mark.parametrize(
    ("kind", "name"), [(11, "interval"), (14, "union"), (22, "run-end encoded"), (25, "list view")]
)
def test_rare_types_are_described_and_rows_left_out(kind, name):
    fields, start = schema_fields(STREAM)
    changed = bytearray(STREAM)
    changed[start + fields[0]._place(2)] = kind

    lines = shown(bytes(changed)).split("\n")

    assert lines == [
        "Arrow stream, 3 columns, 3 rows, 2 batches",
        f"columns: id {name}, name string, port dictionary of string",
        f"rows are not shown: a column of type {name} is not decoded",
    ]


def test_an_unknown_type_is_refused():
    fields, start = schema_fields(STREAM)
    changed = bytearray(STREAM)
    changed[start + fields[0]._place(2)] = 99

    with pytest.raises(Unreadable, match="corrupt"):
        shown(bytes(changed))


def test_a_file_that_is_cut_off_shows_its_sound_batches():
    lines = shown(SHIPS[: len(STREAM) - 200], first=2).split("\n")

    assert lines[2:5] == ["the file is cut off; the rows after these are missing", "", "row 2 of 2"]


def test_a_list_that_is_too_long_leaves_the_rows_out(monkeypatch):
    monkeypatch.setattr(arrow, "MAX_ITEMS", 199)

    assert shown(LONG).split("\n")[2:] == ["rows are not shown: a list of 200 items is too long"]


def test_a_text_that_is_too_long_leaves_the_rows_out(monkeypatch):
    monkeypatch.setattr(arrow, "MAX_BUFFER_BYTES", 1 << 13)

    assert shown(LONG).split("\n")[2:] == ["rows are not shown: a value has more than 0 MiB"]


@pytest.mark.parametrize("size", [3, 9])
def test_a_value_after_the_end_of_its_buffer_is_refused(size):
    """A buffer of three bytes, in a file that ends there or goes on."""
    buffer = arrow._Buffer(io.BytesIO(b"abcdefghi"[:size]), 0, 3, None)

    assert buffer.take(1, 2) == b"bc"
    with pytest.raises(ValueError, match="after the end of its buffer"):
        buffer.take(1, 5)


@pytest.mark.parametrize("data", [b"", b"ARROW1\0\0", b"ARROW1\0\0" + b"\xff" * 100, SHIPS[:100]])
def test_other_bytes_are_no_arrow_file(data):
    with pytest.raises(Unreadable, match="not an Arrow file, or a corrupt one"):
        shown(data)


@given(
    st.sampled_from((SHIPS, STREAM, LZ4, MANY)),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=6),
)
def test_damaged_files_are_read_or_refused(data, changes):
    damaged = bytearray(data)
    for at, value in changes:
        damaged[at % len(damaged)] = value
    try:
        text = shown(bytes(damaged))
    except Unreadable as error:
        text = f"Arrow: {error.reason}"

    assert text.startswith("Arrow")
