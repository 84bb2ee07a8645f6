// Where drafts are kept: short ones in localStorage, long ones and files in IndexedDB, which has
// room for documents of many megabytes.
// Each person who uses this browser has drafts of their own.
const PERSON = document.documentElement.dataset.person ?? "";
const PREFIX = `commonplace:draft:${PERSON}:`;
const DATABASE = `commonplace-drafts:${PERSON}`;
const STORE = "drafts";
const MAX_LOCAL_CHARS = 200_000;

let opened = null;

function open() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function run(mode, work) {
  const database = await open();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(STORE, mode);
    const request = work(transaction.objectStore(STORE));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

// Return a kept draft that is short, or null. It is there at once.
export function readShortDraft(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

function isShort(draft) {
  const texts = Object.values(draft.fields).flat();
  const files = Object.keys(draft.files ?? {});
  return !files.length && texts.reduce((sum, text) => sum + text.length, 0) <= MAX_LOCAL_CHARS;
}

// Return a kept draft, or null.
export async function readDraft(name) {
  const local = readShortDraft(name);
  try {
    const large = (await run("readonly", (store) => store.get(name))) ?? null;
    if (large && !(local?.at > large.at)) return large;
    if (large && local.isEarly) { // it was kept before the large one had been read
      const {earlier = [], ...latest} = large;
      return {...local, earlier: [...(local.earlier ?? []), latest, ...earlier]};
    }
  } catch {
    // a browser without IndexedDB, or in a private window
  }
  return local;
}

// Keep a draft. Rejects if the browser has no room for it. Short drafts are kept at once, so that
// they survive a page that is closed in the same moment.
export async function keepDraft(name, draft) {
  if (isShort(draft)) {
    try {
      localStorage.setItem(PREFIX + name, JSON.stringify(draft));
      return;
    } catch {
      // full: IndexedDB has more room
    }
  }
  await run("readwrite", (store) => store.put(draft, name));
  localStorage.removeItem(PREFIX + name);
}

export async function forgetDraft(name) {
  localStorage.removeItem(PREFIX + name);
  try {
    await run("readwrite", (store) => store.delete(name));
  } catch {
    // nothing was kept there
  }
}

export async function forgetOlderThan(oldest) {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(PREFIX) && !(readShortDraft(key.slice(PREFIX.length))?.at > oldest)) {
      localStorage.removeItem(key);
    }
  }
  try {
    const names = await run("readonly", (store) => store.getAllKeys());
    for (const name of names) {
      const draft = await run("readonly", (store) => store.get(name));
      if (!(draft?.at > oldest)) await run("readwrite", (store) => store.delete(name));
    }
  } catch {
    // nothing was kept there
  }
}
