"""The import report prints as a table, as text and in notebooks."""

from __future__ import annotations

from collections import Counter

from circuits.interop.qiskit.report import ImportReport


def report() -> ImportReport:
    return ImportReport(
        "<bell>",
        Counter(h=1, cx=12),
        Counter({"a & b": 2}),
        Counter({("barrier", "orders compilation only"): 3}),
    )


def test_rows_list_every_kind_with_its_count() -> None:
    assert report().rows() == [
        ("h", "mapped", 1, ""),
        ("cx", "mapped", 12, ""),
        ("a & b", "decomposed", 2, ""),
        ("barrier", "ignored", 3, "orders compilation only"),
    ]


def test_text_is_an_aligned_table() -> None:
    lines = str(report()).splitlines()
    assert lines[0] == "import of '<bell>'"
    assert lines[1].split() == ["instruction", "became", "count", "note"]
    assert lines[2].index("mapped") == lines[3].index("mapped") == lines[1].index("became")
    assert lines[5].endswith("3      orders compilation only")


def test_html_is_escaped() -> None:
    html = report()._repr_html_()
    assert "&lt;bell&gt;" in html
    assert "<td>a &amp; b</td><td>decomposed</td><td>2</td>" in html
    assert html.count("<tr>") == 5
