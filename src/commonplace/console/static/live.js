// Live parts: <div data-live="ADDRESS"> listens to server-sent events. The name of an event is the
// id of the element whose content it replaces; the HTML was rendered and escaped by the server.
import {changeContent, whenUnused} from "./replace.js";

const RETRY_MILLISECONDS = 2000;
let isTold = false;

// Somebody may be typing, so the page stays; what was typed is kept as a draft anyway.
function tellSignedOut() {
  if (isTold) return;
  isTold = true;
  document.dispatchEvent(new CustomEvent("signed-out"));
}

async function isSignedOut(address) {
  try {
    const answer = await fetch(address, {headers: {Accept: "text/event-stream"}, method: "HEAD"});
    return answer.status === 401;
  } catch {
    return false; // the server does not answer: try again later
  }
}

function listen(root) {
  let source = null;
  let retry = 0;
  let isAgain = false;
  const open = () => {
    if (source || document.hidden || !root.isConnected) return;
    const address = new URL(root.dataset.live, location.href);
    if (isAgain) address.searchParams.set("again", "1"); // a part may have been replaced before
    isAgain = true;
    source = new EventSource(address);
    source.addEventListener("open", () => root.removeAttribute("data-offline"));
    root.querySelectorAll("[data-live-part]").forEach((part) => {
      source.addEventListener(part.id, (event) => {
        if (root.isConnected) whenUnused(part, () => changeContent(part, event.data)); else close();
      });
    });
    source.addEventListener("signed-out", () => { close(); tellSignedOut(); });
    source.addEventListener("error", async () => {
      root.dataset.offline = "true";
      if (source?.readyState !== EventSource.CLOSED) return; // the browser connects again
      close();
      if (await isSignedOut(root.dataset.live)) return tellSignedOut();
      clearTimeout(retry);
      retry = setTimeout(open, RETRY_MILLISECONDS);
    });
  };
  const close = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  // A part of the page that htmx replaced must not keep its connection: browsers have few.
  document.addEventListener("htmx:afterSettle", () => { if (!root.isConnected) close(); });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}

export function startLive(within) {
  const found = [within, ...within.querySelectorAll("[data-live]")];
  found.filter((root) => root.matches?.("[data-live]:not([data-listening])")).forEach((root) => {
    root.dataset.listening = "true";
    listen(root);
  });
}
