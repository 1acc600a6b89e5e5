// Small things of every page: the switch of light and dark, buttons that say that they work,
// counters of characters, addresses with what is typed, messages that go by themselves, and copying.
for (const each of document.querySelectorAll("[data-theme-switch]")) {
  each.addEventListener("click", () => {
    const isDark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    each.value = isDark ? "light" : "dark";
  });
}

// After the submit itself, so that the button's value is sent along.
document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button?.dataset.busy) return;
  if (button.getAttribute("aria-disabled") === "true") {
    event.preventDefault();
    return;
  }
  // Its words, not the icon before them nor what only screen readers get after them.
  const words = [...button.childNodes].find((each) => each.nodeType === Node.TEXT_NODE && each.textContent.trim());
  const said = words.textContent;
  button.setAttribute("aria-disabled", "true");
  words.textContent = button.dataset.busy;
  // A page that is shown again, by the way back, is ready again.
  addEventListener("pageshow", () => {
    button.removeAttribute("aria-disabled");
    words.textContent = said;
  }, { once: true });
});

function countCharacters({ target: field }) {
  const count = field.id && document.querySelector(`[data-count-of="${CSS.escape(field.id)}"]`);
  if (!count) return;
  const max = Number(count.dataset.max);
  const length = [...field.value].length;
  count.textContent = length > max ? `${length}/${max}, ${count.dataset.tooMany.replace("{}", String(length - max))}` : `${length}/${max}`;
  count.classList.toggle("bad", length > max);
}
document.addEventListener("input", countCharacters);
// The editor has put back what was typed before.
document.addEventListener("restored", countCharacters, true);

// A colour can be picked as well as typed.
for (const each of document.querySelectorAll("[data-color-of]")) {
  const field = document.getElementById(each.dataset.colorOf);
  const show = () => {
    if (/^#[0-9a-f]{6}$/i.test(field.value)) each.value = field.value;
  };
  each.hidden = false;
  show();
  field.addEventListener("input", show);
  each.addEventListener("input", () => {
    field.value = each.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// An address has what is typed as a part of it.
for (const each of document.querySelectorAll("[data-typed-in]")) {
  const field = document.getElementById(each.dataset.typedIn);
  const untyped = each.textContent;
  const show = () => {
    each.textContent = field.value.trim() || untyped;
  };
  field?.addEventListener("input", show);
  if (field) show();
}

customElements.define("mh-toast", class extends HTMLElement {
  connectedCallback() {
    setTimeout(() => this.remove(), 8000);
  }
});

customElements.define("mh-copy", class extends HTMLElement {
  connectedCallback() {
    this.hidden = false;
    // No role of its own: a status would not be part of the button's name.
    const said = this.querySelector("[aria-live]");
    this.querySelector("button").addEventListener("click", async () => {
      const text = this.dataset.text ?? this.parentElement.querySelector("pre, [data-copied]").textContent;
      await navigator.clipboard.writeText(text);
      said.textContent = document.body.dataset.copied;
    });
  }
});

for (const each of document.querySelectorAll("[data-opens]")) {
  each.hidden = false;
  each.addEventListener("click", () => document.getElementById(each.dataset.opens).showModal());
}

// On a phone the filters wait behind their button. Without script they are open.
if (matchMedia("(max-width: 48rem)").matches)
  for (const each of document.querySelectorAll(".filter-sheet")) each.open = false;

// On a phone the links of the settings are a row that scrolls: the current one is in view.
for (const place of document.querySelectorAll(".subnav [aria-current], .tabs [aria-current]"))
  place.scrollIntoView({ block: "nearest", inline: "nearest" });

// In a window of little height the links of the frame scroll, too.
const links = document.querySelector(".side nav");
const current = links?.querySelector("[aria-current]");
if (current && current.offsetTop + current.offsetHeight > links.offsetTop + links.clientHeight)
  links.scrollTop = current.offsetTop - links.offsetTop - links.clientHeight / 2;

document.getElementById("problems")?.focus();
for (const each of document.querySelectorAll("textarea.page-title")) {
  // A title has no line breaks: Enter goes to the text.
  each.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    document.getElementById("content_html")?.focus();
  });
}
