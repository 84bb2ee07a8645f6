// Behaviour that every page shares. Pages work without it; drafts, the palette and live parts
// need it.
import {startDrafts} from "./drafts.js";
import {startEditors} from "./editor.js";
import {startLive} from "./live.js";
import {startPalette} from "./palette.js";
import {focusedIn, isPressed, restoreFocus, whenReleased} from "./replace.js";
import {isFreshPage, wasTouched} from "./untouched.js";

const csrfToken = document.querySelector("meta[name=csrf-token]")?.content ?? "";

// htmx sends the token as a header, also for forms that were added later.
document.addEventListener("htmx:configRequest", (event) => {
  event.detail.headers["X-CSRF-Token"] = csrfToken;
});

// A search field sends its text while it is typed, and again as a change when it loses the focus:
// often because a result is being pressed, which the second answer would replace.
const lastFilters = new WeakMap();
document.addEventListener("htmx:beforeRequest", (event) => {
  const {elt: form, requestConfig: request} = event.detail;
  if (!form.matches("form.filters")) return;
  const filters = new URLSearchParams(request.formData).toString();
  const isRepeated = lastFilters.get(form) === filters;
  lastFilters.set(form, filters);
  if (isRepeated && request.triggeringEvent?.type !== "submit") event.preventDefault();
});
["htmx:sendError", "htmx:responseError"].forEach((failure) => {
  document.addEventListener(failure, (event) => lastFilters.delete(event.detail?.elt));
});

// An answer that comes while something is pressed in what it would replace is asked for again
// later, because the press would be lost. An error page is shown where the result would have been;
// a proxy that answers for a server that restarts has no page to show.
document.addEventListener("htmx:beforeSwap", (event) => {
  const {requestConfig: request, target, xhr} = event.detail;
  if (isPressed(target)) {
    event.detail.shouldSwap = false;
    lastFilters.delete(request.elt);
    whenReleased(target, () => request.elt.dispatchEvent(new Event("change")));
    return;
  }
  if (!xhr.responseText.includes(`id="${target.id}"`)) showAnswerWithoutPart(event.detail);
  const focused = focusedIn(target);
  if (!focused || !event.detail.shouldSwap) return;
  document.addEventListener("htmx:afterSettle", () => {
    restoreFocus(document.getElementById(target.id), focused);
  }, {once: true});
});

function showAnswerWithoutPart(answer) {
  answer.shouldSwap = answer.xhr.responseText.includes('<main id="main"');
  answer.selectOverride = "#main > *";
  answer.swapOverride = "innerHTML";
  lastFilters.delete(answer.requestConfig.elt); // the same filters may be sent again
  if (!answer.shouldSwap) say("The server could not answer. Try again in a moment.", "bad");
}

document.addEventListener("htmx:sendError", () => {
  say("The server does not answer. Your text is kept; try again in a moment.", "bad");
});

export function say(text, kind = "good") {
  document.querySelectorAll(".toast").forEach((shown) => { // the same again replaces it
    if (shown.firstElementChild.textContent === text) shown.remove();
  });
  const toast = document.createElement("div");
  toast.className = `toast ${kind}`;
  const message = document.createElement("p");
  message.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "quiet";
  close.textContent = "Close";
  close.addEventListener("click", () => toast.remove());
  toast.append(message, close);
  document.querySelector(".toasts").append(toast);
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;

function offerTheme(form, wanted) {
  form.elements.theme.value = wanted;
  form.querySelector("span").textContent = wanted === "dark" ? "Dark theme" : "Light theme";
}

function chooseTheme(form) {
  const wanted = form.elements.theme.value;
  document.documentElement.dataset.theme = wanted;
  document.cookie = `commonplace_theme=${wanted};path=/console;max-age=31536000;samesite=lax`;
  offerTheme(form, wanted === "dark" ? "light" : "dark");
  document.dispatchEvent(new CustomEvent("theme", {detail: wanted}));
}

document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-theme-form]")) {
    event.preventDefault();
    chooseTheme(event.target);
  }
});

document.addEventListener("click", async (event) => {
  const target = event.target.closest("[data-close-toast], [data-copy], [data-dialog], [data-cancel]");
  if (!target) return;
  if (target.matches("[data-close-toast]")) target.closest(".toast").remove();
  if (target.matches("[data-copy]")) {
    const named = target.dataset.copy && document.getElementById(target.dataset.copy);
    const source = named || target.parentElement.querySelector("pre");
    const isCopied = await copy("value" in source ? source.value : source.textContent);
    if (isCopied) say("Copied.");
    else say("The browser did not allow to copy. Select the text and press Ctrl+C.", "bad");
  }
  if (target.matches("[data-dialog]")) document.getElementById(target.dataset.dialog).showModal();
});

// Browsers have the clipboard only on https and localhost; the older command works everywhere.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const focused = document.activeElement;
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    focused?.focus({preventScroll: true});
    return isCopied;
  }
}

function selectAll(all) {
  const boxes = all.closest("table").querySelectorAll("tbody input[type=checkbox]");
  boxes.forEach((box) => { box.checked = all.checked; });
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-select-all]")) selectAll(event.target);
});

function openModals(within) {
  within.querySelectorAll("dialog[open][data-modal]").forEach((dialog) => {
    dialog.removeAttribute("open"); // closing it would send an event
    dialog.showModal();
    dialog.addEventListener("close", () => dialog.querySelector("[data-cancel]")?.click());
  });
}

document.addEventListener("signed-out", () => {
  say("You are signed out. Reload the page to sign in again; your text is kept.", "warn");
});

function enhance(within) {
  openModals(within);
  startDrafts(within);
  startEditors(within);
  startLive(within);
}

// What a person typed or chose before htmx and this script listened has its effect now.
function catchUp() {
  if (isFreshPage()) document.querySelectorAll("[data-select-all]:checked").forEach(selectAll);
  document.querySelectorAll("form[hx-get]").forEach((form) => {
    if (wasTouched(form)) form.dispatchEvent(new Event("change"));
  });
}

// On a narrow screen the navigation is a row that scrolls.
function showPlaceInNavigation() {
  const here = document.querySelector(".side nav [aria-current]");
  const row = here?.closest("nav");
  if (row) row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}

document.addEventListener("htmx:afterSettle", (event) => enhance(event.detail.elt));
document.addEventListener("DOMContentLoaded", catchUp); // htmx was there first
if (!document.documentElement.dataset.theme && prefersDark) {
  document.querySelectorAll("[data-theme-form]").forEach((form) => offerTheme(form, "light"));
}
showPlaceInNavigation();
startPalette();
enhance(document);
