// The place in the text from which the form was sent, by Ctrl Enter: the page that comes back has the
// caret there. Buttons and fields are those of the page itself.

import type { Editor } from "@tiptap/core";
import { TextSelection } from "@tiptap/pm/state";

const KEY = "mh-caret";

export function storeCaret({ view, state }: Editor): void {
  if (!view.hasFocus()) return;
  const { anchor, head } = state.selection;
  store(JSON.stringify({ path: location.pathname, anchor, head }));
}

export function restoreCaret({ view, state }: Editor): void {
  const { path, anchor, head } = JSON.parse(stored() ?? "{}") as Record<string, unknown>;
  store(null);
  if (path !== location.pathname) return;
  const [from, to] = [anchor, head].map((each) => Math.min(Number(each), state.doc.content.size));
  const selection = TextSelection.between(state.doc.resolve(from), state.doc.resolve(to));
  view.dispatch(state.tr.setSelection(selection).scrollIntoView());
  view.focus();
}

/** Without the browser's storage the page opens as any other. */
function stored(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function store(value: string | null): void {
  try {
    if (value === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  } catch {
    // As above.
  }
}
