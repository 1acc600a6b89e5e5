// The command palette: a dialog with a combobox. The server finds, this shows and moves.
const dialog = document.getElementById("palette");
const input = document.getElementById("palette-input");
const list = document.getElementById("palette-list");
let asked = 0;

for (const each of document.querySelectorAll("[data-palette]")) {
  each.hidden = false;
  each.addEventListener("click", open);
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    open();
  }
});

function open() {
  if (dialog.open) return;
  input.value = "";
  dialog.showModal();
  search();
}

async function search() {
  const turn = ++asked;
  const address = `/admin/palette?q=${encodeURIComponent(input.value)}`;
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  // An answer that comes after a later one is old.
  if (turn !== asked) return;
  const elsewhere = answer.headers.get("HX-Redirect");
  if (elsewhere) location.assign(elsewhere);
  else if (answer.ok) list.innerHTML = await answer.text();
  choose(options()[0]);
}

function options() {
  return [...list.querySelectorAll("[role=option]")];
}

function choose(option) {
  for (const each of options()) {
    each.setAttribute("aria-selected", String(each === option));
    each.classList.toggle("is-hover", each === option);
  }
  if (option) {
    input.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  } else {
    input.removeAttribute("aria-activedescendant");
  }
}

input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  const all = options();
  const at = all.findIndex((each) => each.getAttribute("aria-selected") === "true");
  if (event.key === "ArrowDown") choose(all[(at + 1) % all.length]);
  else if (event.key === "ArrowUp") choose(all[(at - 1 + all.length) % all.length]);
  else if (event.key === "Enter") all[at]?.click();
  else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
