// How a search engine and another site would show the text, while its fields are typed.
const box = document.querySelector("[data-result]");
const form = box?.closest("form");

function value(name) {
  return form.querySelector(`[name="${name}"]`)?.value.trim() ?? "";
}

function set(name, text) {
  for (const each of box.querySelectorAll(`[data-result-${name}]`)) each.textContent = text;
}

function show() {
  const title = value("title") || box.dataset.untitled;
  const slug = value("slug") || box.dataset.slug;
  set("title", value("seo_title") || `${title} · ${box.dataset.site}`);
  set("shared-title", value("seo_title") || title);
  set("address", `${box.dataset.host} › ${box.dataset.place}${slug}`);
  set("description", (value("seo_description") || value("excerpt") || box.dataset.summary).slice(0, 160));
}

if (form) {
  form.addEventListener("input", show);
  form.addEventListener("restored", show, true);
}
