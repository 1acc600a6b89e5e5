// What the page offers beyond typing: pictures, the AI provider, Markdown. What has no address is not offered.

import { Editor } from "@tiptap/core";
import { aiMenu, askAi } from "./ai.ts";
import type { Assistant } from "./ai.ts";
import { Ai } from "./ai_plugin.ts";
import type { Calls } from "./calls.ts";
import { cardCommand, useCardTools } from "./cards/card.ts";
import type { CardTools, Values } from "./cards/card.ts";
import { CARDS } from "./cards/catalog.ts";
import { BLOCKS, useLinks } from "./commands.ts";
import type { Command } from "./commands.ts";
import { belowTheText } from "./content.ts";
import type { FindLinks } from "./dialogs.ts";
import type { JsonNode } from "./documents.ts";
import { cleanPaste, isPlainPaste } from "./paste.ts";
import { pasted } from "./pasting.ts";
import type { Convert } from "./pasting.ts";
import { extensions } from "./schema.ts";
import { foundAt } from "./picker.ts";
import { Slash } from "./slash.ts";
import { snippetCommands } from "./snippets.ts";
import { toolbars } from "./toolbars.ts";
import { chooseFromLibrary, choosePictures, Uploads } from "./uploads.ts";
import type { UploadTarget } from "./uploads.ts";
import { _ } from "./words.ts";

export class Tools {
  /** `calls` are there once something is asked for. */
  constructor(
    private readonly given: DOMStringMap,
    private readonly calls: () => Calls,
  ) {}

  makeEditor(mount: HTMLElement, content: JsonNode | string): Editor {
    useLinks(this.links());
    useCardTools({ uploads: () => this.uploads(), look: this.look() });
    const editor: Editor = new Editor({
      element: { mount },
      extensions: [
        ...extensions(_("Write, or press / for more")),
        Uploads.configure({ target: this.uploads() }),
        ...(this.ai() ? [Ai] : []),
        Slash.configure({ commands: this.slashCommands() }),
      ],
      content,
      injectCSS: false,
      editorProps: {
        attributes: {
          class: "prose",
          id: "text",
          role: "textbox",
          "aria-label": _("Text"),
          "aria-multiline": "true",
          spellcheck: "true",
        },
        handleDOMEvents: { click: (view, event) => belowTheText(view, event) },
        transformPastedHTML: cleanPaste,
        handlePaste: (view, event) => !isPlainPaste(view) && pasted(editor, event, this.uploads(), this.convert()),
      },
    });
    return editor;
  }

  bars(editor: Editor): ReturnType<typeof toolbars>["bars"] {
    const uploads = this.uploads();
    const provider = this.ai();
    return toolbars(
      editor,
      uploads && (() => choosePictures(editor, uploads)),
      provider && ((opener) => aiMenu(editor, provider, opener)),
      this.snippets(),
    ).bars;
  }

  private uploads(): UploadTarget | null {
    const url = this.given.uploadUrl;
    return url ? { url, headers: () => this.calls().headers() } : null;
  }

  private ai(): Assistant | null {
    const { aiUrl: url, tenantId } = this.given;
    const convert = this.convert({ exactly: true }) ?? (() => Promise.resolve(null));
    return url ? { url, tenantId, convert } : null;
  }

  private convert(options: { exactly?: boolean } = {}): Convert | null {
    const { markdownUrl } = this.given;
    if (!markdownUrl) return null;
    return async (text) => {
      const { status, body } = await this.calls().post(markdownUrl, JSON.stringify({ text, ...options }));
      return status === 200 && typeof body.html === "string" ? body.html : null;
    };
  }

  private look(): CardTools["look"] {
    const { cardsUrl } = this.given;
    if (!cardsUrl) return null;
    return async (url) => {
      const { status, body } = await this.calls().post(cardsUrl, JSON.stringify({ url }));
      return status === 200 ? (body as { type: string; attrs: Values }) : null;
    };
  }

  private links(): FindLinks | null {
    const { linksUrl } = this.given;
    return linksUrl ? (words) => foundAt(this.calls(), linksUrl, words) : null;
  }

  private snippets(): Command[] {
    const { snippetsUrl: url, savesSnippets } = this.given;
    return url ? snippetCommands({ url, saves: savesSnippets !== undefined, calls: this.calls }) : [];
  }

  private slashCommands(): Command[] {
    // Nothing is selected where a slash was typed.
    const found = [...BLOCKS, ...CARDS.map(cardCommand), ...this.snippets().slice(0, 1)];
    const uploads = this.uploads();
    if (uploads) {
      const run = (editor: Editor): void => choosePictures(editor, uploads);
      found.push({ label: _("Picture"), icon: "image", words: _("image photo upload"), run });
      found.push({ label: _("Picture from the library"), icon: "image", words: _("image media"), run: chooseFromLibrary });
    }
    const provider = this.ai();
    if (provider) {
      const run = (editor: Editor): void => askAi(editor, provider, "generate");
      found.push({ label: _("Write with AI…"), icon: "sparkles", words: _("generate ai"), run });
    }
    return found;
  }
}
