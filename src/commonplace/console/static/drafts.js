// Drafts: what a person types is kept in the browser until the server says that it was saved.
//
// A form with data-draft="NAME" is kept on every input. When the page is opened again and the
// kept text differs from the form's, a notice offers it. The server names saved drafts in
// <meta name="saved-draft">. Fields inside data-no-draft are left out; a file input with
// data-draft-file is kept with its file.
import {
  WRITER, forgetOlderThan, forgetSent, identityOf, keepDraft, noteSent, readDrafts,
  readShortDrafts,
} from "./draft-store.js";

const KEEP_DAYS = 30;
const MAX_EARLIER = 5; // drafts of one form that a person did not decide about
const LARGE_CHARS = 100_000;
const LARGE_DELAY_MILLISECONDS = 400;
const IGNORED = new Set(["csrf", "key"]);

function isKept(element) {
  return element.name && !IGNORED.has(element.name) && !element.closest("[data-no-draft]") &&
    !["password", "submit", "button", "hidden", "search", "file"].includes(element.type);
}

// The fields as they are shown, or as the server sent them.
function fieldsOf(form, {asSent = false} = {}) {
  const fields = {};
  for (const element of form.elements) {
    if (!isKept(element)) continue;
    if (["checkbox", "radio"].includes(element.type)) {
      const isChecked = asSent ? element.defaultChecked : element.checked;
      (fields[element.name] ??= []).push(...(isChecked ? [element.value] : []));
    } else if (element.options) {
      const options = asSent ? chosenAsSent(element) : [...element.selectedOptions];
      (fields[element.name] ??= []).push(...options.map((option) => option.value));
    } else {
      const text = asSent ? element.defaultValue.replace(/\r\n?/g, "\n") : element.value;
      (fields[element.name] ??= []).push(text);
    }
  }
  return fields;
}

// A list of one choice shows its first option where the server marked none.
function chosenAsSent(list) {
  const marked = [...list.options].filter((option) => option.defaultSelected);
  return marked.length || list.multiple ? marked : [...list.options].slice(0, 1);
}

function filesOf(form) {
  const files = {};
  form.querySelectorAll("input[type=file][data-draft-file]").forEach((input) => {
    if (input.files.length) files[input.name] = [...input.files];
  });
  return files;
}

// Whether every field of a draft is in the form as it was kept.
function isIn(draft, fields) {
  return Object.keys(draft).every((name) => {
    const [kept, shown] = [draft[name] ?? [], fields[name] ?? []];
    if (!(name in fields)) return kept.every((text) => text === "");
    return kept.length === shown.length && kept.every((text, index) => text === shown[index]);
  });
}

function fill(form, draft) {
  const used = {};
  for (const element of form.elements) {
    const values = draft.fields[element.name];
    if (!values || !isKept(element)) continue;
    if (["checkbox", "radio"].includes(element.type)) {
      element.checked = values.includes(element.value);
    } else if (element.multiple) {
      for (const option of element.options) option.selected = values.includes(option.value);
    } else {
      const index = used[element.name] ?? 0;
      used[element.name] = index + 1;
      if (index < values.length) element.value = values[index];
    }
    element.dispatchEvent(new Event("input", {bubbles: true}));
    element.dispatchEvent(new Event("change", {bubbles: true}));
  }
  for (const [name, files] of Object.entries(draft.files ?? {})) {
    const input = form.querySelector(`input[type=file][name="${CSS.escape(name)}"]`);
    if (!input) continue;
    const transfer = new DataTransfer();
    files.forEach((file) => transfer.items.add(file));
    input.files = transfer.files;
    input.dispatchEvent(new Event("change", {bubbles: true}));
  }
}

function button(label, kind, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = kind;
  made.textContent = label;
  made.addEventListener("click", act);
  return made;
}

function offer(form, draft, restore, discard) {
  const notice = document.createElement("div");
  notice.className = "notice warn draft";
  notice.setAttribute("role", "status");
  const text = document.createElement("p");
  const when = new Date(draft.at).toLocaleString();
  const isStale = form.dataset.draftBase && draft.base !== form.dataset.draftBase;
  text.textContent = `Unsaved text from ${when} was kept.` +
    (isStale ? " The saved version has changed since then." : "");
  notice.append(
    text,
    button("Restore it", "", () => { notice.remove(); restore(); }),
    button("Discard it", "quiet", () => { notice.remove(); discard(); }),
  );
  form.prepend(notice);
}

// One form: keeps its text, and offers what was kept before until the person decides. Text that
// is typed meanwhile does not replace the offered text; both are kept. Reading the browser's
// database takes a moment: text that is typed before is kept as an early draft.
function watch(form) {
  const name = form.dataset.draft;
  const original = fieldsOf(form, {asSent: true});
  const known = new Set(); // drafts that this page has read; others are of other tabs
  const worthOffering = (drafts) => {
    const shown = fieldsOf(form);
    const read = drafts.filter((kept) => kept.writer !== WRITER);
    read.forEach((kept) => known.add(identityOf(kept)));
    return read.filter((kept) =>
      !(isIn(kept.fields, original) || isIn(kept.fields, shown)) ||
        Object.keys(kept.files ?? {}).length).slice(0, MAX_EARLIER);
  };
  let undecided = worthOffering(readShortDrafts(name));
  let carried = {}; // fields that the form may not show now, because a part of it was replaced
  let timer = 0;
  let isRead = false;

  const carry = () => { carried = {...carried, ...fieldsOf(form)}; };
  const save = () => {
    const files = filesOf(form);
    carry();
    const isUnchanged = isIn(carried, original) && !Object.keys(files).length;
    if (isUnchanged && !isRead) return undefined;
    const draft = {
      fields: carried, files, at: Date.now(), base: form.dataset.draftBase ?? "", writer: WRITER,
    };
    const decided = new Set(known);
    undecided.forEach((kept) => decided.delete(identityOf(kept)));
    return keepDraft(name, isUnchanged ? null : draft, decided).then(
      () => { delete form.dataset.draftFull; },
      () => { form.dataset.draftFull = "true"; }, // no room: warn before the page is left
    );
  };
  const restore = (draft) => {
    carried = {...carried, ...draft.fields};
    fill(form, draft);
  };
  document.addEventListener("htmx:afterSettle", () => {
    form.querySelectorAll("textarea[name]").forEach((area) => {
      const text = carried[area.name]?.[0];
      if (!text || text === area.value || !isKept(area)) return;
      area.value = text;
      area.dispatchEvent(new Event("input", {bubbles: true}));
    });
  });
  const decide = (draft) => { undecided = undecided.filter((other) => other !== draft); };

  const changed = () => {
    clearTimeout(timer);
    carry(); // at once: a part that is replaced next gets this text
    const length = [...form.elements].reduce((sum, field) => sum + (field.value?.length ?? 0), 0);
    if (length <= LARGE_CHARS) save();
    else timer = setTimeout(changedLater, LARGE_DELAY_MILLISECONDS);
  };
  const changedLater = () => { timer = 0; save(); };
  form.addEventListener("input", changed);
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-draft-file]")) changed();
  });
  const flush = () => {
    if (!timer) return;
    clearTimeout(timer);
    changedLater();
  };
  form.addEventListener("submit", () => { flush(); noteSent(name, known); });
  window.addEventListener("pagehide", flush);

  readDrafts(name).then((drafts) => {
    undecided = worthOffering(drafts);
    isRead = true;
    [...undecided].reverse().forEach((kept) => offer(
      form, kept,
      () => { decide(kept); restore(kept); save(); },
      () => { decide(kept); save(); },
    ));
  });
  if (!isIn(fieldsOf(form), original)) changed(); // typed before this script ran
}

window.addEventListener("beforeunload", (event) => {
  if (document.querySelector("form[data-draft-full]")) event.preventDefault();
});

let isStarted = false;
export function startDrafts(within) {
  if (!isStarted) {
    isStarted = true;
    forgetOlderThan(Date.now() - KEEP_DAYS * 24 * 3600 * 1000);
    const saved = document.querySelector("meta[name=saved-draft]");
    if (saved) forgetSent(saved.content);
  }
  within.querySelectorAll("form[data-draft]:not([data-watched])").forEach((form) => {
    form.dataset.watched = "true";
    watch(form);
  });
}
