// Drafts: what a person types is kept in the browser until the server says that it was saved.
//
// A form with data-draft="NAME" is kept on every input. When the page is opened again and the
// kept text differs from the form's, a notice offers it. The server names saved drafts in
// <meta name="saved-draft">. Fields inside data-no-draft are left out; a file input with
// data-draft-file is kept with its file.
import {forgetDraft, forgetOlderThan, keepDraft, readDraft} from "./draft-store.js";

const KEEP_DAYS = 30;
const MAX_EARLIER = 5; // drafts of one form that a person did not decide about
const LARGE_CHARS = 100_000;
const LARGE_DELAY_MILLISECONDS = 400;
const IGNORED = new Set(["csrf", "key"]);

function isKept(element) {
  return element.name && !IGNORED.has(element.name) && !element.closest("[data-no-draft]") &&
    !["password", "submit", "button", "hidden", "search", "file"].includes(element.type);
}

function fieldsOf(form) {
  const fields = {};
  for (const element of form.elements) {
    if (!isKept(element)) continue;
    if (["checkbox", "radio"].includes(element.type)) {
      (fields[element.name] ??= []).push(...(element.checked ? [element.value] : []));
    } else if (element.multiple) {
      fields[element.name] = [...element.selectedOptions].map((option) => option.value);
    } else {
      (fields[element.name] ??= []).push(element.value);
    }
  }
  return fields;
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

export const forget = forgetDraft;

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
// is typed meanwhile does not replace the offered text; both are kept.
function watch(form) {
  const name = form.dataset.draft;
  const original = fieldsOf(form);
  let undecided = [];
  let carried = {}; // fields that the form may not show now, because a part of it was replaced
  let timer = 0;
  let isReady = false;

  const save = () => {
    const files = filesOf(form);
    carried = {...carried, ...fieldsOf(form)};
    const isUnchanged = isIn(carried, original) && !Object.keys(files).length;
    const draft = {
      fields: isUnchanged ? {} : carried, files, at: Date.now(),
      base: form.dataset.draftBase ?? "", earlier: undecided,
    };
    if (isUnchanged && !undecided.length) return forgetDraft(name);
    const kept = isUnchanged ? {...undecided[0], earlier: undecided.slice(1)} : draft;
    return keepDraft(name, kept).then(
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
    const length = [...form.elements].reduce((sum, field) => sum + (field.value?.length ?? 0), 0);
    if (isReady && length <= LARGE_CHARS) save();
    else timer = setTimeout(changedLater, LARGE_DELAY_MILLISECONDS);
  };
  const changedLater = () => { timer = 0; if (isReady) save(); else changed(); };
  form.addEventListener("input", changed);
  form.addEventListener("change", (event) => {
    if (event.target.matches("[data-draft-file]")) changed();
  });
  const flush = () => {
    if (!timer || !isReady) return;
    clearTimeout(timer);
    save();
  };
  form.addEventListener("submit", flush);
  window.addEventListener("pagehide", flush);

  readDraft(name).then((draft) => {
    const {earlier = [], ...latest} = draft ?? {};
    const offered = draft ? [latest, ...earlier] : [];
    undecided = offered.filter((kept) => kept.fields &&
      (!isIn(kept.fields, original) || Object.keys(kept.files ?? {}).length))
      .slice(0, MAX_EARLIER);
    isReady = true;
    [...undecided].reverse().forEach((kept) => offer(
      form, kept,
      () => { decide(kept); restore(kept); save(); },
      () => { decide(kept); save(); },
    ));
  });
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
    if (saved) forgetDraft(saved.content);
  }
  within.querySelectorAll("form[data-draft]:not([data-watched])").forEach((form) => {
    form.dataset.watched = "true";
    watch(form);
  });
}
