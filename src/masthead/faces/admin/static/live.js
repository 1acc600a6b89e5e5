// Parts of a page that follow what happens: `data-live` names what is listened to, and the part is
// asked for again when that changes; `data-live-every` asks every so many seconds. Where there is no
// stream, a part that asks by itself goes on asking, and others wait for the next page.
const STREAM = "/admin/live?topics=";
const CONNECTED = "PB_CONNECT";
const DELAY = 300;
const WORK = 1000;
const RARELY = 15_000;
const AGAIN = 60_000;

let stream = null;
let topics = "";
let isHeard = false;
let due = 0;
let lastWork = 0;
let lastAsk = Date.now();
let isAsking = false;

function part() {
  return document.querySelector("[data-live], [data-live-every]");
}

// A browser has few connections to a site: a page that nobody looks at has none.
function follow() {
  const wanted = document.hidden ? "" : (part()?.dataset.live ?? "");
  if (wanted === topics && stream?.readyState !== EventSource.CLOSED) return;
  stream?.close();
  stream = null;
  isHeard = false;
  topics = wanted;
  if (!wanted) return;
  stream = new EventSource(STREAM + encodeURIComponent(wanted));
  // Also the first time: something may have happened since the page was made.
  stream.addEventListener(CONNECTED, () => {
    isHeard = true;
    askSoon();
  });
  stream.addEventListener("error", () => (isHeard = false));
  for (const each of wanted.split(",")) stream.addEventListener(each, askSoon);
}

function askSoon() {
  clearTimeout(due);
  due = setTimeout(ask, DELAY);
}

async function ask() {
  const here = part();
  if (!here || document.hidden) return;
  if (isAsking || isAtWork(here)) {
    due = setTimeout(ask, WORK);
    return;
  }
  isAsking = true;
  lastAsk = Date.now();
  try {
    const asked = location.href;
    await htmx.ajax("GET", addressOf(here), { target: here, swap: "outerHTML", live: asked });
  } catch {
    // Offline: the next message or the next page shows it.
  } finally {
    isAsking = false;
    follow();
  }
}

// With the row that is the current one, which may not be the first any more.
function addressOf(here) {
  const address = new URL(location.href);
  const current = here.querySelector("[data-current][data-id]");
  if (current) address.searchParams.set("current", current.dataset.id);
  return address.pathname + address.search;
}

// Nothing moves away under a pointer or a finger, and nothing that is typed, ticked or marked is
// lost.
function isAtWork(here) {
  const marked = getSelection();
  const field = document.activeElement.closest("input:not([type=checkbox]), select, textarea, summary");
  return Date.now() - lastWork < WORK
    || here.querySelector("input:checked, dialog[open], .data[open]") !== null
    || (field !== null && here.contains(field))
    || (!marked.isCollapsed && here.contains(marked.anchorNode));
}

for (const type of ["pointermove", "pointerdown", "keydown"])
  document.addEventListener(type, (event) => {
    if (part()?.contains(/** @type {Node} */ (event.target))) lastWork = Date.now();
  }, { passive: true });

// A part that asks by itself asks rarely while it is told.
document.addEventListener("htmx:before:request", (/** @type {CustomEvent} */ event) => {
  const { live, sourceElement, sourceEvent } = event.detail.ctx;
  if (live || sourceEvent?.type !== "every" || sourceElement !== part()) return;
  if (isHeard && Date.now() - lastAsk < RARELY) event.preventDefault();
  else lastAsk = Date.now();
});
// One that was signed out is not led away from the page.
document.addEventListener("htmx:before:response", (/** @type {CustomEvent} */ event) => {
  const { live, response } = event.detail.ctx;
  if (live && (response.status !== 200 || response.headers.get("HX-Redirect"))) event.preventDefault();
});
// Meanwhile another list may have been asked for, or work may have begun.
document.addEventListener("htmx:before:swap", (/** @type {CustomEvent} */ event) => {
  const { live, target } = event.detail.ctx;
  if (!live || (live === location.href && target.isConnected && !isAtWork(target))) return;
  event.preventDefault();
  askSoon();
});

document.addEventListener("visibilitychange", follow);
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", follow);
document.addEventListener("htmx:after:swap", follow);
setInterval(follow, AGAIN);
setInterval(() => {
  const seconds = Number(part()?.dataset.liveEvery ?? 0);
  if (seconds && Date.now() - lastAsk >= seconds * 1000) ask();
}, 1000);
follow();
