import { button, element } from "../elements.ts";
import type { StoredFile } from "./calls.ts";
import { FoundPictures } from "./found_pictures.ts";
import { showUpload } from "./upload_row.ts";
import { _ } from "../words.ts";

// The choice of a picture: a dialog with a search, the pictures, and an upload.
let count = 0;

export function choosePicture(): Promise<StoredFile | null> {
  return new Promise((resolve) => {
    count += 1;
    const id = `mh-choice-${count}`;
    let chosen: StoredFile | null = null;
    const search = element("input", { class: "input", type: "search", "aria-label": _("Search pictures"), placeholder: _("Search pictures") });
    const found = new FoundPictures(search);
    const rows = element("ul", { class: "lines uploads", "aria-label": _("Uploads"), hidden: true });
    const file = element("input", { class: "vh", id: `${id}-file`, type: "file", accept: "image/*" });
    const dialog: HTMLDialogElement = element(
      "dialog",
      { class: "dialog dialog-wide", "aria-labelledby": id, close: () => (found.stop(), dialog.remove(), resolve(chosen)) },
      element("h2", { id }, _("Choose a picture")),
      element("div", { class: "choice-bar" }, search, element("label", { class: "btn", for: file.id }, _("Upload…"), file)),
      rows,
      found.place,
      element("div", { class: "actions" }, button(_("Cancel"), () => dialog.close())),
    );
    const take = (picture: StoredFile): void => {
      chosen = picture;
      dialog.close();
    };
    search.addEventListener("input", () => found.findSoon());
    search.addEventListener("keydown", (event) => {
      // Enter takes the only one that is found.
      if (event.key === "ArrowDown") found.tiles[0]?.focus();
      else if (event.key === "Enter") void found.findOnly().then((only) => only?.click());
      else return;
      event.preventDefault();
    });
    found.place.addEventListener("click", (event) => {
      const tile = (event.target as Element).closest<HTMLElement>("[data-picture]");
      const page = (event.target as Element).closest<HTMLElement>("[data-page]");
      if (tile) take(JSON.parse(tile.dataset.picture ?? "null") as StoredFile);
      else if (page) void found.load(page.dataset.page ?? "").then((isNew) => isNew && found.tiles[0]?.focus());
    });
    found.place.addEventListener("keydown", (event) => {
      const all = found.tiles;
      const at = all.indexOf((event.target as Element).closest<HTMLElement>("[data-picture]")!);
      if (at < 0) return;
      const across = Math.max(all.findIndex((each) => each.offsetTop > all[0].offsetTop), 1);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + across, ArrowUp: at - across, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      (to < 0 ? search : all[Math.min(to, all.length - 1)]).focus();
    });
    file.addEventListener("change", () => {
      rows.replaceChildren();
      if (file.files?.length) void showUpload(file.files[0], rows).then(take);
    });
    document.body.append(dialog);
    dialog.showModal();
    void found.find();
  });
}
