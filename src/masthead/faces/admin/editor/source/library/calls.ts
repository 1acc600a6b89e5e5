// Calls of the media library: with the token of the page's forms, and the site and account that the
// page is made for.

import { _, serverAnswered } from "../words.ts";

export interface StoredFile {
  url: string;
}

export type Progress = (sent: number, total: number) => void;

interface Answer {
  status: number;
  body: { problems?: Record<string, string>; message?: string } & Record<string, unknown>;
}

const UPLOAD_URL = "/admin/media/upload";

function tokenFields(): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>("input[name=form_token]")];
}

function headers(): Record<string, string> {
  return {
    accept: "application/json",
    "x-form-token": tokenFields()[0]?.value ?? "",
    "x-page-owner": document.body.dataset.pageOwner ?? "",
  };
}

async function renewToken(): Promise<boolean> {
  const answer = await fetch("/admin/form-token", { headers: headers() }).catch(() => null);
  const { form_token: token } = (answer?.ok ? await answer.json() : {}) as { form_token?: string };
  const fields = tokenFields();
  if (!token || fields.every((each) => each.value === token)) return false;
  for (const each of fields) each.value = token;
  return true;
}

export async function upload(file: File, progress: Progress): Promise<StoredFile> {
  const form = new FormData();
  form.append("file", file);
  return sendForm(UPLOAD_URL, form, progress);
}

export async function sendForm(url: string, form: FormData, progress: Progress): Promise<StoredFile> {
  let answer = await send(url, form, progress);
  // After a sign-in in another tab the page's token is no longer valid.
  if (answer.status === 403 && (await renewToken())) answer = await send(url, form, progress);
  if (answer.status === 200) return answer.body as unknown as StoredFile;
  throw new Error(reason(answer));
}

// By XMLHttpRequest, because fetch does not tell how much is sent.
function send(url: string, form: FormData, progress: Progress): Promise<Answer> {
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

function parsed(text: string): Answer["body"] {
  try {
    return JSON.parse(text) as Answer["body"];
  } catch {
    return {};
  }
}

function reason({ status, body }: Answer): string {
  if (status === 0) return _("The server can’t be reached.");
  if (status === 401) return _("You are signed out. Sign in again in another tab and try once more.");
  const [problem] = Object.values(body.problems ?? {});
  return problem || body.message || (status === 413 ? _("The file is too large.") : serverAnswered(status));
}
