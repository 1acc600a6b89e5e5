// The buttons of the form: it goes only after the text, so that what is published is what was written.

import type { Calls } from "./calls.ts";
import { NEW } from "./kept.ts";
import type { Notices } from "./offers.ts";
import type { Saving } from "./saving.ts";
import { _ } from "./words.ts";

/** What has not happened, by the button that was pressed. */
const DONE: Record<string, string> = {
  review: _("Not published"),
  preview: _("No preview"),
  discard: _("Not discarded"),
};

export class Submitting {
  /** The text is saved and the server is there: the form may go. */
  private isReady = false;

  constructor(
    private readonly form: HTMLFormElement,
    private readonly saving: Saving,
    private readonly calls: Calls,
    private readonly notices: Notices,
    /** The page that shows the stored text; called before the form goes. */
    private readonly leave: { previewUrl: string; before: () => void },
  ) {
    form.addEventListener("submit", (event) => this.submitted(event), true);
  }

  /** As its button does. Not from a dialog, whose keys are its own. */
  publish(event: KeyboardEvent): void {
    const own = this.form.querySelector<HTMLButtonElement>("button[name=action][value=review]");
    if (own && !own.disabled && this.form.contains(event.target as Node)) this.form.requestSubmit(own);
  }

  private submitted(event: SubmitEvent): void {
    if (event.target !== this.form) return;
    const { submitter } = event;
    const isPreview = submitter instanceof HTMLButtonElement && submitter.value === "preview";
    if (this.isReady) {
      this.isReady = false;
      this.leave.before();
      return;
    }
    if (this.saving.machine.version === NEW) this.saving.dispatch({ type: "typed" });
    event.preventDefault();
    event.stopImmediatePropagation();
    void this.submitAfterSaving(submitter, isPreview ? this.leave.previewUrl : "");
  }

  private async submitAfterSaving(submitter: HTMLElement | null, previewUrl: string): Promise<void> {
    this.notices.remove("stopped");
    const isSafe = (await this.saving.flush()) && (await this.calls.isReachable());
    if (!isSafe) return this.sayWhyNot(submitter);
    if (previewUrl) return location.assign(previewUrl);
    this.isReady = true;
    this.form.requestSubmit(submitter);
  }

  /** A button that was pressed and does nothing says so, and why. */
  private sayWhyNot(submitter: HTMLElement | null): void {
    const { phase, problems } = this.saving.machine;
    if (phase === "conflict" || phase === "signed-out") return;
    const done = DONE[(submitter as HTMLButtonElement | null)?.value ?? ""] ?? _("Not saved");
    const reason = Object.values(problems)[0] ?? _("The server can’t be reached.");
    const kept = phase === "clean" ? _("The text is saved.") : _("The text is kept on this device.");
    this.notices.add("warn", `${done}: ${reason} ${phase === "refused" ? "" : kept}`.trim(), "stopped");
  }
}
