// The rows that are selected in a list: how many, all of them at once, and the wash behind them.
document.addEventListener("change", (event) => {
  const target = /** @type {Control} */ (event.target);
  const form = target.closest("form.selection");
  if (!form) return;
  if (target.matches("[data-select-all]"))
    for (const each of boxes(form)) each.checked = target.checked;
  show(form);
});
// After the reset itself.
document.addEventListener("reset", (event) => {
  const form = /** @type {Control} */ (event.target);
  if (form.matches("form.selection")) setTimeout(() => show(form));
});
// A browser that goes back keeps the ticks of before.
addEventListener("pageshow", () => document.querySelectorAll("form.selection").forEach(show));

function boxes(form) {
  return [...form.querySelectorAll("input[name^='select.']")];
}

function show(form) {
  const all = boxes(form);
  const ticked = all.filter((each) => each.checked);
  for (const each of all) each.closest("tr, li").toggleAttribute("data-selected", each.checked);
  const head = form.querySelector("[data-select-all]");
  if (!head) return; // A list that its reader can't change.
  head.checked = ticked.length === all.length;
  head.indeterminate = ticked.length > 0 && ticked.length < all.length;
  form.querySelector("[data-selected-count]").textContent = ticked.length;
}
