// Forms as the server sent them. A person may type or choose before the scripts listen, so the
// present content of a form is not what it contained at first.

export function untouched(form) {
  const copy = form.cloneNode(true);
  HTMLFormElement.prototype.reset.call(copy); // a field may be called "reset"
  return copy;
}

// Whether the page was opened, not shown again: then browsers fill in forms themselves.
export function isFreshPage() {
  return performance.getEntriesByType("navigation")[0]?.type === "navigate";
}

function textOf(form) {
  return new URLSearchParams(new FormData(form)).toString();
}

// Whether a person has changed a form since the page was opened.
export function wasTouched(form) {
  return isFreshPage() && textOf(form) !== textOf(untouched(form));
}
