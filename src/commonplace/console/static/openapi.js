// OpenAPI: a form with data-part="ID" is sent in the background, and only the element with this id
// is replaced, so that a chosen file and the text stay where they are.
import {focusedIn, restoreFocus, whenReleased} from "./replace.js";
import {isFreshPage} from "./untouched.js";

const MAX_EDITED_BYTES = 400_000;

function keepFiles(before, after) {
  before.querySelectorAll("input[type=file]").forEach((input) => {
    const same = after.querySelector(`input[type=file][name="${input.name}"]`);
    if (same && input.files.length) same.files = input.files;
  });
}

// Wait until nothing of a part is being pressed, then show other content in it.
async function show(part, fresh, isStale = () => false) {
  await new Promise((resolve) => { whenReleased(part, resolve); });
  if (isStale()) return;
  const focused = focusedIn(part);
  keepFiles(part, fresh);
  part.replaceChildren(...fresh.childNodes);
  restoreFocus(part, focused);
  document.dispatchEvent(new CustomEvent("htmx:afterSettle", {detail: {elt: part}}));
  part.querySelector("#hit")?.scrollIntoView({block: "center"});
}

// The newest request of each part. The answer to an earlier one would replace a newer result.
const newest = new WeakMap();

async function send(form, submitter) {
  const part = document.getElementById(form.dataset.part);
  const request = {};
  newest.set(part, request);
  const isStale = () => newest.get(part) !== request;
  form.dataset.busy = "true";
  part.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.action, {method: "POST", body: new FormData(form, submitter)});
    if (isStale()) return;
    if (answer.redirected) return location.assign(answer.url);
    const text = await answer.text();
    if (isStale()) return;
    const made = new DOMParser().parseFromString(text, "text/html");
    const fresh = made.getElementById(part.id) ?? made.querySelector("main");
    await show(part, fresh, isStale);
  } catch {
    if (!isStale()) document.dispatchEvent(new CustomEvent("htmx:sendError")); // tells the person
  } finally {
    if (!isStale()) {
      delete form.dataset.busy;
      part.removeAttribute("aria-busy");
    }
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-part]") || event.submitter?.matches("[data-download]")) return;
  event.preventDefault();
  send(form, event.submitter);
});

// A result that takes long is asked for after the page was shown.
async function load(part) {
  try {
    const answer = await fetch(part.dataset.load);
    if (answer.redirected) return location.reload();
    const made = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = made.getElementById(part.id) ?? made.querySelector("main");
    await show(part, fresh);
    part.removeAttribute("aria-busy");
  } catch {
    document.dispatchEvent(new CustomEvent("htmx:sendError"));
  }
}
document.querySelectorAll("[data-load]").forEach(load);

// A number of a line selects the line in the text area, if the document is there.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-line-of] button");
  const area = document.getElementById("f-content");
  if (!button || !area?.value) return;
  event.preventDefault();
  const line = Number(button.parentElement.dataset.lineOf);
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  const height = parseFloat(getComputedStyle(area).lineHeight);
  area.scrollTop = Math.max(0, (line - 6) * height);
  area.scrollIntoView({block: "nearest"});
});

function note(text) {
  document.getElementById("upload-note").textContent = text;
}

// A small file becomes the text; a large one stays a file.
async function take(input) {
  const [file] = input.files;
  const area = document.getElementById("f-content");
  if (!file) return;
  if (file.size > MAX_EDITED_BYTES) {
    area.value = "";
    area.placeholder = `${file.name} is used.`;
    note(`${file.name}, ${(file.size / 1024 / 1024).toFixed(1)} MiB: too large to edit here.`);
  } else {
    try {
      area.value = new TextDecoder("utf-8", {fatal: true}).decode(await file.arrayBuffer());
    } catch {
      note(`${file.name} is not UTF-8 text.`);
      input.value = "";
      return;
    }
    note(`${file.name} is in the text area.`);
    input.value = "";
  }
  area.dispatchEvent(new Event("input", {bubbles: true}));
  input.form.requestSubmit();
}

function useFile(input, file) {
  const transfer = new DataTransfer();
  transfer.items.add(file);
  input.files = transfer.files;
  input.dispatchEvent(new Event("change", {bubbles: true}));
}

const input = document.querySelector("input[data-document]");
if (input) {
  input.addEventListener("change", () => take(input));
  if (isFreshPage() && input.files.length) take(input); // chosen before this script listened
  const zone = input.closest("[data-drop]");
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files[0]) useFile(input, event.dataTransfer.files[0]);
  });
  const area = document.getElementById("f-content");
  area.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (text.length <= MAX_EDITED_BYTES) return;
    event.preventDefault();
    useFile(input, new File([text], "pasted document", {type: "text/plain"}));
  });
  // Typing again means the text, not the file that was chosen before.
  area.addEventListener("input", () => {
    if (area.value && input.files.length) { input.value = ""; note("The text area is used."); }
  });
}
