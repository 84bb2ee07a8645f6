// Replace a part of the page while a person may be using it: what did not change stays the same
// element, with its focus, scroll position and selection, and nothing moves under a pressed button.

let pressed = null;
const waiting = new Map(); // what to do when a part is free, by part

function release() {
  setTimeout(() => { pressed = null; resume(); }); // after the click that belongs to it
}

document.addEventListener("pointerdown", (event) => { pressed = event.target; }, true);
["pointerup", "pointercancel", "dragend", "contextmenu"].forEach((name) => {
  document.addEventListener(name, release, true);
});
window.addEventListener("blur", release); // the button may be released in another window

export function isPressed(part) {
  return pressed !== null && part.contains(pressed);
}

// Whether the pointer is on something to press, or text of the part is selected to be copied.
const canHover = matchMedia("(hover: hover)").matches;
function isPointedAt(part) {
  if (canHover && part.querySelector(":is(a, button, summary):hover")) return true;
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(part, true);
}

function resume() {
  for (const [part, {isBusy, act}] of [...waiting]) {
    if (part.isConnected && isBusy(part)) continue;
    waiting.delete(part);
    if (part.isConnected) act();
  }
}
["pointerover", "pointerout", "selectionchange"].forEach((name) => {
  document.addEventListener(name, (event) => {
    if (event.buttons === 0) pressed = null; // it was released in a frame or a menu
    if (waiting.size) setTimeout(resume);
  });
});

function wait(part, isBusy, act) {
  waiting.set(part, {isBusy, act}); // the newest content counts
  resume();
}

// Act when no button is pressed in a part.
export function whenReleased(part, act) {
  wait(part, isPressed, act);
}

// Act when nobody points at a link of a part either: it would move away from the pointer.
export function whenUnused(part, act) {
  wait(part, (used) => isPressed(used) || isPointedAt(used), act);
}

function isSpace(node) {
  return node?.nodeType === Node.TEXT_NODE && !node.data.trim();
}

function keyOf(node) {
  return node.outerHTML ?? `${node.nodeType} ${node.data}`;
}

function changeAttributes(old, fresh) {
  for (const {name} of [...old.attributes]) {
    const isOpened = name === "open" && old.nodeName === "DETAILS"; // by the person
    if (!fresh.hasAttribute(name) && !isOpened) old.removeAttribute(name);
  }
  for (const {name, value} of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function changeNode(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return undefined; }
  changeAttributes(old, fresh);
  return changeChildren(old, fresh);
}

// Turn the children of an element into those of another. Equal children stay, also if others
// were inserted or removed before them.
function changeChildren(part, source) {
  const old = [...part.childNodes];
  const fresh = [...source.childNodes];
  const [keys, freshKeys] = [old.map(keyOf), fresh.map(keyOf)];
  const places = new Map(); // of equal old children
  keys.forEach((key, place) => places.set(key, places.get(key) ?? []).get(key).push(place));
  const last = new Map(freshKeys.map((key, index) => [key, index]));
  let place = 0; // the next old child
  fresh.forEach((node, index) => {
    const here = old[place];
    const equal = isSpace(node) ? undefined : places.get(freshKeys[index])?.find((at) => at >= place);
    if (equal !== undefined) {
      while (place < equal) old[place++].remove();
      place += 1;
    } else if (here && isReplaced(here, node, last.get(keys[place]) > index)) {
      changeNode(here, node);
      place += 1;
    } else {
      part.insertBefore(node, here ?? null);
    }
  });
  while (place < old.length) old[place++].remove();
}

function isReplaced(old, fresh, isWantedLater) {
  return isSpace(old) ? isSpace(fresh) : !isSpace(fresh) && !isWantedLater;
}

export function changeContent(part, html) {
  const fresh = part.cloneNode(false);
  fresh.innerHTML = html;
  changeChildren(part, fresh);
}

const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";

function describe(element) {
  const isText = element.matches("input:not([type=checkbox], [type=radio]), textarea, select");
  const names = ["id", "href", "name", "aria-label", ...(isText ? [] : ["value"])];
  const texts = names.map((name) => element.getAttribute(name) ?? "");
  return [element.nodeName, ...texts, element.matches("a, button") ? element.textContent : ""].join();
}

// Describe the focused element of a part, for `restoreFocus` after the part was replaced.
export function focusedIn(part) {
  const element = document.activeElement;
  if (!part.contains(element)) return null;
  const {selectionStart: start = null, selectionEnd: end} = element;
  return {description: describe(element), text: element.value, start, end};
}

export function restoreFocus(part, focused) {
  const isLost = document.activeElement === null || document.activeElement === document.body;
  if (!part || !focused || !isLost) return;
  const same = [...part.querySelectorAll(FOCUSABLE)].find(
    (element) => describe(element) === focused.description);
  same?.focus({preventScroll: true});
  if (focused.start !== null && same?.value === focused.text) {
    same.setSelectionRange(focused.start, focused.end);
  }
}
