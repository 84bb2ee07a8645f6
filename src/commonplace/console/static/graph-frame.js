// Draws a Mermaid text that the page sends. Runs in a sandboxed frame: it has no access to the
// page, to cookies or to the network.
const CONFIG = {
  startOnLoad: false,
  securityLevel: "strict",
  htmlLabels: false,
  flowchart: {
    htmlLabels: false, useMaxWidth: false, wrappingWidth: 400, nodeSpacing: 18, rankSpacing: 70,
  },
  maxTextSize: 5_000_000,
  maxEdges: 5000,
  suppressErrorRendering: true,
};
const STEP = 1.25;
const LEAST_READABLE = 0.6;
const SPACE = 60; // for the buttons and a scroll bar
const target = document.getElementById("graph");
let drawings = 0;
let scale = 1;
let size = {width: 0, height: 0};

function zoom(wanted) {
  scale = Math.min(4, Math.max(0.02, wanted));
  const svg = target.querySelector("svg");
  svg?.setAttribute("width", size.width * scale);
  svg?.setAttribute("height", size.height * scale);
}

function fitting() {
  return Math.min(1, (target.clientWidth - 16) / size.width);
}

async function draw(text, theme) {
  const api = window.mermaid?.default ?? window.mermaid;
  document.documentElement.dataset.theme = theme;
  try {
    api.initialize({...CONFIG, theme: theme === "dark" ? "dark" : "neutral"});
    const drawn = await api.render(`graph${drawings++}`, text);
    target.innerHTML = drawn.svg;
    const svg = target.querySelector("svg");
    size = {width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height};
    zoom(Math.max(LEAST_READABLE, fitting()));
    target.querySelector(".node")?.scrollIntoView({inline: "center", block: "nearest"});
    parent.postMessage({drawn: true, height: Math.ceil(size.height * scale) + SPACE}, "*");
  } catch (error) {
    parent.postMessage({problem: String(error?.message ?? error)}, "*");
  }
}

window.addEventListener("message", (event) => {
  if (event.source !== window.parent || typeof event.data?.mermaid !== "string") return;
  draw(event.data.mermaid, event.data.theme);
});

// The id of a node's element is made of the drawing's id, its kind, its name and a number.
target.addEventListener("click", (event) => {
  const name = event.target.closest(".node")?.id.match(/flowchart-(.+)-\d+$/)?.[1];
  if (name) parent.postMessage({node: name}, "*");
});

document.getElementById("tools").addEventListener("click", (event) => {
  const wanted = event.target.dataset.zoom;
  if (wanted === "smaller") zoom(scale / STEP);
  if (wanted === "larger") zoom(scale * STEP);
  if (wanted === "fit") zoom(fitting());
});
parent.postMessage({ready: true}, "*");
