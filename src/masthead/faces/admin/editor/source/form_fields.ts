// The fields of the form around the editor: what is saved of them, and what is said at them.

import type { Setting } from "./conflict.ts";
import { element } from "./elements.ts";
import type { Snapshot } from "./kept.ts";

/** Fields of the form that are no part of the text. */
const NOT_SAVED = new Set(["form_token", "version", "action", "content_html"]);
export class FormFields {
  constructor(private readonly form: HTMLFormElement) {}

  isSaved(name: string): boolean {
    return Boolean(name) && !NOT_SAVED.has(name);
  }

  values(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const [name, value] of new FormData(this.form)) {
      if (typeof value === "string" && !NOT_SAVED.has(name)) found[name] = value;
    }
    return found;
  }

  setToken(token: string): void {
    const field = this.form.querySelector<HTMLInputElement>("input[name=form_token]");
    if (field) field.value = token;
  }

  setVersion(version: string): void {
    const field = this.form.querySelector<HTMLInputElement>("input[name=version]");
    if (field) field.value = version;
  }

  title(): HTMLTextAreaElement | null {
    return this.form.querySelector<HTMLTextAreaElement>("textarea[name=title]");
  }

  /** The settings of the form that are not the same in both, in the form's own words. */
  differing(mine: Snapshot["fields"], theirs: Snapshot["fields"]): Setting[] {
    const names = Object.keys({ ...mine, ...theirs }).filter((name) => name !== "title" && mine[name] !== theirs[name]);
    return names.map((name) => {
      const label = this.field(name)?.closest(".field")?.querySelector("legend, label")?.textContent ?? name;
      return { label, mine: this.words(name, mine[name]), theirs: this.words(name, theirs[name]) };
    });
  }

  private words(name: string, value = ""): string {
    const [one] = [...this.form.querySelectorAll<HTMLInputElement>(`[name="${CSS.escape(name)}"]`)].filter(
      (each) => (each.type === "radio" || each.type === "checkbox") && each.value === value,
    );
    return one?.closest("label")?.textContent?.trim() ?? value;
  }

  restore(values: Snapshot["fields"]): void {
    for (const each of this.saved()) {
      const value = values[each.name];
      if (each instanceof HTMLInputElement && (each.type === "checkbox" || each.type === "radio")) {
        each.checked = each.type === "radio" ? each.value === value : value !== undefined;
      } else if (value !== undefined) each.value = value;
      // For what shows the value in another way, such as tags and counters.
      each.dispatchEvent(new Event("restored"));
    }
  }

  /** The fields of the form that a person fills in and that are saved. */
  private *saved(): Generator<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement> {
    for (const each of this.form.elements) {
      const isField =
        each instanceof HTMLInputElement || each instanceof HTMLTextAreaElement || each instanceof HTMLSelectElement;
      if (isField && each.name && !NOT_SAVED.has(each.name) && each.type !== "hidden") yield each;
    }
  }

  /** Whether a person typed or chose something while this script was on its way. */
  isChangedAlready(): boolean {
    return [...this.saved()].some((each) => {
      if (each instanceof HTMLSelectElement) return false;
      if (each.type === "checkbox" || each.type === "radio") {
        return each instanceof HTMLInputElement && each.checked !== each.defaultChecked;
      }
      return each.value !== each.defaultValue;
    });
  }

  showProblems(problems: Readonly<Record<string, string>>): void {
    for (const each of this.form.querySelectorAll("[data-save-problem]")) {
      if (!((each as HTMLElement).dataset.saveProblem! in problems)) {
        each.remove();
        this.field((each as HTMLElement).dataset.saveProblem!)?.removeAttribute("aria-invalid");
      }
    }
    for (const [name, sentence] of Object.entries(problems)) {
      const field = this.field(name);
      if (!field) continue;
      field.setAttribute("aria-invalid", "true");
      const shown = this.form.querySelector(`[data-save-problem="${CSS.escape(name)}"]`);
      const note = shown ?? element("p", { class: "hint hint-bad", "data-save-problem": name, role: "alert" });
      note.textContent = sentence;
      if (!shown) (field.closest(".field") ?? field).append(note);
    }
  }

  field(name: string): HTMLElement | null {
    return name ? this.form.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`) : null;
  }
}
