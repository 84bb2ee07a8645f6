"""Queries are read as what they are: paths, look-ups, questions and reports."""

from __future__ import annotations

import pytest

from commonplace.search.relevance.query import QueryShape, read_query
from measuring import runs_within

ISSUE = """Weighted mean is wrong for boolean weights
<!-- Please search existing issues first -->

### What happened?

The `sum_of_weights` helper of `DataArray` multiplies two boolean arrays, see \
https://example.org/watch?v=unrelatedword.

```python
import numpy as np
wanted = build_weights(np.zeros(3))
```

ValueError: weights cannot contain missing values

### Environment

python: 3.9.1
numpy: 1.18.1
libhdf5: 1.10.6
"""

SHORT_ISSUE = """Robots.txt is downloaded again for every request when the first download fails

If it cannot be fetched, the RobotsTxtMiddleware forgets the failure. It should be cached."""


@pytest.mark.parametrize(
    ("query", "shape"),
    [
        ("def get_environment_proxies", QueryShape.LOOKUP),
        ("DEFAULT_MAX_REDIRECTS", QueryShape.LOOKUP),
        ("Session.request", QueryShape.LOOKUP),
        ("ValueError: bad input: 3", QueryShape.LOOKUP),
        ("fn poll(self: Pin<&mut Self>)", QueryShape.LOOKUP),
        ("src/main.rs", QueryShape.PATH),
        ("adapters.py:120", QueryShape.PATH),
        ("pkg/server", QueryShape.PATH),
        ("how do I set a proxy?", QueryShape.QUESTION),
        ("variable pitch propellers", QueryShape.QUESTION),
        ("papers on this problem (calculation of laminar flow) .", QueryShape.QUESTION),
        ("if (x == 3) return (y);", QueryShape.LOOKUP),
        ("where is build_response called?", QueryShape.QUESTION),
        ("réduire la trainée des ailes", QueryShape.QUESTION),
        (ISSUE, QueryShape.REPORT),
        (SHORT_ISSUE, QueryShape.REPORT),
        ("two\n\nshort lines", QueryShape.QUESTION),
    ],
)
def test_the_shape_of_a_query(query: str, shape: QueryShape) -> None:
    assert read_query(query).shape is shape


def test_a_short_query_keeps_all_its_words_with_one_weight() -> None:
    reading = read_query("swept wing drag")
    assert set(reading.terms.values()) == {1.0}
    assert reading.meaning == "swept wing drag"


def test_a_report_weighs_its_title_most_and_leaves_boilerplate_out() -> None:
    reading = read_query(ISSUE)
    terms = reading.terms
    assert terms["weight"] > terms["multipli"] > terms["want"]
    assert not {"libhdf5", "search", "unrelatedword", "environ"} & terms.keys()
    assert reading.meaning.startswith("Weighted mean is wrong for boolean weights\nThe ")
    assert "numpy" not in reading.meaning


def test_a_report_names_symbols_and_error_texts() -> None:
    reading = read_query(ISSUE)
    assert list(reading.symbols)[:2] == ["DataArray", "sum_of_weights"]
    assert reading.symbols["sum_of_weights"] > reading.symbols["build_weights"]
    assert "weights cannot contain missing values" in reading.phrases


def test_a_report_of_boilerplate_alone_is_still_searched() -> None:
    reading = read_query("<!-- nothing -->\n\n\n\n\n")
    assert reading.terms


def test_tests_and_documents_are_wanted_when_the_query_says_so() -> None:
    assert read_query("test for redirects").wants_tests
    assert read_query("documentation of timeouts").wants_prose
    assert not read_query("timeouts").wants_tests


@pytest.mark.parametrize(
    "hostile",
    [
        "(" * 16_000,
        "a" * 16_000,
        "a." * 8_000,
        "```\n" * 4_000,
        "<!--" * 4_000,
        "at " * 5_000,
        'File "' * 2_500,
        "x: 1\n" * 3_000,
        "\n" * 16_000,
        "a = " * 4_000,
        "`" * 16_000,
        "@@ -1 +1 @@\n" * 1_300,
        "E: " * 5_000 + "Error: " * 100,
        "[" * 8_000 + "]" * 8_000,
        "\ud800" * 100 + "_" * 16_000,
    ],
)
def test_hostile_queries_are_read_in_linear_time(hostile: str) -> None:
    assert runs_within(1.0, lambda: read_query(hostile))
