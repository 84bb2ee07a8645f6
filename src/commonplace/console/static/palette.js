// Command palette: Ctrl+K opens it; results are links that the server renders.
const DELAY_MILLISECONDS = 120;

export function startPalette() {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const input = dialog.querySelector("input");
  const results = dialog.querySelector(".palette-results");
  let timer = 0;
  let running = null;

  async function find() {
    running?.abort();
    running = new AbortController();
    const project = new URLSearchParams(location.search).get("project") ?? "";
    const wanted = new URLSearchParams({part: "1", q: input.value, project});
    const address = `/console/find?${wanted}`;
    try {
      const answer = await fetch(address, {signal: running.signal});
      if (answer.redirected) return location.assign(answer.url);
      results.innerHTML = await answer.text();
    } catch (error) {
      if (error.name !== "AbortError") results.textContent = "The server does not answer.";
    }
  }

  function open() {
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
    timer = setTimeout(find, DELAY_MILLISECONDS);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.preventDefault(); dialog.close(); } // not only clear it
    if (event.key === "ArrowDown") { event.preventDefault(); move(1); }
    if (event.key === "ArrowUp") { event.preventDefault(); move(-1); }
    if (event.key === "Enter") {
      const link = results.querySelector("a.active") ?? results.querySelector("a");
      if (link) { event.preventDefault(); link.click(); }
    }
  });
}
