// Says every few seconds that this text is open here, and shows who else has it open. The answer to
// the one is the other.
const EVERY = 8000;
const place = document.querySelector("[data-presence]");

async function say() {
  // What is not stored yet is nobody else's.
  if (location.pathname.endsWith("/new")) return;
  let words = "";
  try {
    const answer = await fetch(place.dataset.presence, {
      method: "POST",
      headers: {
        accept: "application/json",
        "content-type": "application/json",
        // The form has a new one after a sign-in in another tab.
        "x-form-token": place.closest("form").querySelector("[name=form_token]").value,
        "x-page-owner": document.body.dataset.pageOwner,
      },
      body: "{}",
    });
    if (answer.ok) words = (await answer.json()).words;
  } catch {
    // Offline: nobody is known to be there.
  }
  // Screen readers say what changes, not what stays.
  if (place.textContent !== words) place.textContent = words;
}

if (place) {
  say();
  setInterval(say, EVERY);
}
