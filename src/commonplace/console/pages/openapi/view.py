"""What a person looks at: a document, one of the tabs, and the choices in it.

A document that has a name (a stored file, a URL) is shown by addresses; a document that was pasted
or uploaded travels in the form of the page, because the server keeps nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import UploadFile

from commonplace.console.form_data import FormData
from commonplace.console.page import Page
from commonplace.console.pages.openapi import examples
from commonplace.console.rendering import url

TABS = (
    ("findings", "Findings"),
    ("operations", "Operations"),
    ("schemas", "Schemas"),
    ("parameters", "Parameters"),
    ("responses", "Responses"),
    ("headers", "Headers"),
    ("security", "Security"),
    ("paths", "Paths"),
    ("refs", "References"),
    ("source", "Source"),
    ("compare", "Compare"),
    ("fix", "Fix"),
    ("convert", "Convert"),
    ("join", "Join"),
    ("overlay", "Overlay"),
    ("generate", "Generate"),
)
MAX_SHOWN_CHARS = 400_000  # a longer text is not put into a text area
NOT_KEPT = frozenset({"tab", "ref", "example", "wait"})
NOT_CHOICES = frozenset({"csrf", "content", "upload", "other_file", "ref", "go", "store_as"})
STORED = ("file:", "openapi:")  # references to files of this server
PASTED = "_text"  # after the name of a tab: the field of its second document


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Where a document is: its name, or its text."""

    name: str = ""
    text: str | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.name) or bool(self.text and self.text.strip())

    @property
    def is_linked(self) -> bool:
        """Whether an address can name it."""
        return self.text is None and bool(self.name)

    @property
    def spec(self) -> dict[str, str]:
        """The document as the tools take it."""
        if self.text is not None:
            return {"content": self.text}
        if self.name.startswith(("http://", "https://")):
            return {"url": self.name}
        return {"ref": self.name} if self.name.startswith(STORED) else {"file": self.name}

    @property
    def shown_text(self) -> str:
        """The text as far as a text area shows it."""
        text = self.text or ""
        return text if len(text) <= MAX_SHOWN_CHARS else ""

    @property
    def is_large(self) -> bool:
        return len(self.text or "") > MAX_SHOWN_CHARS


@dataclass(frozen=True, slots=True)
class View:
    """A document, a tab, and the choices of the tab by name."""

    source: DocumentSource
    tab: str = "findings"
    choices: Mapping[str, str] = field(default_factory=dict)
    others: Sequence[DocumentSource] = ()
    problem: str = ""

    @property
    def is_linked(self) -> bool:
        return self.source.is_linked

    @property
    def page(self) -> int:
        return self.number("page", 1)

    def number(self, name: str, default: int) -> int:
        """Return a choice that is a number, which anybody may have typed."""
        text = self.choices.get(name, "")
        is_number = text.isascii() and text.isdigit() and len(text) < 9
        return max(0 if default == 0 else 1, int(text)) if is_number else default

    def text(self, name: str, default: str = "") -> str:
        return self.choices.get(name, default).strip()

    def flag(self, name: str) -> bool:
        return self.choices.get(name) in ("on", "1")

    @property
    def other(self) -> DocumentSource:
        """The second document; an empty one if there is none."""
        return self.others[0] if self.others else DocumentSource(self.text("other"))

    def address(self, path: str = "/openapi", /, **choices: object) -> str:
        """Return the address of this document with a tab and choices."""
        return url(path, ref=self.source.name, **choices)

    def go(self, **choices: object) -> str:
        """Return a tab and choices as the value of a button."""
        kept = {name: value for name, value in choices.items() if value not in (None, "", False)}
        return urlencode(kept)

    def turned(self, number: int) -> dict[str, object]:
        """Return the choices of another page of the same list."""
        return {**self.choices, "tab": self.tab, "page": number if number > 1 else ""}


def read_view(page: Page) -> View:
    """Return the view that the address names."""
    query = {name: value for name, value in page.request.query_params.items() if value}
    source = DocumentSource(page.query("ref"))
    if not source.name and page.query("example"):
        source = DocumentSource(text=examples.DOCUMENT)
    return make_view(source, query)


async def read_posted_view(form: FormData) -> View:
    """Return the view of a form, with the documents that were pasted or uploaded."""
    problem = ""
    chosen = dict(parse_qsl(form.text("go"), max_num_fields=50)) if form.has("go") else {}
    fields = {
        name: form.text(name)
        for name in form.fields
        if name not in NOT_CHOICES and not name.endswith(PASTED)
    }
    is_same_tab = chosen.get("tab", form.text("tab")) == form.text("tab")
    others: list[DocumentSource] = []
    try:
        source = await _read_source(form)
        others = await _read_others(form) if is_same_tab else []
    except UnicodeDecodeError:
        source, problem = DocumentSource(text=form.text("content")), "The file is not UTF-8 text."
    return make_view(source, chosen or fields, others, problem)


def make_view(
    source: DocumentSource,
    choices: Mapping[str, str],
    others: Sequence[DocumentSource] = (),
    problem: str = "",
) -> View:
    """Return a view; an unknown tab becomes the first one."""
    tab = choices.get("tab", "")
    kept = {name: value for name, value in choices.items() if name not in NOT_KEPT}
    return View(source, tab if tab in dict(TABS) else TABS[0][0], kept, others, problem)


async def _read_source(form: FormData) -> DocumentSource:
    if form.text("ref").strip():
        return DocumentSource(form.text("ref").strip())
    files = form.uploads("upload")
    if files:
        return await _read_upload(files[0])
    return DocumentSource(text=form.text("content"))


async def _read_others(form: FormData) -> list[DocumentSource]:
    others = [DocumentSource(name) for name in form.text("other").replace(",", " ").split()]
    others += [await _read_upload(file) for file in form.uploads("other_file")]
    pasted = DocumentSource(text=form.text(form.text("tab") + PASTED))
    return [*others, pasted] if pasted.is_given else others


async def _read_upload(file: UploadFile) -> DocumentSource:
    return DocumentSource(file.filename or "", (await file.read()).decode())
