"""Templates of the console: the Jinja environment and its filters.

Everything is escaped unless it is `Markup`. Hidden characters are shown as visible codes, except
where a person edits a text: those places use the filter `exact`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import orjson
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from commonplace.console.security import ROOT
from commonplace.kernel.hidden_characters import count_hidden, reveal, summarize
from commonplace.kernel.json_types import Json

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict

TEMPLATES = Path(__file__).parent / "templates"
MAX_MARKDOWN_CHARS = 200_000
MAX_HIGHLIGHT_CHARS = 300_000
MAX_MARKS = 200
HIT = Markup('<span id="hit"></span>')


def make_environment() -> Environment:
    """Build the environment of all templates."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=reveal_hidden,
        extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
    )
    environment.filters.update(
        exact=exact,
        size=format_size,
        number=format_number,
        when=format_time,
        json=format_json,
        markdown=render_markdown,
        code=render_code,
        marked=mark_words,
        counted=format_count,
        hidden_note=summarize_hidden,
        pathquote=quote_path,
    )
    environment.globals.update(root=ROOT, url=url)
    return environment


def reveal_hidden(value: object) -> object:
    """Show hidden characters of a text; Markup and other values stay as they are."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return reveal(value)
    return "" if value is None else value


def exact(value: object) -> Markup:
    """Escape a text without changing a character, for fields that a person edits."""
    return escape("" if value is None else str(value))


def summarize_hidden(text: str) -> str:
    """Say which hidden characters a text contains; empty if there are none."""
    found = count_hidden(text)
    return summarize(found) if found else ""


def url(path: str, /, **query: object) -> str:
    """Return the address of a console page; query values that are None or empty are left out."""
    kept = {
        name: "on" if value is True else value
        for name, value in query.items()
        if value not in (None, "", False)
    }
    return f"{ROOT}{path}" + (f"?{urlencode(kept, doseq=True)}" if kept else "")


def quote_path(text: str, safe: str = "") -> str:
    """Quote a part of a path."""
    return quote(text, safe=safe)


def format_size(count: int) -> str:
    """Format a number of bytes."""
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} KiB"
    return f"{count / 1024 / 1024:.1f} MiB"


def format_number(value: float) -> str:
    """Format a number with thousands separators."""
    return f"{value:,}"


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Format a count with its noun."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def format_time(moment: str | None) -> Markup:
    """Format an ISO time as a <time> element, to the minute."""
    if not moment:
        return Markup("")
    shown = str(moment)[:16].replace("T", " ")
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(str(moment), shown)


def format_json(value: Json) -> str:
    """Format a value as indented JSON."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()


def render_markdown(text: str) -> Markup:
    """Render Markdown without raw HTML; very long texts are shown as they are."""
    if len(text) > MAX_MARKDOWN_CHARS:
        return Markup('<pre class="text">{}</pre>').format(reveal(text))
    return Markup(_markdown().render(reveal(text)))  # noqa: S704  # raw HTML is off


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table"])
    parser.enable("strikethrough")
    parser.disable("image")  # an image would be a request to another origin

    parser.add_render_rule("link_open", _open_outside_link)
    parser.core.ruler.push("lower_headings", _lower_headings)
    return parser


def _lower_headings(state: StateCore) -> None:
    """Make headings of a text part of a page, which has a first heading of its own."""
    for token in state.tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"


def _open_outside_link(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("class", "outside")
    return renderer.renderToken(tokens, index, options, env)


def render_code(
    text: str, language: str = "", first_line: int = 1, hit_first: int = 0, hit_last: int = 0
) -> Markup:
    """Render source code with line numbers, highlighted if the language is known.

    The lines from `hit_first` to `hit_last` are set off; the first of them has the id `hit`.
    """
    shown = reveal(text)
    lines = _highlight(shown, language) if len(shown) <= MAX_HIGHLIGHT_CHARS else None
    if lines is None:
        lines = [escape(line) for line in shown.split("\n")]
    if len(lines) > 1 and not lines[-1]:
        lines.pop()  # the line end of the last line
    rows = Markup("").join(
        Markup('<span class="line{2}" id="L{0}" data-line="{0}">{3}{1}\n</span>').format(
            number,
            line,
            " hit" if hit_first <= number <= hit_last else "",
            HIT if number == hit_first else "",
        )
        for number, line in enumerate(lines, first_line)
    )
    return Markup('<pre class="code" tabindex="0"><code>{}</code></pre>').format(rows)


def _highlight(text: str, language: str) -> list[Markup] | None:
    """Return the lines as HTML with token classes, or None if the language is unknown."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        find = get_lexer_for_filename if "." in language else get_lexer_by_name
        lexer = find(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    made = highlight(text, lexer, HtmlFormatter(nowrap=True))
    lines = made.removesuffix("\n").split("\n") if not text.endswith("\n") else made.split("\n")
    return [Markup(line) for line in lines]  # noqa: S704  # Pygments escapes the text


def mark_words(text: str, words: Iterable[str]) -> Markup:
    """Mark the places where search terms match."""
    from commonplace.search.lexical.text import matches

    parts: list[Markup] = []
    position = 0
    for count, (start, end, _) in enumerate(matches(text, words)):
        if count == MAX_MARKS:
            break
        parts += [
            escape(reveal(text[position:start])),
            Markup("<mark>{}</mark>").format(reveal(text[start:end])),
        ]
        position = end
    return Markup("").join([*parts, escape(reveal(text[position:]))])


def render(environment: Environment, template: str, values: Mapping[str, object]) -> str:
    """Render a template."""
    return environment.get_template(template).render(values)
