// Keys. Single ones can be switched off (WCAG 2.1.4), and do nothing while someone types.
const hasSingle = document.body.dataset.singleKeys !== "off";
const help = document.getElementById("keys");

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  if (event.ctrlKey || event.metaKey) {
    if (event.key.toLowerCase() === "s") save(event);
    return;
  }
  if (!hasSingle || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]"))
    return;
  const action = single[event.key];
  if (action && action() !== false) event.preventDefault();
});

const single = {
  "?": () => help.showModal(),
  "/": () => document.getElementById("q")?.focus() ?? document.getElementById("q") !== null,
  n: () => location.assign("/admin/posts/new"),
  j: () => move(1),
  k: () => move(-1),
  x: () => select(),
  a: () => press("a"),
  d: () => press("d"),
  r: () => press("r"),
  s: () => press("s"),
  w: () => press("w"),
};

const ROW = "#list tbody tr, #list .queue > li";

function isTyping(element) {
  return element.matches("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
}

function save(event) {
  const form = document.querySelector("form[data-saves]");
  if (!form) return;
  event.preventDefault();
  form.requestSubmit(form.querySelector("button[value=save]") ?? undefined);
}

function rows() {
  return [...document.querySelectorAll(ROW)];
}

// The row that has the focus; in a queue there is always one.
function current() {
  return document.activeElement?.closest(ROW) ?? document.querySelector("#list .queue > [data-current]");
}

function move(step) {
  const all = rows();
  const here = current();
  const at = here ? all.indexOf(here) + step : 0;
  const row = all[Math.min(Math.max(at, 0), all.length - 1)];
  row?.querySelector("a").focus();
  row?.dispatchEvent(new CustomEvent("row", { bubbles: true }));
}

function select() {
  current()?.querySelector("input[type=checkbox]")?.click();
}

// The button or link of this key: for what is selected, otherwise for the current row.
function press(key) {
  const hasSelected = document.querySelector("#list [data-selected]");
  const place = hasSelected ? document.querySelector("#list .bulk") : current();
  const button = place?.querySelector(`[data-key="${key}"]`);
  button?.click();
  return button != null;
}
