"""Show hidden characters in the browser: every text and label of a page, whoever drew it, but no
field that a person edits.
"""

from __future__ import annotations

import json

from nicegui import ui

from commonplace.kernel.hidden_characters import (
    count_hidden,
    hidden_pattern_for_javascript,
    reveal,
    summarize,
)

_SCRIPT = """
<script>
// Text nodes are rewritten before they are painted; what a person edits keeps its characters.
(() => {
  const hidden = new RegExp(%PATTERN%, "gu");
  const edited = ".cm-editor, textarea, input, script, style, [contenteditable=true]";
  const code = (found) => found.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  const shown = (text) => text.replace(hidden, (found) => `<U+${code(found)}>`);
  const labels = ["title", "aria-label", "alt", "placeholder"];
  const text = (node) => {
    if (node.parentElement?.closest(edited)) return;
    const visible = shown(node.nodeValue);
    if (visible !== node.nodeValue) node.nodeValue = visible;
  };
  const attributes = (element) => labels.forEach((name) => {
    const value = element.getAttribute?.(name);
    if (value && shown(value) !== value) element.setAttribute(name, shown(value));
  });
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return text(node);
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    attributes(node);
    node.querySelectorAll(labels.map((name) => `[${name}]`).join()).forEach(attributes);
    const texts = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) text(texts.currentNode);
  };
  new MutationObserver((changes) => changes.forEach((change) => {
    if (change.type === "characterData") text(change.target);
    else if (change.type === "attributes") attributes(change.target);
    else change.addedNodes.forEach(walk);
  })).observe(document, {
    subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: labels,
  });
})();
</script>
"""


def add_reveal_script() -> None:
    """Put the script into the current page."""
    ui.add_head_html(_SCRIPT.replace("%PATTERN%", json.dumps(hidden_pattern_for_javascript())))


def editable_text(text: str, editable: bool) -> str:
    """Return what an editor shows: the text itself where it can be saved, else with hidden
    characters made visible.
    """
    return text if editable else reveal(text)


def note_hidden(text: str) -> None:
    """Say below an editor that its text holds characters that it may not show."""
    counted = count_hidden(text)
    if counted:
        ui.label(f"This text holds {summarize(counted)}.").classes(
            "text-sm text-negative cp-text"
        ).props('role="note"')
