// Pictures that are dropped, pasted or chosen: a placeholder with progress, then a figure.
//
// The placeholder is a decoration and no part of the document, so no save ever holds a picture that
// only this browser has.

import { Extension } from "@tiptap/core";
import type { Editor } from "@tiptap/core";
import type { Node as DocumentNode } from "@tiptap/pm/model";
import { Plugin, PluginKey, Selection } from "@tiptap/pm/state";
import { Decoration, DecorationSet } from "@tiptap/pm/view";
import type { EditorView } from "@tiptap/pm/view";
import { blockEnd, insertBelow } from "./below.ts";
import { button, element } from "./elements.ts";
import { _, sizeText, serverAnswered } from "./words.ts";

const KEY = new PluginKey<DecorationSet>("uploads");

export interface Uploaded {
  url: string;
  alt?: string | null;
  caption?: string;
  width?: number | null;
  height?: number | null;
}

export interface UploadTarget {
  url: string;
  /** The page's token, and the site and account that it is made for. */
  headers: () => Record<string, string>;
}

type Placed = { add: { id: object; at: number; widget: HTMLElement } } | { remove: object };

export const Uploads = Extension.create<{ target: UploadTarget | null }>({
  name: "uploads",
  addOptions: () => ({ target: null }),
  addProseMirrorPlugins() {
    const { editor, options } = this;
    const take = (files: FileList | undefined, at: number): boolean => {
      const found = pictures(files);
      if (!found.length || !options.target) return false;
      for (const file of found) void insertPicture(editor, options.target, file, at);
      return true;
    };
    return [
      new Plugin<DecorationSet>({
        key: KEY,
        state: {
          init: () => DecorationSet.empty,
          apply(transaction, set) {
            const moved = set.map(transaction.mapping, transaction.doc);
            const placed = transaction.getMeta(KEY) as Placed | undefined;
            if (!placed) return moved;
            if ("remove" in placed) {
              return moved.remove(moved.find(undefined, undefined, (spec) => spec.id === placed.remove));
            }
            const { id, at, widget } = placed.add;
            return moved.add(transaction.doc, [Decoration.widget(at, widget, { id, side: 1 })]);
          },
        },
        props: {
          decorations: (state) => KEY.getState(state),
          handlePaste: (view, event) => {
            // Word and Excel send a picture of the text along with the text.
            const hasText = Boolean(event.clipboardData?.getData("text/html").replace(/<img[^>]*>|<[^>]+>|\s/g, ""));
            return !hasText && take(event.clipboardData?.files, view.state.selection.from);
          },
          handleDrop: (view, event, _slice, moved) => {
            if (moved) return false;
            if (!pictures(event.dataTransfer?.files).length || !options.target) return false;
            event.preventDefault();
            const { doc, selection, tr } = view.state;
            const at = view.posAtCoords({ left: event.clientX, top: event.clientY })?.pos ?? selection.from;
            // Within a block the caret stays where one writes.
            const isElsewhere = blockEnd(doc, at) !== blockEnd(doc, selection.from);
            if (isElsewhere) view.dispatch(tr.setSelection(Selection.near(doc.resolve(at), -1)));
            return take(event.dataTransfer?.files, at);
          },
        },
      }),
    ];
  },
});

function pictures(files: FileList | undefined): File[] {
  return [...(files ?? [])].filter((file) => file.type.startsWith("image/"));
}

/** The file dialog of the system. */
export function choosePictures(editor: Editor, target: UploadTarget): void {
  const chooser = element("input", {
    type: "file",
    accept: "image/*",
    multiple: true,
    change: () => {
      for (const file of pictures(chooser.files ?? undefined)) {
        void insertPicture(editor, target, file, editor.state.selection.from);
      }
    },
  });
  chooser.click();
}

/** The admin's library, which answers with the picture that was chosen there. */
export function chooseFromLibrary(editor: Editor): void {
  const detail = (picture: Uploaded | null): void => {
    const { state, view } = editor;
    if (picture) view.dispatch(insertBelow(state.tr, state.selection.from, figureOf(editor, picture)));
    view.focus();
  };
  document.dispatchEvent(new CustomEvent("mh-choose-picture", { detail }));
}

export async function insertPicture(editor: Editor, target: UploadTarget, file: File, at: number): Promise<void> {
  const id = {};
  const bar = element("progress", { class: "progress", max: "100", "aria-label": _("Uploading %(file)s", { file: file.name }) });
  const said = element("p", { role: "status" }, _("Uploading %(file)s…", { file: file.name }));
  const actions = element("span", { class: "upload-actions" });
  const widget = element("div", { class: "upload", contenteditable: "false" }, bar, said, actions);
  const { view } = editor;
  const { doc, selection, tr } = view.state;
  const end = blockEnd(doc, at);
  view.dispatch(tr.setMeta(KEY, { add: { id, at: end, widget } } satisfies Placed));
  view.focus();
  // Who has written on meanwhile, here or in another field, goes on there.
  const isWaiting = (): boolean =>
    blockEnd(doc, selection.from) === end && selection.eq(view.state.selection) && view.hasFocus();
  const attempt = async (): Promise<void> => {
    leave(view, widget);
    actions.replaceChildren();
    bar.hidden = false;
    try {
      const stored = await send(target, file, (share) => {
        bar.value = Math.round(share * 100);
        said.textContent =
          share < 1
            ? _("%(file)s: %(part)s of %(size)s", { file: file.name, part: sizeText(file.size * share), size: sizeText(file.size) })
            : _("Storing %(file)s…", { file: file.name });
      });
      finish(editor, id, stored, isWaiting());
    } catch (error) {
      bar.hidden = true;
      said.textContent = _("%(file)s was not uploaded: %(reason)s", { file: file.name, reason: (error as Error).message });
      actions.replaceChildren(
        button(_("Try again"), () => void attempt()),
        button(_("Leave it out"), () => (leave(view, widget), remove(view, id)), "quiet"),
      );
    }
  };
  await attempt();
}

/** The focus goes back into the text before its button is gone. */
function leave(view: EditorView, widget: HTMLElement): void {
  if (widget.contains(document.activeElement)) view.focus();
}

function remove(view: EditorView, id: object): void {
  view.dispatch(view.state.tr.setMeta(KEY, { remove: id } satisfies Placed));
}

/** `isWaiting`: the caret goes below the last of the pictures that were chosen together. */
function finish(editor: Editor, id: object, stored: Uploaded, isWaiting: boolean): void {
  const { state, view } = editor;
  const all = KEY.getState(state)?.find() ?? [];
  const placeholder = all.find(({ spec }) => (spec as { id: object }).id === id);
  // Deleted with the text around it: the picture stays in the library.
  if (!placeholder) return;
  const { from } = placeholder;
  const isLast = !all.some((each) => each !== placeholder && each.from === from);
  const figure = figureOf(editor, stored);
  const transaction = state.tr.setMeta(KEY, { remove: id } satisfies Placed);
  if (isWaiting && isLast) insertBelow(transaction, from, figure);
  else {
    transaction.insert(from, figure);
    const { size } = transaction.doc.content;
    // So that one can write on below it.
    if (isLast && from + figure.nodeSize >= size) transaction.insert(size, state.schema.nodes.paragraph.create());
  }
  view.dispatch(transaction);
}

function figureOf({ schema }: Editor, { url: src, alt, caption, width, height }: Uploaded): DocumentNode {
  const attributes = { src, alt: alt || null, width: width ?? null, height: height ?? null };
  return schema.nodes.figure.create(attributes, caption ? schema.text(caption) : null);
}

/** By XMLHttpRequest, because fetch does not tell how much is sent. */
export function send(target: UploadTarget, file: File, progress: (share: number) => void): Promise<Uploaded> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("file", file);
    request.open("POST", target.url);
    for (const [name, value] of Object.entries(target.headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("error", () => reject(new Error(_("The server can’t be reached."))));
    request.addEventListener("load", () => {
      const answer = parsed(request.responseText);
      if (request.status < 300 && typeof answer.url === "string") resolve(answer as unknown as Uploaded);
      else reject(new Error(reason(request.status, answer)));
    });
    request.send(form);
  });
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function reason(status: number, answer: Record<string, unknown>): string {
  const { problems } = answer as { problems?: { file?: string } };
  if (problems?.file) return problems.file;
  if (typeof answer.message === "string" && answer.message) return answer.message;
  if (status === 401) return _("You are signed out. Sign in again and try once more.");
  if (status === 413) return _("The file is too large.");
  return serverAnswered(status);
}

/** Pictures inside pasted HTML that only this browser has. */
export async function uploadLocalPictures(editor: Editor, target: UploadTarget): Promise<void> {
  const sources = new Set<string>();
  editor.state.doc.descendants((node) => {
    const source = node.attrs.src as unknown;
    if (typeof source === "string" && source.startsWith("data:")) sources.add(source);
  });
  for (const source of sources) {
    const file = asFile(source);
    for (let at = position(editor, source); at !== null; at = position(editor, source)) {
      const size = editor.state.doc.nodeAt(at)?.nodeSize ?? 0;
      editor.view.dispatch(editor.state.tr.delete(at, at + size).setMeta("addToHistory", false));
      if (file) void insertPicture(editor, target, file, at);
    }
  }
}

function position(editor: Editor, source: string): number | null {
  let found: number | null = null;
  editor.state.doc.descendants((node, at) => {
    if (found === null && node.attrs.src === source) found = at;
    return found === null;
  });
  return found;
}

/** Not by fetch: the policy lets the page connect to its own origin only. */
function asFile(source: string): File | null {
  try {
    const [head, body] = source.split(",", 2);
    const type = /^data:([^;,]+)/.exec(head)?.[1] ?? "image/png";
    const raw = head.endsWith(";base64") ? atob(body) : decodeURIComponent(body);
    const extension = type.split("/")[1].replace("jpeg", "jpg").replace("svg+xml", "svg");
    const bytes = Uint8Array.from(raw, (character) => character.charCodeAt(0));
    return new File([bytes], `pasted.${extension}`, { type });
  } catch {
    return null;
  }
}
