// Graph island: <iframe class="graph" data-graph="ID OF THE ELEMENT WITH THE TEXT">.
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

document.querySelectorAll("iframe[data-graph]").forEach((frame) => {
  const source = document.getElementById(frame.dataset.graph);
  const draw = () => frame.contentWindow?.postMessage(
    {mermaid: source.textContent, theme: isDark() ? "dark" : "light"}, "*");
  window.addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow) return;
    if (event.data?.ready) draw();
    if (event.data?.drawn) {
      frame.dataset.drawn = "true";
      frame.style.height = `${Math.min(2000, Math.max(160, event.data.height))}px`;
    }
    if (event.data?.problem) frame.insertAdjacentText("afterend", event.data.problem);
  });
  document.addEventListener("theme", draw);
  frame.src = frame.dataset.src;
});
