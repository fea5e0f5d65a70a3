(() => {
  const hint = document.querySelector(".keys");
  if (hint) hint.hidden = false;
  const steps = { n: 1, j: 1, p: -1, k: -1 };
  addEventListener("keydown", (event) => {
    const step = event.ctrlKey || event.metaKey || event.altKey ? 0 : steps[event.key];
    if (!step) return;
    const changes = [...document.querySelectorAll(".hunk")].filter((each) => each.getClientRects().length);
    let at = changes.indexOf(document.activeElement);
    if (at < 0) {
      const below = changes.findIndex((each) => each.getBoundingClientRect().top > 60);
      at = (below < 0 ? changes.length : below) - (step > 0 ? 1 : 0);
    }
    const next = changes[at + step];
    if (!next) return;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "start" });
    history.replaceState(null, "", "#" + encodeURIComponent(next.id));
  });
  addEventListener("beforeprint", () => document.querySelectorAll(".more").forEach((each) => (each.open = true)));
})();
