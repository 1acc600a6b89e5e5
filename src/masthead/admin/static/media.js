// Files: uploads into the library with their progress, an item beside the list, and the choice of a
// picture for a text.
const AT_ONCE = 2;
const PAUSE_MS = 200;
const HAS_ROOM = matchMedia("(min-width: 64.01rem)");
const UPLOAD_URL = "/admin/media/upload";
const CHOICES_URL = "/admin/media/choose";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value || value === "") made.setAttribute(name, value);
  }
  made.append(...children.filter(Boolean));
  return made;
}

function button(label, click, kind = "") {
  return element("button", { type: "button", class: `btn btn-s${kind && ` btn-${kind}`}`, click }, label);
}

// Calls: with the token of the page's forms, and the site and account that the page is made for.
function headers() {
  return {
    accept: "application/json",
    "x-form-token": document.querySelector("input[name=form_token]")?.value ?? "",
    "x-page-owner": document.body.dataset.pageOwner ?? "",
  };
}

async function renewToken() {
  const answer = await fetch("/admin/form-token", { headers: headers() }).catch(() => null);
  const { form_token: token } = answer?.ok ? await answer.json() : {};
  const fields = [...document.querySelectorAll("input[name=form_token]")];
  if (!token || fields.every((each) => each.value === token)) return false;
  for (const each of fields) each.value = token;
  return true;
}

async function upload(file, progress) {
  const form = new FormData();
  form.append("file", file);
  return sendForm(UPLOAD_URL, form, progress);
}

async function sendForm(url, form, progress) {
  let answer = await send(url, form, progress);
  // After a sign-in in another tab the page's token is no longer valid.
  if (answer.status === 403 && (await renewToken())) answer = await send(url, form, progress);
  if (answer.status === 200) return answer.body;
  throw new Error(reason(answer));
}

// By XMLHttpRequest, because fetch does not tell how much is sent.
function send(url, form, progress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded, event.total);
    });
    request.addEventListener("error", () => resolve({ status: 0, body: {} }));
    request.addEventListener("load", () => resolve({ status: request.status, body: parsed(request.responseText) }));
    request.send(form);
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function reason({ status, body }) {
  if (status === 0) return "The server can’t be reached.";
  if (status === 401) return "You are signed out. Sign in again in another tab and try once more.";
  const [problem] = Object.values(body.problems ?? {});
  return problem || body.message || (status === 413 ? "The file is too large." : `The server answered ${status}.`);
}

function amount(bytes) {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

// A row of one upload: how much is sent, that it is done, or why it is not taken.
async function showUpload(file, list) {
  const bar = element("progress", { class: "progress", max: String(file.size || 1), "aria-label": `Sending ${file.name}` });
  const said = element("span", { class: "small soft num" }, amount(file.size));
  const row = element("li", { class: "up-row" }, element("span", {}, file.name), bar, said);
  bar.value = 0;
  list.hidden = false;
  list.append(row);
  const attempt = async () => {
    try {
      const stored = await upload(file, (sent, total) => {
        bar.value = (file.size * sent) / total;
        said.textContent = sent < total ? `${amount((file.size * sent) / total)} of ${amount(file.size)}` : "Storing…";
      });
      bar.replaceWith(element("span", { class: "small good" }, "Done"));
      said.textContent = amount(file.size);
      return stored;
    } catch (error) {
      return new Promise((resolve) => {
        const retry = button("Try again", () => {
          why.replaceWith(bar);
          retry.remove();
          resolve(attempt());
        });
        const why = element("span", { class: "small bad", role: "alert" }, error.message);
        bar.replaceWith(why);
        said.replaceChildren(retry);
        // The others need not wait for a decision.
        list.dispatchEvent(new CustomEvent("refused"));
      });
    }
  };
  return attempt();
}

// `focus.js` keeps the place of someone who is in the part that is replaced.
function replaceUnderFocus(replace) {
  document.dispatchEvent(new CustomEvent("mh-replace", { detail: replace }));
}

customElements.define("mh-library", class extends HTMLElement {
  waiting = [];
  running = 0;
  stored = 0;
  shows = 0;

  connectedCallback() {
    this.rows = this.querySelector("[data-uploads]");
    this.said = this.querySelector("[data-upload-status]");
    const chooser = this.querySelector("#files");
    chooser.addEventListener("change", () => {
      this.add(chooser.files);
      chooser.value = "";
    });
    this.rows.addEventListener("refused", () => this.ended());
    document.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.classList.add("is-over");
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) this.classList.remove("is-over");
    });
    document.addEventListener("drop", (event) => {
      this.classList.remove("is-over");
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add(event.dataTransfer.files);
    });
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !event.target.closest("[data-detail]")) return;
      this.querySelector("a[data-item][aria-current]")?.focus();
    });
  }

  add(files) {
    this.waiting.push(...files);
    this.next();
  }

  next() {
    while (this.running < AT_ONCE && this.waiting.length) {
      this.running += 1;
      void showUpload(this.waiting.shift(), this.rows).then(() => {
        this.stored += 1;
        this.ended();
      });
    }
  }

  // One has ended, well or not. Tried again, it ends a second time.
  ended() {
    this.running = Math.max(this.running - 1, 0);
    this.next();
    if (this.running || this.waiting.length) return;
    this.said.textContent = this.stored === 1 ? "One file uploaded." : `${this.stored} files uploaded.`;
    if (this.stored) void this.refresh();
  }

  async refresh() {
    const answer = await fetch(location.href);
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    replaceUnderFocus(() => {
      this.querySelector("h1").replaceWith(fresh.querySelector("h1"));
      const list = this.querySelector("#list");
      if (list && fresh.querySelector("#list")) list.replaceWith(fresh.querySelector("#list"));
      // The first files of all.
      else this.querySelector(".empty")?.replaceWith(...fresh.querySelectorAll("mh-library > .filters, mh-library > .media"));
    });
    window.htmx?.process(this);
  }

  clicked(event) {
    const link = event.target.closest("a[data-item]");
    if (!link || !HAS_ROOM.matches || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    void this.show(link);
  }

  async show(link) {
    const list = new URL(location.href);
    list.searchParams.set("item", link.dataset.item);
    const back = list.pathname + list.search;
    const turn = ++this.shows;
    const answer = await fetch(`${link.pathname}?back=${encodeURIComponent(back)}`, { headers: { "HX-Request": "true" } });
    const elsewhere = answer.headers.get("HX-Redirect");
    const text = await answer.text();
    // Another one has been opened since.
    if (turn !== this.shows) return;
    if (elsewhere || !answer.ok) return void location.assign(elsewhere ?? link.href);
    for (const each of this.querySelectorAll("a[data-item]")) {
      if (each === link) each.setAttribute("aria-current", "true");
      else each.removeAttribute("aria-current");
      each.closest("tr")?.toggleAttribute("data-selected", each === link);
    }
    const place = this.querySelector("[data-detail]");
    place.innerHTML = text;
    history.replaceState(null, "", back);
    place.querySelector("h2").focus({ preventScroll: true });
    place.scrollIntoView({ block: "nearest" });
  }
});

// The pictures that a search finds. Answers may be late: the newest question counts, and the focus
// stays at its picture when the tiles are replaced under it.
class FoundPictures {
  place = element("div", { class: "choices-place" });
  shown = "";
  pause = 0;
  asking = null;

  constructor(search) {
    this.search = search;
  }

  get tiles() {
    return [...this.place.querySelectorAll("[data-picture]")];
  }

  stop() {
    clearTimeout(this.pause);
    this.asking?.abort();
    this.pause = 0;
    this.asking = null;
  }

  findSoon() {
    this.stop();
    this.pause = setTimeout(() => void this.find(), PAUSE_MS);
  }

  find() {
    return this.load(`${CHOICES_URL}?q=${encodeURIComponent(this.search.value)}`);
  }

  // The only picture for what is typed now, or none.
  async findOnly() {
    const isNew = this.pause || this.asking ? await this.find() : true;
    return isNew && this.tiles.length === 1 ? this.tiles[0] : null;
  }

  // False for an answer that nobody waits for any more.
  async load(address) {
    this.stop();
    const mine = (this.asking = new AbortController());
    const found = await fetch(address, { headers: { "HX-Request": "true" }, signal: mine.signal })
      .then((answer) => (answer.ok && !answer.headers.get("HX-Redirect") ? answer.text() : ""))
      .catch(() => "");
    if (mine !== this.asking) return false;
    this.asking = null;
    this.replace(found);
    return true;
  }

  replace(found) {
    if (found && found === this.shown) return;
    const here = this.place.contains(document.activeElement) ? document.activeElement : null;
    this.shown = found;
    if (found) this.place.innerHTML = found;
    else this.place.replaceChildren(element("p", { class: "bad", role: "alert" }, "The library can’t be opened. Reload the page."));
    if (!here) return;
    const { picture } = here.dataset;
    (this.tiles.find((each) => picture && each.dataset.picture === picture) ?? this.search).focus();
  }
}

// The choice of a picture: a dialog with a search, the pictures, and an upload.
let count = 0;

function choosePicture() {
  return new Promise((resolve) => {
    count += 1;
    const id = `mh-choice-${count}`;
    let chosen = null;
    const search = element("input", { class: "input", type: "search", "aria-label": "Search pictures", placeholder: "Search pictures" });
    const found = new FoundPictures(search);
    const rows = element("ul", { class: "lines uploads", "aria-label": "Uploads", hidden: true });
    const file = element("input", { class: "vh", id: `${id}-file`, type: "file", accept: "image/*" });
    const dialog = element(
      "dialog",
      { class: "dialog dialog-wide", "aria-labelledby": id, close: () => (found.stop(), dialog.remove(), resolve(chosen)) },
      element("h2", { id }, "Choose a picture"),
      element("div", { class: "choice-bar" }, search, element("label", { class: "btn", for: file.id }, "Upload…", file)),
      rows,
      found.place,
      element("div", { class: "actions" }, button("Cancel", () => dialog.close())),
    );
    const take = (picture) => {
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
      const tile = event.target.closest("[data-picture]");
      const page = event.target.closest("[data-page]");
      if (tile) take(JSON.parse(tile.dataset.picture));
      else if (page) void found.load(page.dataset.page).then((isNew) => isNew && found.tiles[0]?.focus());
    });
    found.place.addEventListener("keydown", (event) => {
      const all = found.tiles;
      const at = all.indexOf(event.target.closest("[data-picture]"));
      if (at < 0) return;
      const across = Math.max(all.findIndex((each) => each.offsetTop > all[0].offsetTop), 1);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + across, ArrowUp: at - across, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      (to < 0 ? search : all[Math.min(to, all.length - 1)]).focus();
    });
    file.addEventListener("change", () => {
      rows.replaceChildren();
      if (file.files.length) void showUpload(file.files[0], rows).then(take);
    });
    document.body.append(dialog);
    dialog.showModal();
    void found.find();
  });
}

// A form with one large file: shows how much is sent, then opens the page that the answer names.
customElements.define("mh-sent-form", class extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.place = this.querySelector("[data-sent]");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      // Not the busy state of a form that leaves the page.
      event.stopPropagation();
      if (!this.isSending) void this.send();
    });
  }

  async send() {
    const file = this.form.querySelector("input[type=file]");
    const { name, size } = file.files[0];
    const bar = element("progress", { class: "progress", max: String(size || 1), "aria-label": `Sending ${name}` });
    const said = element("p", { class: "hint num", role: "status" }, `Sending ${amount(size)}`);
    bar.value = 0;
    this.isSending = true;
    this.place.replaceChildren(bar, said);
    file.removeAttribute("aria-invalid");
    this.setBusy(true);
    try {
      const answer = await sendForm(this.dataset.url, new FormData(this.form), (sent, total) => {
        bar.value = (size * sent) / total;
        said.textContent = sent < total ? `${amount((size * sent) / total)} of ${amount(size)} sent` : "Storing…";
      });
      location.assign(answer.url);
    } catch (error) {
      this.isSending = false;
      this.setBusy(false);
      file.setAttribute("aria-invalid", "true");
      this.place.replaceChildren(element("p", { class: "hint hint-bad", role: "alert" }, error.message));
      file.focus();
    }
  }

  setBusy(isBusy) {
    const submit = this.form.querySelector("button[type=submit]");
    if (isBusy) submit.setAttribute("aria-disabled", "true");
    else submit.removeAttribute("aria-disabled");
  }
});

// The editor asks for a picture by an event: it knows nothing of the library.
document.addEventListener("mh-choose-picture", (event) => {
  void choosePicture().then((picture) => picture && event.detail(picture));
});

// A field for the address of a picture, which is shown, chosen, uploaded or removed.
customElements.define("mh-picture", class extends HTMLElement {
  connectedCallback() {
    this.field = this.querySelector("input");
    this.shown = element("img", { class: "thumb", alt: "", hidden: true, error: () => (this.shown.hidden = true), load: () => (this.shown.hidden = false) });
    this.rows = element("ul", { class: "lines uploads", "aria-label": "Uploads", hidden: true });
    const file = element("input", { class: "vh", id: `${this.field.id}-file`, type: "file", accept: "image/*", change: () => this.send(file.files) });
    this.remover = button("Remove", () => this.set(""), "quiet");
    this.prepend(this.shown);
    this.append(
      this.rows,
      element(
        "div",
        { class: "actions wrap" },
        button("Choose…", () => void choosePicture().then((picture) => picture && this.set(picture.url))),
        element("label", { class: "btn btn-s", for: file.id }, "Upload…", file),
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

  send(files) {
    this.rows.replaceChildren();
    if (!files.length) return;
    void showUpload(files[0], this.rows).then((stored) => {
      this.rows.hidden = true;
      this.set(stored.url);
    });
  }

  set(address) {
    this.field.value = address;
    // So that the editor saves it.
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
    this.field.focus();
  }

  show() {
    const address = this.field.value.trim();
    const own = /^(?:https?:\/\/[^/]+)?(\/media\/[a-z0-9]{15}\/[^/?#]+)$/.exec(address);
    this.remover.hidden = !address;
    if (!own && !address.startsWith("https://")) this.shown.hidden = true;
    else this.shown.src = own ? `${own[1]}?thumb=600x0` : address;
  }
});
