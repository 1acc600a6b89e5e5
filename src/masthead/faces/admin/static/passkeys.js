// Asks the browser for a passkey, and sends the form with what it answers.
const canAsk = "PublicKeyCredential" in window && "parseRequestOptionsFromJSON" in PublicKeyCredential;

customElements.define("mh-passkey", class extends HTMLElement {
  connectedCallback() {
    this.hidden = !canAsk;
    this.querySelector("button").addEventListener("click", () => this.ask());
  }

  async ask() {
    const refused = this.querySelector("[role=alert]");
    refused.hidden = true;
    try {
      const answer = await this.answer(JSON.parse(this.dataset.options));
      this.querySelector("[name$=passkey]").value = JSON.stringify(answer);
      // Other fields of the form, such as that of a code, may stay empty.
      /** @type {any} */ (this.closest("form")).submit();
    } catch {
      refused.hidden = false;
    }
  }

  async answer(options) {
    const made = /** @type {any} */ (this.dataset.verb === "create"
      ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
      : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }));
    return made.toJSON();
  }
});
