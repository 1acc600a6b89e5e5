import { element } from "../elements.ts";
import { sendForm } from "./calls.ts";
import { _, sizeText } from "../words.ts";

// A form with one large file: shows how much is sent, then opens the page that the answer names.
export class SentForm extends HTMLElement {
  private form!: HTMLFormElement;
  private place!: HTMLElement;
  private isSending = false;

  connectedCallback(): void {
    this.form = this.querySelector("form")!;
    this.place = this.querySelector<HTMLElement>("[data-sent]")!;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      // Not the busy state of a form that leaves the page.
      event.stopPropagation();
      if (!this.isSending) void this.send();
    });
  }

  private async send(): Promise<void> {
    const file = this.form.querySelector<HTMLInputElement>("input[type=file]")!;
    const { name, size } = file.files![0];
    const bar = element("progress", { class: "progress", max: String(size || 1), "aria-label": _("Sending %(file)s", { file: name }) });
    const said = element("p", { class: "hint num", role: "status" }, _("Sending %(size)s", { size: sizeText(size) }));
    bar.value = 0;
    this.isSending = true;
    this.place.replaceChildren(bar, said);
    file.removeAttribute("aria-invalid");
    this.setBusy(true);
    try {
      const answer = await sendForm(this.dataset.url ?? "", new FormData(this.form), (sent, total) => {
        bar.value = (size * sent) / total;
        said.textContent = sent < total ? _("%(part)s of %(size)s sent", { part: sizeText((size * sent) / total), size: sizeText(size) }) : _("Storing…");
      });
      location.assign(answer.url);
    } catch (error) {
      this.isSending = false;
      this.setBusy(false);
      file.setAttribute("aria-invalid", "true");
      this.place.replaceChildren(element("p", { class: "hint hint-bad", role: "alert" }, (error as Error).message));
      file.focus();
    }
  }

  private setBusy(isBusy: boolean): void {
    const submit = this.form.querySelector("button[type=submit]")!;
    if (isBusy) submit.setAttribute("aria-disabled", "true");
    else submit.removeAttribute("aria-disabled");
  }
}
