// Parts of a page that are replaced while someone is in them: by a search whose answer is late, by
// another order, by a part that asks again every few seconds. The focus and the ticks of a list stay
// at the same things.
let place = null;

document.addEventListener("htmx:before:swap", () => (place = remember()));
document.addEventListener("htmx:after:swap", () => restore(place));
document.addEventListener("mh-replace", ({ detail: replace }) => {
  const before = remember();
  replace();
  restore(before);
});

function remember() {
  const here = document.activeElement;
  const text = here === document.body ? "" : here.textContent.trim();
  return { here, text, key: keyOf(here), ticked: ticks().map((each) => each.name) };
}

// What stays the same about a link, a box or a button when the server sends it again.
function keyOf(element) {
  // The address of a record may carry the way back to the list, which changes with the list.
  if (element.pathname) return element.pathname === location.pathname ? element.href : element.pathname + element.hash;
  if (!element.name) return "";
  // A button of a row says by the other fields of its form which row that is.
  const fields = element.type === "submit" && element.form ? [...new FormData(element.form)] : [];
  const others = fields.filter(([name]) => name !== "form_token").map((each) => each.join("="));
  return [element.name, element.value, ...others].join("&");
}

function ticks() {
  return [...document.querySelectorAll("form.selection input[name^='select.']:checked")];
}

function restore(before) {
  if (!before) return;
  place = null;
  tickAgain(before.ticked);
  if (before.here.isConnected || document.activeElement !== document.body) return;
  const all = [...document.querySelectorAll(`main ${before.here.localName}`)];
  // The head of a column and the way to the next page lead elsewhere afterwards.
  const isSame = (each) => before.key && keyOf(each) === before.key;
  const isLike = (each) => each.closest("thead, nav") && each.textContent.trim() === before.text;
  const found = all.find(isSame) ?? all.find(isLike) ?? document.getElementById("q");
  found?.focus({ preventScroll: true });
}

function tickAgain(names) {
  for (const name of names) {
    const box = document.querySelector(`form.selection input[name="${CSS.escape(name)}"]`);
    if (!box || box.checked) continue;
    box.checked = true;
    box.dispatchEvent(new Event("change", { bubbles: true }));
  }
}
