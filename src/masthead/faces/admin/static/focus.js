// Parts of a page that are replaced while someone is in them: by a search whose answer is late, by
// another order, by a part that asks again every few seconds. The focus and the ticks of a list stay
// at the same things. A page that comes back after its form was sent has the focus where it was; one
// that a form of another page leads to (`data-leads-to`) has it on what one does next.
const PLACE = "mh-place";
let place = null;

document.addEventListener("htmx:before:swap", () => (place = remember()));
document.addEventListener("htmx:after:swap", () => restore(place));
// Somebody may go on between an answer and its place in the page.
document.addEventListener("focusin", () => place && (place = remember()));
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
  const fields = element.type === "submit" ? [...element.form.querySelectorAll("input[type=hidden]")] : [];
  const others = fields.filter(({ name }) => !["form_token", "version"].includes(name));
  return [element, ...others].map(({ name, value }) => `${name}=${value}`).join("&");
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

document.addEventListener("submit", ({ target, defaultPrevented }) => {
  const form = /** @type {Control} */ (target);
  const here = /** @type {Control} */ (document.activeElement);
  if (defaultPrevented || form.method !== "post" || !form.contains(here)) return;
  // The value of a field is nobody's business.
  const { name, value } = here.type === "submit" ? here : { name: "", value: "" };
  const found = { path: form.dataset.leadsTo ?? location.pathname, id: here.id, key: name && keyOf(here), name, value };
  // Without the browser's storage the page opens as any other.
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(found));
  } catch {}
});

function comeBack() {
  let before = null;
  try {
    before = JSON.parse(sessionStorage.getItem(PLACE));
    sessionStorage.removeItem(PLACE);
  } catch {}
  if (before?.path !== location.pathname || document.activeElement !== document.body) return;
  const buttons = [...document.querySelectorAll("button[name]")];
  const alike = buttons.filter((each) => each.name === before.name && each.value === before.value);
  const same = alike.find((each) => keyOf(each) === before.key) ?? (alike.length === 1 ? alike[0] : null);
  // A button that is gone, such as Publish: a look at the site, or what does the most on a page for writing.
  const next = [...document.querySelectorAll("[data-next], .ed-bar .btn-primary, .post-bar .btn-primary")];
  const isShown = (each) => each.getClientRects().length > 0;
  const found = (before.id ? document.getElementById(before.id) : same) ?? next.find(isShown);
  found?.focus();
}
comeBack();
