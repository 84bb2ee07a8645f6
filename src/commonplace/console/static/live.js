// Live parts: <div data-live="ADDRESS"> listens to server-sent events. The name of an event is the
// id of the element whose content it replaces; the HTML was rendered and escaped by the server.
const RETRY_MILLISECONDS = 2000;

function listen(root) {
  let source = null;
  let retry = 0;
  const open = () => {
    if (source || document.hidden || !root.isConnected) return;
    source = new EventSource(root.dataset.live);
    source.addEventListener("open", () => root.removeAttribute("data-offline"));
    root.querySelectorAll("[data-live-part]").forEach((part) => {
      source.addEventListener(part.id, (event) => { part.innerHTML = event.data; });
    });
    source.addEventListener("signed-out", () => { location.reload(); });
    source.addEventListener("error", () => {
      root.dataset.offline = "true";
      if (source?.readyState !== EventSource.CLOSED) return; // the browser connects again
      close();
      clearTimeout(retry);
      retry = setTimeout(open, RETRY_MILLISECONDS);
    });
  };
  const close = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
}

export function startLive(within) {
  within.querySelectorAll("[data-live]:not([data-listening])").forEach((root) => {
    root.dataset.listening = "true";
    listen(root);
  });
}
