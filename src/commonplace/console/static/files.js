// Files: folders of the tree open in place, and files can be dropped onto the upload form.
function toggleOf(link) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "toggle";
  button.setAttribute("aria-expanded", String("open" in link.dataset));
  button.setAttribute("aria-label", `Entries of ${link.textContent.trim()}`);
  button.addEventListener("click", () => toggle(link, button));
  return button;
}

async function toggle(link, button) {
  const isOpen = button.getAttribute("aria-expanded") === "true";
  let list = link.parentElement.querySelector(":scope > ul");
  if (button.hasAttribute("aria-busy")) return; // pressed again before the entries came
  if (!isOpen && !list) {
    button.setAttribute("aria-busy", "true");
    const answer = await fetch(link.dataset.branch).catch(() => null);
    if (!answer) { // the server restarts: the button can be pressed again
      button.removeAttribute("aria-busy");
      document.dispatchEvent(new CustomEvent("htmx:sendError"));
      return undefined;
    }
    if (answer.redirected || !answer.ok) return location.assign(link.href);
    const made = new DOMParser().parseFromString(await answer.text(), "text/html");
    list = made.querySelector("ul");
    if (!list) return location.assign(link.href);
    link.parentElement.append(list);
    addToggles(list);
    button.removeAttribute("aria-busy");
  }
  list.hidden = isOpen;
  button.setAttribute("aria-expanded", String(!isOpen));
  return undefined;
}

function addToggles(within) {
  within.querySelectorAll("a[data-branch]:not([data-toggled])").forEach((link) => {
    link.dataset.toggled = "true";
    link.before(toggleOf(link));
  });
}

function acceptDrops(zone) {
  const input = zone.querySelector("input[type=file]");
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", {bubbles: true}));
  });
}

function scrollTreeToHere() {
  const here = document.querySelector(".tree [aria-current]");
  const tree = here?.closest(".tree");
  if (tree) tree.scrollTop = here.offsetTop - tree.offsetTop - tree.clientHeight / 2;
}

document.addEventListener("htmx:afterSettle", (event) => addToggles(event.detail.elt));
addToggles(document);
scrollTreeToHere();
document.querySelectorAll("[data-drop]").forEach(acceptDrops);
