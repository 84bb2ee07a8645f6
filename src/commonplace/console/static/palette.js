// Command palette: Ctrl+K opens it; results are links that the server renders.
import {changeContent, whenReleased} from "./replace.js";

const DELAY_MILLISECONDS = 120;
const LATE_MILLISECONDS = 400; // a group was late: ask again
const MAX_TRIES = 10;

export function startPalette() {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const results = dialog.querySelector(".palette-results");
  let timer = 0;
  let running = null;
  let shown = null; // the text whose results are listed

  async function find(tries = 1) {
    running?.abort();
    running = new AbortController();
    const isInFiles = location.pathname.startsWith("/console/files"); // elsewhere it is a filter
    const project = (isInFiles && new URLSearchParams(location.search).get("project")) || "";
    const wanted = new URLSearchParams({part: "1", q: input.value, project});
    const address = `/console/find?${wanted}`;
    const text = input.value;
    try {
      const answer = await fetch(address, {signal: running.signal});
      if (answer.redirected) return location.assign(answer.url);
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const html = await answer.text();
      await new Promise((resolve) => { whenReleased(results, resolve); });
      const chosen = results.querySelector("a.active")?.href;
      changeContent(results, html);
      if (shown === text) { // asked again for a late group: keep the choice
        [...results.querySelectorAll("a")].find((link) => link.href === chosen)?.classList.add("active");
      }
      shown = text;
      if (results.querySelector("[data-late]") && tries < MAX_TRIES && dialog.open) {
        timer = setTimeout(() => find(tries + 1), LATE_MILLISECONDS);
      }
    } catch (error) {
      if (error.name !== "AbortError") results.textContent = "The search failed. Try again in a moment.";
    }
  }

  function open() {
    clearTimeout(timer);
    dialog.showModal();
    input.select();
    find();
  }

  function move(step) {
    const links = [...results.querySelectorAll("a")];
    const active = links.findIndex((link) => link.classList.contains("active"));
    const next = links[Math.min(links.length - 1, Math.max(0, active + step))];
    links.forEach((link) => link.classList.toggle("active", link === next));
    next?.scrollIntoView({block: "nearest"});
  }

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (dialog.open) dialog.close(); else open();
    }
  });
  document.querySelector("[data-palette]")?.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => find(), DELAY_MILLISECONDS);
  });
  async function openFirst() {
    if (shown !== input.value) {
      clearTimeout(timer);
      await find();
      if (shown !== input.value) return; // more was typed, or the search failed
    }
    (results.querySelector("a.active") ?? results.querySelector("a"))?.click();
  }

  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.preventDefault(); dialog.close(); } // not only clear it
    if (event.key === "ArrowDown") { event.preventDefault(); move(1); }
    if (event.key === "ArrowUp") { event.preventDefault(); move(-1); }
    if (event.key === "Enter") { event.preventDefault(); openFirst(); }
  });
}
