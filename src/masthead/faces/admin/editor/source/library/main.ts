// Files: uploads into the library with their progress, an item beside the list, and the choice of a
// picture for a text.

import type { StoredFile } from "./calls.ts";
import { choosePicture } from "./choosing.ts";
import { Library } from "./library.ts";
import { PictureField } from "./picture_field.ts";
import { SentForm } from "./sent_form.ts";

customElements.define("mh-library", Library);
customElements.define("mh-sent-form", SentForm);
customElements.define("mh-picture", PictureField);

// The editor asks for a picture by an event: it knows nothing of the library.
document.addEventListener("mh-choose-picture", (event) => {
  const { detail } = event as CustomEvent<(picture: StoredFile | null) => void>;
  void choosePicture().then(detail);
});
