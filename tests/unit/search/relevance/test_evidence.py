"""Texts and paths give evidence: exact text, definitions, named places, kinds of files."""

from __future__ import annotations

from functools import partial

import pytest

from commonplace.search.lexical.text import analyze
from commonplace.search.relevance.evidence import (
    CandidateText,
    EvidenceReader,
    TextFinding,
    add_file_evidence,
    defines,
    path_share,
)
from commonplace.search.relevance.query import read_query
from measuring import runs_within


def judge(query: str, text: str, path: str = "/src/app.py") -> TextFinding:
    idf = dict.fromkeys(analyze(query), 5.0)
    return EvidenceReader(read_query(query), idf, 1000).judge(CandidateText("k", path, text))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def parse_url(text):", "parse_url"),
        ("    async def parse_url(text):", "parse_url"),
        ("class ParseError(Exception):", "ParseError"),
        ("DEFAULT_LIMIT = 30", "DEFAULT_LIMIT"),
        ("    limit: int = 3", "limit"),
        ("func (s *Server) Serve(l net.Listener) error {", "Serve"),
        ("pub(crate) async fn poll_ready(&mut self) -> Poll<()> {", "poll_ready"),
        ("impl<T> Display for Wrapper<T> {\n    fn fmt(&self) {", "fmt"),
        ("export default function render(props) {", "render"),
        ("  componentDidMount() {", "componentDidMount"),
        ("const express = createApplication;", "express"),
        ("app.handle = function handle(req, res) {", "handle"),
        ("public static String readAll(InputStream in) throws IOException {", "readAll"),
        ("static int\nparse_header(struct buf *b)\n{", "parse_header"),
        ("int parse_header(struct buf *b) {", "parse_header"),
        ("#define MAX_LINE 512", "MAX_LINE"),
        ("interface Options<T> {", "Options"),
        ("  def each_line", "each_line"),
    ],
)
def test_definitions_are_told_by_their_line(text: str, name: str) -> None:
    assert defines(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("return parse_url(text)", "parse_url"),
        ("    value = parse_url(text)", "parse_url"),
        ("raise ParseError('x')", "ParseError"),
        ("from .config import DEFAULT_LIMIT", "DEFAULT_LIMIT"),
        ("if limit == 3:", "limit"),
        ("s.Serve(listener)", "Serve"),
        ("parse_header(&buffer);", "parse_header"),
        ("            count = 3", "count"),
        ("def parse_url_again(text):", "parse_url"),
    ],
)
def test_mentions_are_no_definitions(text: str, name: str) -> None:
    assert not defines(text, name)


def test_exact_text_is_worth_more_than_a_part_of_it() -> None:
    query = "Exceeded 30 redirects for this session."
    exact = judge(query, 'raise Error("Exceeded 30 redirects for this session.")')
    part = judge(query, 'raise Error(f"Exceeded {limit} redirects for this session.")')
    words = judge(query, "redirects of a session: this one exceeded what 30 allow for")
    assert exact.evidence > part.evidence > words.evidence
    assert "exact" in exact.reasons
    assert "phrase" in part.reasons
    assert words.evidence < part.evidence / 3


def test_a_definition_is_worth_more_than_a_mention() -> None:
    assert judge("parse_url", "def parse_url(text):").reasons["defines"] == ["parse_url"]
    assert judge("parse_url", "return parse_url(text)").evidence == 0


def test_a_frame_finds_its_function() -> None:
    trace = (
        "It fails\n\nTraceback (most recent call last):\n"
        '  File "/x/site-packages/acme/net/http.py", line 7, in connect\n    open()\n'
        '  File "/x/site-packages/acme/net/tcp.py", line 9, in open_socket\n    raise\n'
        "OSError: no\n"
    )
    inner = judge(trace, "def open_socket():", "/acme/net/tcp.py")
    outer = judge(trace, "def connect():", "/acme/net/http.py")
    beside = judge(trace, "def close():", "/acme/net/tcp.py")
    assert inner.evidence > outer.evidence > 0
    assert inner.evidence > beside.evidence > 0
    assert inner.reasons["path"] == "tcp.py:9 open_socket"


def test_a_path_finds_its_file() -> None:
    assert path_share("/src/net/tcp.rs", "src/net/tcp.rs") == 1
    assert path_share("/src/net/tcp.rs", "/home/me/acme/src/net/tcp.rs") == 1
    assert path_share("/src/net/tcp.rs", "tcp.rs") == 1
    assert 0 < path_share("/src/net/tcp.rs", "other/tcp.rs") < 0.5
    assert path_share("/src/net/tcp.rs", "src/net/udp.rs") == 0


@pytest.mark.parametrize(
    ("query", "path", "text"),
    [
        ("org.acme.net.Client", "/java/org/acme/net/Client.java", "public class Client {"),
        ("acme.net.Client", "/src/acme/net.py", "class Client:"),
    ],
)
def test_a_qualified_name_is_worth_more_where_it_is_defined(
    query: str, path: str, text: str
) -> None:
    defined = judge(query, text, path)
    imported = judge(query, f"import {query};", "/java/org/acme/App.java")
    elsewhere = judge(query, text, "/other/place/Client2.java")
    assert defined.evidence > imported.evidence > elsewhere.evidence


def test_kinds_of_files_move_the_odds_unless_asked_for() -> None:
    assert judge("parse_url", "", "/tests/test_url.py").log_odds < 0
    assert judge("test parse_url", "", "/tests/test_url.py").log_odds > 0
    assert judge("parse_url", "", "/README.md").log_odds < 0
    assert judge("how do I parse a url?", "", "/README.md").log_odds == 0
    assert judge("parse_url", "", "/vendor/url.py").log_odds < judge("x", "", "/README.md").log_odds
    assert judge("tests/test_url.py", "", "/tests/test_url.py").log_odds >= 0


def test_other_passages_of_a_file_add_to_each_other() -> None:
    paths = {"a": "/one", "b": "/one", "c": "/two"}
    added = add_file_evidence({"a": 1.0, "b": 0.5, "c": 1.0}, paths, 0.2)
    assert added == {"a": 0.1, "b": 0.2, "c": 0.0}


def test_a_hostile_text_is_judged_in_linear_time() -> None:
    for text in (
        "parse_url " * 40_000,
        "a" * 400_000,
        "parse url the of " * 20_000,
        "\n" * 400_000,
    ):
        for query in ("parse_url", "parse the url of it all"):
            assert runs_within(2.0, partial(judge, query, text))


def test_built_code_comes_after_its_source() -> None:
    text = "export function throttle() {"
    source = judge("throttle", text, "/src/throttle.ts")
    built = judge("throttle", text, "/dist/esm/throttle.js")
    prose = judge("throttle", text, "/docs/throttle.md")
    assert source.log_odds > built.log_odds > prose.log_odds
    assert built.reasons["file_kind"] == "built"
