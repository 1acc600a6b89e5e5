// The queue of comments: one is the current one, and beside the queue stands what its author wrote
// before.
const DELAY = 150;
let asked = 0;

// By the keys that move. Tab alone moves nothing: what it has not reached yet must stay.
document.addEventListener("row", (event) => {
  const target = /** @type {Control} */ (event.target);
  const item = target.closest(".queue > li");
  if (item) choose(item);
});
document.addEventListener("click", (event) => {
  const target = /** @type {Control} */ (event.target);
  const item = target.closest(".queue > li");
  if (item && !target.closest("a, button")) choose(item);
});

function choose(item) {
  if (item.hasAttribute("data-current")) return;
  for (const each of item.parentElement.children) each.toggleAttribute("data-current", each === item);
  const turn = ++asked;
  setTimeout(() => turn === asked && show(item.dataset.about, turn), DELAY);
}

async function show(address, turn) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  const text = answer.ok && !answer.headers.get("HX-Redirect") ? await answer.text() : "";
  const about = document.getElementById("about");
  if (!text || !about || turn !== asked) return;
  document.dispatchEvent(new CustomEvent("mh-replace", { detail: () => (about.outerHTML = text) }));
}

// After a decision the page opens at the next comment.
if (new URLSearchParams(location.search).has("current"))
  document.querySelector(".queue > [data-current] a")?.focus();
