// Draws a Mermaid text that the page sends. Runs in a sandboxed frame: it has no access to the
// page, to cookies or to the network.
let number = 0;
window.addEventListener("message", async (event) => {
  if (event.source !== window.parent || typeof event.data?.mermaid !== "string") return;
  const {mermaid: text, theme} = event.data;
  const api = window.mermaid?.default ?? window.mermaid;
  const target = document.getElementById("graph");
  try {
    api.initialize({
      startOnLoad: false, securityLevel: "strict", theme: theme === "dark" ? "dark" : "default",
      flowchart: {htmlLabels: false}, htmlLabels: false, maxTextSize: 5_000_000, maxEdges: 5000,
    });
    const drawn = await api.render(`graph${number++}`, text);
    target.innerHTML = drawn.svg;
    const box = target.firstElementChild.getBoundingClientRect();
    parent.postMessage({drawn: true, height: Math.ceil(box.height) + 24}, "*");
  } catch (error) {
    parent.postMessage({drawn: false, problem: String(error?.message ?? error)}, "*");
  }
});
parent.postMessage({ready: true}, "*");
