// Editor: a text area with line numbers; Tab indents, Escape then Tab leaves it.
const INDENT = "  ";

function enhance(area) {
  const frame = document.createElement("div");
  frame.className = "editor";
  const gutter = document.createElement("div");
  gutter.className = "gutter";
  gutter.setAttribute("aria-hidden", "true");
  area.replaceWith(frame);
  frame.append(gutter, area);
  area.wrap = "off";
  let shown = 0;
  const number = () => {
    const count = area.value.split("\n").length;
    if (count === shown) return;
    shown = count;
    gutter.textContent = Array.from({length: count}, (_, index) => index + 1).join("\n");
  };
  const follow = () => {
    gutter.style.height = `${area.clientHeight}px`;
    gutter.scrollTop = area.scrollTop;
  };
  let mayLeave = false;
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { mayLeave = true; return; }
    if (event.key === "Tab" && !mayLeave && !area.readOnly && !event.ctrlKey && !event.altKey) {
      event.preventDefault();
      if (event.shiftKey) outdent(area); else document.execCommand("insertText", false, INDENT);
    }
    mayLeave = false;
  });
  area.addEventListener("input", () => { number(); follow(); });
  area.addEventListener("scroll", follow);
  new ResizeObserver(follow).observe(area);
  number();
}

function outdent(area) {
  const start = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
  if (!area.value.startsWith(INDENT, start)) return;
  const cursor = Math.max(start, area.selectionStart - INDENT.length);
  area.setRangeText("", start, start + INDENT.length, "preserve");
  area.setSelectionRange(cursor, cursor);
  area.dispatchEvent(new Event("input", {bubbles: true}));
}

export function startEditors(within) {
  within.querySelectorAll("textarea[data-editor]:not([data-enhanced])").forEach((area) => {
    area.dataset.enhanced = "true";
    enhance(area);
  });
}
