// `<mh-people>`: the boxes of a list of people as a picker with a search field. The boxes stay in the
// form and are what is sent: the chosen ones are shown, others while one searches.
const MOST_SHOWN = 8;

function plain(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().trim();
}

customElements.define("mh-people", class extends HTMLElement {
  connectedCallback() {
    if (this.input) return;
    this.people = [...this.querySelectorAll(".choice")].map((row) => ({
      row, box: row.querySelector("input"), name: plain(row.textContent),
    }));
    this.input = document.createElement("input");
    const attributes = {
      type: "search", class: "input", placeholder: this.dataset.search, "aria-label": this.dataset.searchIn,
      autocomplete: "off", spellcheck: "false", enterkeyhint: "done",
    };
    for (const [name, value] of Object.entries(attributes)) this.input.setAttribute(name, value);
    this.said = document.createElement("span");
    this.said.className = "vh";
    this.said.setAttribute("role", "status");
    this.prepend(this.input, this.said);
    this.listen();
    this.show();
  }

  listen() {
    // What is typed here is no change of the text.
    this.input.addEventListener("input", (event) => {
      event.stopPropagation();
      this.show(true);
    });
    this.input.addEventListener("change", (event) => event.stopPropagation());
    this.input.addEventListener("keydown", (event) => this.press(event));
    // Not when the focus comes: Tab would have to go through everyone.
    this.input.addEventListener("click", () => this.show(true));
    this.addEventListener("focusout", (event) => {
      if (!this.contains(/** @type {Control} */ (event.relatedTarget))) this.show(false);
    });
    for (const { box } of this.people) box.addEventListener("change", () => this.chosen());
  }

  press(event) {
    if (event.key === "ArrowDown") this.show(true);
    if (event.key !== "Enter" && event.key !== "Escape") return;
    // Enter would send the form.
    event.preventDefault();
    const [first] = event.key === "Enter" && this.input.value.trim() ? this.found() : [];
    if (first) first.box.click();
    this.input.value = "";
    this.show(true);
  }

  chosen() {
    this.input.value = "";
    this.show(true);
  }

  found() {
    const words = plain(this.input.value);
    return this.people.filter(({ box, name }) => !box.checked && name.includes(words)).slice(0, MOST_SHOWN);
  }

  show(isOpen = false) {
    const found = isOpen ? this.found() : [];
    const here = document.activeElement;
    for (const each of this.people)
      // The one that was taken off stays while the focus is at it.
      each.row.hidden = !each.box.checked && !found.includes(each) && !(isOpen && each.box === here);
    this.said.textContent = isOpen && this.input.value.trim() ? this.dataset.found.replace("{}", String(found.length)) : "";
  }
});
