// `<mh-links>`: rows of links that are put in order by dragging, or with the buttons up and down. The
// values move, not the rows, so names and numbers stay right. Without script, numbers say the order.
customElements.define("mh-links", class extends HTMLElement {
  connectedCallback() {
    this.rows = /** @type {HTMLElement[]} */ ([...this.querySelectorAll(".link-row")]);
    for (const each of this.querySelectorAll("[hidden]")) each.hidden = false;
    for (const [at, row] of this.rows.entries()) {
      // The places of rows that were moved without script are those of the rows now.
      row.querySelector(".link-place").type = "hidden";
      this.listen(row, at);
    }
  }

  listen(row, at) {
    row.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-move]");
      if (button) this.move(at, at + Number(button.dataset.move), button.dataset.move);
    });
    row.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!event.altKey || !step) return;
      event.preventDefault();
      this.move(at, at + step);
    });
    row.addEventListener("dragstart", (event) => {
      this.from = at;
      event.dataTransfer.effectAllowed = "move";
      event.dataTransfer.setDragImage(row, 0, 0);
    });
    row.addEventListener("dragover", (event) => {
      if (this.from === undefined) return;
      event.preventDefault();
      row.classList.add("is-over");
    });
    row.addEventListener("dragleave", () => row.classList.remove("is-over"));
    row.addEventListener("dragend", () => { this.from = undefined; });
    row.addEventListener("drop", (event) => {
      event.preventDefault();
      row.classList.remove("is-over");
      if (this.from !== undefined && this.from !== at) this.move(this.from, at);
      this.from = undefined;
    });
  }

  fields(at) {
    return [...this.rows[at].querySelectorAll("input:not(.link-place)")];
  }

  /** Moves a link to another place; the focus goes along. */
  move(from, to, button) {
    if (to < 0 || to >= this.rows.length) return;
    const focused = this.fields(from).indexOf(/** @type {Control} */ (document.activeElement));
    const values = this.rows.map((_, at) => this.fields(at).map((each) => each.value));
    values.splice(to, 0, ...values.splice(from, 1));
    for (const [at, row] of values.entries()) {
      for (const [which, field] of this.fields(at).entries()) field.value = row[which];
    }
    const next = button ? this.rows[to].querySelector(`[data-move="${button}"]`) : this.fields(to)[focused];
    next?.focus();
    this.fields(to)[0].dispatchEvent(new Event("input", { bubbles: true }));
  }
});
