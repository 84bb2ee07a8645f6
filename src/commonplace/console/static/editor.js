// Editor: a text area with line numbers and syntax colours; Tab indents, Escape then Tab leaves it.
// The colours are a copy of the text behind the text area, whose own text is transparent; their
// rules are loaded when a page has an editor.

const INDENT = "  ";
const MAX_COLOURED_CHARS = 60_000; // more would make typing slow

function enhance(area) {
  const frame = document.createElement("div");
  frame.className = "editor";
  const gutter = document.createElement("div");
  gutter.className = "gutter";
  gutter.setAttribute("aria-hidden", "true");
  const shown = document.createElement("div");
  gutter.append(shown);
  const copy = document.createElement("pre");
  copy.className = "colours";
  copy.setAttribute("aria-hidden", "true");
  keepFocus(area, () => {
    area.replaceWith(frame);
    frame.append(gutter, copy, area);
  });
  area.wrap = "off";
  let colours = null;
  let language = "";
  let lines = 1;
  let isDrawing = false;

  const count = () => {
    lines = 1;
    for (let at = area.value.indexOf("\n"); at >= 0; at = area.value.indexOf("\n", at + 1)) lines += 1;
  };
  // Only the numbers that are visible are in the gutter; its width fits the last one.
  const follow = () => {
    const height = parseFloat(getComputedStyle(area).lineHeight) || 20;
    const first = Math.max(0, Math.floor(area.scrollTop / height) - 1);
    const last = Math.min(lines, first + Math.ceil(area.clientHeight / height) + 3);
    const width = String(lines).length;
    let numbers = "";
    for (let line = first + 1; line <= last; line += 1) numbers += `${String(line).padStart(width)}\n`;
    if (shown.textContent !== numbers) shown.textContent = numbers;
    shown.style.transform = `translateY(${first * height - area.scrollTop}px)`;
    copy.scrollTop = area.scrollTop;
    copy.scrollLeft = area.scrollLeft;
  };
  const draw = () => {
    isDrawing = false;
    count();
    const isColoured = language !== "" && area.value.length <= MAX_COLOURED_CHARS;
    frame.classList.toggle("coloured", isColoured);
    if (isColoured) copy.replaceChildren(colours.colour(area.value, language));
    else copy.replaceChildren();
    follow();
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
  area.addEventListener("input", () => {
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(draw);
  });
  area.addEventListener("scroll", follow);
  new ResizeObserver(follow).observe(area);
  draw();
  import("./colours.js").then((module) => {
    colours = module;
    language = colours.languageOf(area.dataset.editor);
    draw();
  });
}

// Moving an element takes the focus away from it: a person who types already would lose the rest.
function keepFocus(area, move) {
  const isFocused = document.activeElement === area;
  const {selectionStart, selectionEnd, selectionDirection, scrollTop} = area;
  move();
  if (!isFocused) return;
  area.focus({preventScroll: true});
  area.setSelectionRange(selectionStart, selectionEnd, selectionDirection);
  area.scrollTop = scrollTop;
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
