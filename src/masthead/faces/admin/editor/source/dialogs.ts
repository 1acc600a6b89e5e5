// Questions in a `<dialog>`: the address of a link, a sign-in.

import { button, element } from "./elements.ts";
import { Picker } from "./picker.ts";
import type { Found } from "./picker.ts";
import { _ } from "./words.ts";

let count = 0;

function field(label: string, attributes: Record<string, string>): [HTMLElement, HTMLInputElement] {
  count += 1;
  const id = `mh-field-${count}`;
  const input = element("input", { class: "input", id, ...attributes });
  return [element("div", { class: "field" }, element("label", { for: id }, label), input), input];
}

/** `left` runs once the dialog is closed, in whichever way. The browser gives the focus back while the
 * selection is still in the dialog, and loses that with it: so the focus goes back once more. */
export function show(heading: string, parts: (Node | string)[], left: () => void = () => undefined): HTMLDialogElement {
  count += 1;
  const id = `mh-dialog-${count}`;
  const before = document.activeElement as HTMLElement | null;
  const close = (): void => {
    if (!dialog.isConnected) return;
    dialog.remove();
    before?.blur();
    before?.focus({ preventScroll: true });
    left();
  };
  const dialog: HTMLDialogElement = element(
    "dialog",
    { class: "dialog", "aria-labelledby": id, close },
    element("h2", { id }, heading),
    ...parts,
  );
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** At once: the browser's own event comes a moment later, and a key until then would be lost. */
export function leave(dialog: HTMLDialogElement): void {
  dialog.close();
  dialog.dispatchEvent(new Event("close"));
}

/** What own posts, pages and tags have these words. */
export type FindLinks = (words: string) => Promise<Found[]>;

/** `done` gets the address, and the title of what was found there; null removes the link. */
export function askLink(
  current: string,
  find: FindLinks | null,
  done: (address: string | null, title?: string) => void,
  left: () => void,
): void {
  const picker = new Picker(
    find ? _("Address, or words of a post, page or tag") : _("Address"),
    { inputmode: "url", placeholder: "https://" },
    find ?? (() => Promise.resolve([])),
    ({ url = "", label }) => {
      leave(dialog);
      done(url, label);
    },
    (text) => find !== null && text.length > 1 && linkAddress(text) === null && !/^[a-z][a-z0-9+.-]*:/i.test(text),
  );
  const { input } = picker;
  input.value = current;
  const problem = element("p", { class: "hint hint-bad", role: "alert" });
  const form = element(
    "form",
    {
      method: "dialog",
      class: "stack",
      submit: (event: SubmitEvent) => {
        event.preventDefault();
        const address = linkAddress(input.value);
        if (address === null) {
          problem.textContent = _("Write an address such as https://example.org, /about or name@example.org.");
          input.focus();
          return;
        }
        leave(dialog);
        done(address);
      },
    },
    picker.row,
    problem,
    element(
      "div",
      { class: "actions" },
      current ? button(_("Remove the link"), () => (leave(dialog), done(null)), "quiet") : null,
      button(_("Cancel"), () => leave(dialog)),
      element("button", { class: "btn btn-s btn-primary", type: "submit" }, current ? _("Change") : _("Link")),
    ),
  );
  const dialog = show(current ? _("Change the link") : _("Link the text"), [form], left);
  input.select();
}

/** An address that can't run a script; null for what is none. */
export function linkAddress(text: string): string | null {
  const given = text.trim();
  if (!given || /\s/.test(given)) return null;
  if (/^(https?:\/\/|mailto:|tel:|\/|#)/i.test(given)) return given;
  if (/^[^@/:]+@[^@/:]+\.[^@/:]+$/.test(given)) return `mailto:${given}`;
  if (/^[a-z][a-z0-9+.-]*:/i.test(given)) return null;
  return given.includes(".") ? `https://${given}` : null;
}

/** Signs in by the admin's own form, without leaving the page. */
export function askSignIn(address: string, known: string, done: () => void, left: () => void): void {
  const [first, email] = field(_("Email address"), { type: "email", name: "email", autocomplete: "username", required: "" });
  const [second, password] = field(_("Password"), {
    type: "password",
    name: "password",
    autocomplete: "current-password",
    required: "",
  });
  email.value = known;
  const problem = element("p", { class: "hint hint-bad", role: "alert" });
  const form = element(
    "form",
    {
      class: "stack",
      submit: (event: SubmitEvent) => {
        event.preventDefault();
        void signIn(address, email.value, password.value).then((sentence) => {
          problem.textContent = sentence;
          if (sentence) return;
          leave(dialog);
          done();
        });
      },
    },
    element("p", {}, _("Your text is safe on this device. Sign in, and it is saved.")),
    first,
    second,
    problem,
    element(
      "div",
      { class: "actions" },
      button(_("Later"), () => leave(dialog)),
      element("button", { class: "btn btn-s btn-primary", type: "submit" }, _("Sign in")),
    ),
  );
  const dialog = show(_("You were signed out"), [form], left);
  (known ? password : email).focus();
}

async function signIn(address: string, email: string, password: string): Promise<string> {
  try {
    const answer = await fetch(address, {
      method: "POST",
      body: new URLSearchParams({ email, password }),
      // The sign-in leads on to a page, which is not needed here.
      redirect: "manual",
    });
    if (answer.type === "opaqueredirect") return "";
    if (answer.status === 429) return _("Too many attempts. Wait a moment and try again.");
    return _("The email address or the password is wrong.");
  } catch {
    return _("The server can’t be reached. Try again in a moment.");
  }
}
