// Graph island: <iframe class="graph" data-src="FRAME" data-graph="ID OF THE ELEMENT WITH THE TEXT">
// is drawn by Mermaid in a sandboxed frame. With data-graph-links="ID", a click on a node follows
// the link of that element whose data-node is the node's name.
const LEAST_HEIGHT = 160;
const MOST_HEIGHT = 2000;

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function show(frame) {
  const source = document.getElementById(frame.dataset.graph);
  const links = document.getElementById(frame.dataset.graphLinks ?? "");
  const problem = frame.parentElement.querySelector("[data-graph-problem]");
  const draw = () => frame.contentWindow?.postMessage(
    {mermaid: source.textContent, theme: isDark() ? "dark" : "light"}, "*");
  window.addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow) return;
    const message = event.data ?? {};
    if (message.ready) draw();
    if (message.drawn) {
      frame.dataset.drawn = "true";
      frame.style.height = `${Math.min(MOST_HEIGHT, Math.max(LEAST_HEIGHT, message.height))}px`;
    }
    if (typeof message.node === "string") {
      links?.querySelector(`a[data-node="${CSS.escape(message.node)}"]`)?.click();
    }
    if (problem) problem.hidden = !message.problem && !problem.textContent;
    if (message.problem && problem) {
      problem.textContent = `The graph could not be drawn: ${message.problem}`;
      problem.hidden = false;
      frame.hidden = true;
      source.hidden = false;
    }
  });
  document.addEventListener("theme", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  frame.src = frame.dataset.src;
}

document.querySelectorAll("iframe[data-graph]").forEach(show);
