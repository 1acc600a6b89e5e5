// `<mh-tags>`: a field of tags, separated by commas, as chips with a combobox. The field itself stays
// in the form and is what is sent; the chips show it.
const MOST_OPTIONS = 8;
const PAUSE_MS = 200;

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

customElements.define("mh-tags", class extends HTMLElement {
  connectedCallback() {
    if (this.input) return;
    this.field = this.querySelector("input");
    this.known = JSON.parse(this.dataset.known || "[]");
    const { id } = this.field;
    this.input = make("input", {
      id, type: "text", role: "combobox", autocomplete: "off", "aria-expanded": "false",
      "aria-controls": `${id}-options`, "aria-autocomplete": "list", placeholder: this.dataset.add, enterkeyhint: "enter",
    });
    for (const name of ["aria-describedby", "aria-invalid"]) {
      if (this.field.hasAttribute(name)) this.input.setAttribute(name, this.field.getAttribute(name));
    }
    this.list = make("ul", { class: "menu chip-options", id: `${id}-options`, role: "listbox", "aria-label": this.dataset.label });
    this.said = make("span", { class: "vh", role: "status" });
    this.box = make("div", { class: "chips" }, this.input);
    this.field.id = `${id}-value`;
    this.field.hidden = true;
    this.list.hidden = true;
    this.append(this.box, this.list, this.said);
    const help = document.getElementById(`${id}-help`);
    if (help) help.textContent = this.dataset.help;
    this.listen();
    this.show();
  }

  listen() {
    this.input.addEventListener("input", (event) => {
      // Its own changes are none of the form: only whole tags are.
      event.stopPropagation();
      if (this.input.value.includes(",")) this.add(...this.input.value.split(","));
      this.suggest();
      clearTimeout(this.asking);
      this.asking = setTimeout(() => this.ask(), PAUSE_MS);
    });
    this.input.addEventListener("change", (event) => event.stopPropagation());
    this.input.addEventListener("keydown", (event) => this.pressed(event));
    this.input.addEventListener("focus", () => this.suggest());
    this.input.addEventListener("blur", () => {
      this.close();
      this.add(this.input.value);
    });
    // Before the field loses the focus.
    this.list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const option = event.target.closest("[role=option]");
      if (option) this.choose(option);
    });
    this.box.addEventListener("click", (event) => {
      if (event.target === this.box) this.input.focus();
    });
    // The editor has restored what was typed before.
    this.field.addEventListener("restored", () => this.show());
  }

  get tags() {
    return this.field.value.split(",").map((each) => each.trim()).filter(Boolean);
  }

  set tags(tags) {
    this.field.value = [...new Set(tags)].join(", ");
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    this.show();
  }

  show() {
    for (const each of this.box.querySelectorAll(".chip")) each.remove();
    for (const tag of this.tags) {
      const remove = make("button", { type: "button", "aria-label": this.dataset.remove.replace("{}", tag) });
      const cross = /** @type {HTMLTemplateElement} */ (this.getElementsByTagName("template")[0]);
      remove.append(cross.content.cloneNode(true));
      remove.addEventListener("click", () => this.without(tag));
      this.input.before(make("span", { class: "chip" }, tag, remove));
    }
    this.input.placeholder = this.tags.length ? "" : this.dataset.add;
  }

  add(...given) {
    this.input.value = "";
    const had = this.tags;
    const found = given.map((each) => each.trim().replace(/\s+/g, " ")).filter(Boolean);
    // As the site writes it already, whatever the case typed.
    const named = found.map((each) => this.known.find((known) => known.toLowerCase() === each.toLowerCase()) ?? each);
    const fresh = named.filter((each) => !had.includes(each));
    if (!fresh.length) return;
    this.tags = [...had, ...fresh];
    const tags = new Intl.ListFormat(document.documentElement.lang).format(fresh);
    this.said.textContent = this.dataset.added.replace("{}", tags);
  }

  without(tag) {
    this.tags = this.tags.filter((each) => each !== tag);
    this.said.textContent = this.dataset.removed.replace("{}", tag);
    this.input.focus();
  }

  // Where the site has more tags than the page: those that begin as what was typed.
  async ask() {
    const typed = this.input.value.trim();
    if (!typed || !this.dataset.suggestions) return;
    const address = `${this.dataset.suggestions}?tag=${encodeURIComponent(typed)}`;
    const answer = await fetch(address, { headers: { "HX-Request": "true" } }).catch(() => null);
    if (!answer?.ok) return;
    const found = new DOMParser().parseFromString(await answer.text(), "text/html").querySelectorAll("option");
    this.known = [...new Set([...this.known, ...[...found].map((each) => each.value)])];
    if (this.input.value.trim() === typed && document.activeElement === this.input) this.suggest(this.marked?.textContent);
  }

  get marked() {
    return this.list.querySelector("[aria-selected=true]");
  }

  // `kept` stays marked: the answer may come while someone moves through the suggestions.
  suggest(kept = "") {
    const typed = this.input.value.trim().toLowerCase();
    const had = this.tags;
    const free = this.known.filter((each) => !had.includes(each) && each.toLowerCase().includes(typed));
    // Those that begin with it come first; both parts are in the order of their use.
    const found = [...free.filter((each) => each.toLowerCase().startsWith(typed)), ...free.filter((each) => !each.toLowerCase().startsWith(typed))];
    this.list.replaceChildren(...found.slice(0, MOST_OPTIONS).map((tag, at) =>
      make("li", { class: "opt", role: "option", id: `${this.input.id}-option-${at}`, "aria-selected": "false" }, tag)));
    const isOpen = found.length > 0 && (typed !== "" || document.activeElement === this.input);
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
    this.mark([...this.list.children].find((each) => kept && each.textContent === kept));
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.mark(null);
  }

  mark(option) {
    for (const each of this.list.children) {
      each.setAttribute("aria-selected", String(each === option));
      each.classList.toggle("is-hover", each === option);
    }
    if (option) this.input.setAttribute("aria-activedescendant", option.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  choose(option) {
    this.add(option.textContent);
    this.input.focus();
    this.suggest();
  }

  pressed(event) {
    const options = this.list.hidden ? [] : [...this.list.children];
    const at = options.findIndex((each) => each.getAttribute("aria-selected") === "true");
    const { key } = event;
    if (event.isComposing) return;
    if (key === "Enter") {
      // Not the form: a tag is added.
      event.preventDefault();
      if (at >= 0) this.choose(options[at]);
      else this.add(this.input.value);
      this.suggest();
    } else if (key === "Backspace" && !this.input.value && this.tags.length) {
      this.without(this.tags.at(-1));
      this.suggest();
    } else if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (!options.length) this.suggest();
      else this.mark(options[(at + (key === "ArrowDown" ? 1 : at < 0 ? 0 : -1) + options.length) % options.length]);
    } else if (key === "Escape" && options.length) {
      event.preventDefault();
      event.stopPropagation();
      this.close();
    }
  }
});
