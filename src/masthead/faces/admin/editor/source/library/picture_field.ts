import { button, element } from "../elements.ts";
import { choosePicture } from "./choosing.ts";
import { showUpload } from "./upload_row.ts";
import { _ } from "../words.ts";

// A field for the address of a picture, which is shown, chosen, uploaded or removed.
export class PictureField extends HTMLElement {
  private field!: HTMLInputElement;
  private shown!: HTMLImageElement;
  private rows!: HTMLElement;
  private remover!: HTMLButtonElement;

  connectedCallback(): void {
    this.field = this.querySelector("input")!;
    this.shown = element("img", { class: "thumb", alt: "", hidden: true, error: () => (this.shown.hidden = true), load: () => (this.shown.hidden = false) });
    this.rows = element("ul", { class: "lines uploads", "aria-label": _("Uploads"), hidden: true });
    const file: HTMLInputElement = element("input", { class: "vh", id: `${this.field.id}-file`, type: "file", accept: "image/*", change: () => this.send(file.files ?? []) });
    this.remover = button(_("Remove"), () => this.set(""), "quiet");
    this.prepend(this.shown);
    this.append(
      this.rows,
      element(
        "div",
        { class: "actions wrap" },
        button(_("Choose…"), () => void choosePicture().then((picture) => picture && this.set(picture.url))),
        element("label", { class: "btn btn-s", for: file.id }, _("Upload…"), file),
        this.remover,
      ),
    );
    this.addEventListener("dragover", (event) => event.preventDefault());
    this.addEventListener("drop", (event) => {
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.send(event.dataTransfer.files);
    });
    this.field.addEventListener("input", () => this.show());
    this.show();
  }

  private send(files: ArrayLike<File>): void {
    this.rows.replaceChildren();
    if (!files.length) return;
    void showUpload(files[0], this.rows).then((stored) => {
      this.rows.hidden = true;
      this.set(stored.url);
    });
  }

  private set(address: string): void {
    this.field.value = address;
    // So that the editor saves it.
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    this.field.focus();
  }

  private show(): void {
    const address = this.field.value.trim();
    const own = /^(?:https?:\/\/[^/]+)?(\/media\/[a-z0-9]{15}\/[^/?#]+)$/.exec(address);
    this.remover.hidden = !address;
    if (!own && !address.startsWith("https://")) this.shown.hidden = true;
    else this.shown.src = own ? `${own[1]}?thumb=600x0` : address;
  }
}
