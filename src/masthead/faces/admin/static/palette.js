// The command palette: a dialog with a combobox. The server finds, this shows and moves.
const dialog = document.getElementById("palette");
const input = document.getElementById("palette-input");
const list = document.getElementById("palette-list");
let asking = null;
let hasMoved = false;
let opensFirst = false;

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
  if (document.querySelector("dialog[open]")) return;
  input.value = "";
  dialog.showModal();
  search();
}

async function search() {
  asking?.abort();
  const mine = (asking = new AbortController());
  hasMoved = opensFirst = false;
  const address = `/admin/palette?q=${encodeURIComponent(input.value)}`;
  const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal: mine.signal }).catch(() => null);
  const found = answer?.ok ? await answer.text().catch(() => "") : "";
  // The newest question alone is answered.
  if (mine !== asking) return;
  asking = null;
  const elsewhere = answer?.headers.get("HX-Redirect");
  if (elsewhere) return void location.assign(elsewhere);
  // Someone who has moved meanwhile keeps what is marked.
  const marked = hasMoved ? chosen()?.href : null;
  if (found) list.innerHTML = found;
  choose(options().find((each) => each.href === marked) ?? options()[0]);
  if (opensFirst && found) chosen()?.click();
}

function chosen() {
  return options().find((each) => each.getAttribute("aria-selected") === "true");
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

function move(option) {
  hasMoved = true;
  choose(option);
}

input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  const all = options();
  const at = all.indexOf(chosen());
  if (event.key === "ArrowDown") move(all[(at + 1) % all.length]);
  else if (event.key === "ArrowUp") move(all[(at - 1 + all.length) % all.length]);
  else if (event.key !== "Enter") return;
  // What is listed is not yet what was typed.
  else if (asking && !hasMoved) opensFirst = true;
  else chosen()?.click();
  event.preventDefault();
});
dialog.addEventListener("close", () => {
  asking?.abort();
  asking = null;
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
