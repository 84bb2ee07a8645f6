// Where drafts are kept: short ones in localStorage, long ones and files in IndexedDB, which has
// room for documents of many megabytes. Each person who uses this browser has drafts of their own.
//
// A form may be open in several tabs. Each open page writes a draft of its own (`writer`); a
// record has the newest draft, and the others in `earlier`. A page replaces and removes only its
// own draft and those that it has read: the text in another tab stays.
const PERSON = document.documentElement.dataset.person ?? "";
const PREFIX = `commonplace:draft:${PERSON}:`;
const SENT_PREFIX = `commonplace:sent:${PERSON}:`;
const DATABASE = `commonplace-drafts:${PERSON}`;
const STORE = "drafts";
const MAX_LOCAL_CHARS = 200_000;

export const WRITER = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;

let opened = null;
const inDatabase = new Set(); // names of forms with a draft there
const rounds = new Map(); // how often the draft of a form was kept

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

// Replace the record of a form in one transaction.
function changeLarge(name, change) {
  return run("readwrite", (store) => {
    const read = store.get(name);
    read.onsuccess = () => {
      const drafts = change(draftsOf(read.result));
      if (drafts.length) store.put(recordOf(drafts), name); else store.delete(name);
      if (drafts.length) inDatabase.add(name); else inDatabase.delete(name);
    };
    return read;
  });
}

function changeShort(name, change) {
  const drafts = change(draftsOf(readRecord(name)));
  if (drafts.length) localStorage.setItem(PREFIX + name, JSON.stringify(recordOf(drafts)));
  else localStorage.removeItem(PREFIX + name);
}

function readRecord(name) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name));
  } catch {
    return null;
  }
}

function draftsOf(record) {
  if (!record) return [];
  const {earlier = [], ...latest} = record;
  return [latest, ...earlier].filter((draft) => draft.fields);
}

function recordOf([latest, ...earlier]) {
  return {...latest, earlier};
}

export function identityOf(draft) {
  return `${draft.writer ?? ""} ${draft.at}`;
}

// The newest draft of each writer, newest first. Drafts of an older console have no writer.
function newest(drafts) {
  const found = new Map();
  for (const draft of [...drafts].sort((one, other) => other.at - one.at)) {
    const key = draft.writer ?? identityOf(draft);
    if (!found.has(key)) found.set(key, draft);
  }
  return [...found.values()];
}

// Return the drafts of a form that are short, newest first. They are there at once.
export function readShortDrafts(name) {
  return newest(draftsOf(readRecord(name)));
}

// Return all drafts of a form, newest first.
export async function readDrafts(name) {
  let large = [];
  try {
    large = draftsOf(await run("readonly", (store) => store.get(name)));
  } catch {
    // a browser without IndexedDB, or in a private window
  }
  if (large.length) inDatabase.add(name);
  return newest([...draftsOf(readRecord(name)), ...large]); // of the same time, the short one
}

function isShort(draft) {
  if (Object.keys(draft?.files ?? {}).length) return false;
  const texts = Object.values(draft?.fields ?? {}).flat();
  return texts.reduce((sum, text) => sum + text.length, 0) <= MAX_LOCAL_CHARS;
}

// Keep the draft of this page, or none, and remove drafts that a person has decided about, named
// by their identities. Rejects if the browser has no room. Short drafts are kept at once, so that
// they survive a page that is closed in the same moment.
export async function keepDraft(name, draft, decided) {
  const round = (rounds.get(name) ?? 0) + 1;
  rounds.set(name, round);
  const others = (stored) => stored.filter(
    (other) => other.writer !== WRITER && !decided.has(identityOf(other)));
  const change = (stored) => newest([...(draft ? [draft] : []), ...others(stored)]);
  if (isShort(draft)) {
    try {
      changeShort(name, change);
      if (inDatabase.has(name)) await changeLarge(name, others);
      return;
    } catch {
      // full: IndexedDB has more room
    }
  }
  inDatabase.add(name);
  await changeLarge(name, change);
  if (rounds.get(name) === round) changeShort(name, others); // else a newer draft may be there
}

// Note what a form that is being sent has read and written, for `forgetSent` on the next page.
export function noteSent(name, known) {
  try {
    sessionStorage.setItem(SENT_PREFIX + name, JSON.stringify([WRITER, ...known]));
  } catch {
    // no room: all drafts of the form are forgotten when it was saved
  }
}

// Forget the drafts of a form that was saved, but not what is typed in other tabs.
export async function forgetSent(name) {
  const sent = JSON.parse(sessionStorage.getItem(SENT_PREFIX + name));
  sessionStorage.removeItem(SENT_PREFIX + name);
  const known = new Set(sent ?? []);
  const others = (stored) => (sent === null ? [] : stored.filter(
    (draft) => !known.has(draft.writer) && !known.has(identityOf(draft))));
  changeShort(name, others);
  try {
    await changeLarge(name, others);
  } catch {
    // nothing was kept there
  }
}

export async function forgetOlderThan(oldest) {
  const recent = (stored) => stored.filter((draft) => draft.at > oldest);
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(PREFIX)) continue;
    const name = key.slice(PREFIX.length);
    const drafts = draftsOf(readRecord(name));
    if (recent(drafts).length < drafts.length || !drafts.length) changeShort(name, recent);
  }
  try {
    const names = await run("readonly", (store) => store.getAllKeys());
    for (const name of names) {
      const drafts = draftsOf(await run("readonly", (store) => store.get(name)));
      if (recent(drafts).length < drafts.length || !drafts.length) await changeLarge(name, recent);
    }
  } catch {
    // nothing was kept there
  }
}
