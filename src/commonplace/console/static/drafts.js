// Drafts: what a person types is kept in the browser until the server says that it was saved.
//
// A form with data-draft="NAME" is stored on every input. When the page is opened again and the
// stored text differs from the form's, a notice offers it. The server names saved drafts in
// <meta name="saved-draft">.
const PREFIX = "commonplace:draft:";
const KEEP_DAYS = 30;
const IGNORED = new Set(["csrf", "key"]);

function fieldsOf(form) {
  const fields = {};
  for (const element of form.elements) {
    if (!element.name || IGNORED.has(element.name) || element.type === "password") continue;
    if (["file", "submit", "button", "hidden", "search"].includes(element.type)) continue;
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

function fill(form, fields) {
  const used = {};
  for (const element of form.elements) {
    const values = fields[element.name];
    if (!values || element.type === "file" || element.type === "hidden") continue;
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
}

function read(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

export function forget(name) {
  localStorage.removeItem(PREFIX + name);
}

function offer(form, name, draft) {
  const notice = document.createElement("div");
  notice.className = "notice warn draft";
  notice.setAttribute("role", "status");
  const text = document.createElement("p");
  const when = new Date(draft.at).toLocaleString();
  const isStale = form.dataset.draftBase && draft.base !== form.dataset.draftBase;
  text.textContent = `Unsaved text from ${when} was kept.` +
    (isStale ? " The saved version has changed since then." : "");
  const restore = document.createElement("button");
  restore.type = "button";
  restore.textContent = "Restore it";
  restore.addEventListener("click", () => { fill(form, draft.fields); notice.remove(); });
  const discard = document.createElement("button");
  discard.type = "button";
  discard.className = "quiet";
  discard.textContent = "Discard it";
  discard.addEventListener("click", () => { forget(name); notice.remove(); });
  notice.append(text, restore, discard);
  form.prepend(notice);
}

function watch(form) {
  const name = form.dataset.draft;
  const original = JSON.stringify(fieldsOf(form));
  const draft = read(name);
  if (draft && JSON.stringify(draft.fields) !== original) offer(form, name, draft);
  form.addEventListener("input", () => {
    const fields = fieldsOf(form);
    if (JSON.stringify(fields) === original) return forget(name);
    const kept = {fields, at: Date.now(), base: form.dataset.draftBase ?? ""};
    try {
      localStorage.setItem(PREFIX + name, JSON.stringify(kept));
    } catch {
      form.dataset.draftFull = "true"; // the browser's store is full: warn before leaving
    }
  });
}

function removeOld() {
  const oldest = Date.now() - KEEP_DAYS * 24 * 3600 * 1000;
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(PREFIX) && !(read(key.slice(PREFIX.length))?.at > oldest)) {
      localStorage.removeItem(key);
    }
  }
}

window.addEventListener("beforeunload", (event) => {
  if (document.querySelector("form[data-draft-full]")) event.preventDefault();
});

let isStarted = false;
export function startDrafts(within) {
  if (!isStarted) {
    isStarted = true;
    removeOld();
    const saved = document.querySelector("meta[name=saved-draft]");
    if (saved) forget(saved.content);
  }
  within.querySelectorAll("form[data-draft]:not([data-watched])").forEach((form) => {
    form.dataset.watched = "true";
    watch(form);
  });
}
