// The example of an event opens when its box is ticked.
document.addEventListener("change", (event) => {
  const target = /** @type {Control} */ (event.target);
  const example = document.getElementById(target.dataset.example ?? "");
  // On a narrow page the examples are below the form, where they would open unseen.
  if (!example || !matchMedia("(min-width: 64.01rem)").matches) return;
  example.open = true;
  example.scrollIntoView({ block: "nearest" });
});
