// Small comforts of the API reference. Without this script the page is whole all the same.
"use strict";

const contents = document.querySelector(".contents");
const links = [...contents.querySelectorAll("li a")];
const narrow = window.matchMedia("(max-width: 52rem)");

// On a phone the contents start folded, and fold again once something was chosen.
function fold() {
  contents.open = !narrow.matches;
}
fold();
narrow.addEventListener("change", fold);
contents.addEventListener("click", (event) => {
  if (narrow.matches && /** @type {Control} */ (event.target).closest("a")) contents.open = false;
});

const filter = contents.querySelector(".filter");
filter.hidden = false;
filter.addEventListener("input", () => {
  const wanted = filter.value.trim().toLowerCase();
  for (const link of links) {
    const text = `${link.textContent} ${link.dataset.find || ""}`.toLowerCase();
    link.parentElement.hidden = !text.includes(wanted);
  }
  for (const list of contents.querySelectorAll("h2 + ul")) {
    const heading = /** @type {Control} */ (list.previousElementSibling);
    heading.hidden = !list.querySelector("li:not([hidden])");
  }
});
document.addEventListener("keydown", (event) => {
  const isTyping = /** @type {Control} */ (event.target).matches("input, textarea");
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    contents.open = true;
    filter.focus();
  }
});

for (const figure of document.querySelectorAll("[data-copies]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(figure.querySelector("code").textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  // The clipboard is closed to pages that came over plain HTTP from elsewhere.
  if (navigator.clipboard) figure.append(button);
}

// Marks where the reader is.
const byId = new Map(links.map((link) => [link.hash.slice(1), link]));
const observer = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links) link.removeAttribute("aria-current");
      const link = byId.get(entry.target.id);
      link.setAttribute("aria-current", "true");
      if (!narrow.matches && !contents.contains(document.activeElement)) {
        link.scrollIntoView({ block: "nearest" });
      }
    }
  },
  { rootMargin: "-15% 0px -75% 0px" },
);
for (const id of byId.keys()) observer.observe(document.getElementById(id));
