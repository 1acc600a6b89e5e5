// The preview of the design follows the form. Each time in a new frame: what a frame has shown before
// would be a step of the browser's way back.
const form = document.forms.namedItem("design-form");
const show = form.querySelector("[data-preview]");
let waiting = 0;

function follow() {
  const frame = document.querySelector("iframe[name=design-preview]");
  const next = /** @type {HTMLIFrameElement} */ (frame.cloneNode());
  next.removeAttribute("src");
  frame.replaceWith(next);
  form.requestSubmit(show);
}

form.addEventListener("input", later);
for (const each of document.querySelectorAll("[name=shown]")) each.addEventListener("change", later);

function later() {
  clearTimeout(waiting);
  waiting = setTimeout(follow, 400);
}
