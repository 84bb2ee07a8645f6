// History of calls, kept in this browser: each can be sent again.
const STORE = `commonplace:calls:${document.documentElement.dataset.person ?? ""}`;
const MAX_CALLS = 50;
const MAX_SHOWN = 10;
const MAX_CHARACTERS = 20000;

function read() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? [];
  } catch {
    return [];
  }
}

function remember(answer) {
  if (answer.dataset.arguments.length > MAX_CHARACTERS) return;
  const call = {
    tool: answer.dataset.call,
    arguments: JSON.parse(answer.dataset.arguments),
    ok: answer.dataset.ok === "true",
    milliseconds: answer.dataset.milliseconds,
    at: Date.now(),
  };
  try {
    localStorage.setItem(STORE, JSON.stringify([call, ...read()].slice(0, MAX_CALLS)));
  } catch {
    localStorage.removeItem(STORE); // the store is full; drafts are more important
  }
}

function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function sendAgain(call) {
  const form = document.querySelector("[data-tool-form]");
  const others = {...call.arguments};
  for (const element of form.elements) {
    if (!element.name.startsWith("arg.")) continue;
    const name = element.name.slice(4);
    element.value = name in others ? textOf(others[name]) : "";
    delete others[name];
  }
  const rest = form.elements["arg.other-arguments"];
  if (rest && Object.keys(others).length) rest.value = textOf(others);
  form.requestSubmit();
}

function show(root) {
  const calls = read().filter((call) => call.tool === root.dataset.history).slice(0, MAX_SHOWN);
  if (!calls.length) return;
  const title = document.createElement("h2");
  title.textContent = "History";
  const list = document.createElement("ul");
  for (const call of calls) {
    const row = document.createElement("li");
    const outcome = document.createElement("span");
    outcome.className = call.ok ? "tag good" : "tag bad";
    outcome.textContent = call.ok ? "ok" : "refused";
    const when = document.createElement("span");
    when.textContent = `${new Date(call.at).toLocaleTimeString()}, ${call.milliseconds} ms`;
    const text = document.createElement("code");
    text.textContent = JSON.stringify(call.arguments).slice(0, 200);
    const again = document.createElement("button");
    again.type = "button";
    again.textContent = "Send again";
    again.addEventListener("click", () => sendAgain(call));
    row.append(outcome, when, text, again);
    list.append(row);
  }
  root.append(title, list);
}

const answer = document.querySelector("[data-call]");
if (answer) remember(answer);
document.querySelectorAll("[data-history]").forEach(show);
