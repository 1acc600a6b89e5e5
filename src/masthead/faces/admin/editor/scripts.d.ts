// What the small scripts of the admin and of the API reference find in a page. They are sent as they
// are written: a selector says which element it is, and this says what such an element may have.

interface Control extends HTMLElement {
  checked: boolean;
  close(): void;
  hash: string;
  href: string;
  indeterminate: boolean;
  method: string;
  name: string;
  open: boolean;
  requestSubmit(submitter?: HTMLElement | null): void;
  showModal(): void;
  type: string;
  value: string;
}

interface ParentNode {
  querySelector(selectors: string): Control | null;
  querySelectorAll(selectors: string): NodeListOf<Control>;
}

interface Element {
  closest(selectors: string): Control | null;
}

interface Document {
  getElementById(id: string): Control | null;
  addEventListener(type: `mh-${string}`, listener: (event: CustomEvent) => void): void;
}

declare const htmx: {
  ajax(method: string, address: string, options: Record<string, unknown>): Promise<void>;
};
