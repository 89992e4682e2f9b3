// What makes the workspace quicker to use, beside agentboard.js. Every page works without this file.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  for (const hint of all("[data-keys-hint]")) hint.hidden = document.body.dataset.keys === "off";

  // The request in another language, without asking the server: <div data-tabs> with buttons data-tab="id"
  for (const tabs of all("[data-tabs]")) {
    const buttons = all("[data-tab]", tabs);
    const show = (chosen) => {
      for (const button of buttons) {
        const current = button === chosen;
        document.getElementById(button.dataset.tab).hidden = !current;
        if (current) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
      }
      for (const copy of all("[data-of]", tabs)) copy.hidden = copy.dataset.of !== chosen.dataset.tab;
      const form = chosen.form, language = form && form.elements.language;
      if (language) language.value = chosen.textContent;
    };
    const chosen = buttons.find((button) => button.hasAttribute("aria-current")) || buttons[0];
    if (chosen) show(chosen);
    for (const button of buttons) {
      button.addEventListener("click", (event) => {
        if (button.form && button.form.dataset.typed) return; // what was typed since goes into the request
        event.preventDefault();
        show(button);
      });
    }
  }
  for (const form of all("form")) form.addEventListener("input", () => { form.dataset.typed = "yes"; });

  // Drafts, kept by the server ten seconds after a change and on leaving a field: <form data-draft="address">
  for (const form of all("form[data-draft]")) {
    let changed = false, sent = false, timer = 0, before = Promise.resolve();
    const told = form.querySelector("[data-kept]");
    const leaving = new AbortController();
    const send = async () => {
      if (!changed || sent) return;
      changed = false;
      try {
        const answer = await fetch(form.dataset.draft, { method: "POST", body: new FormData(form), credentials: "same-origin", signal: leaving.signal });
        if (!answer.ok) { changed = true; return; }
        const draft = await answer.json();
        form.elements.draft.value = draft.draft;
        const until = new Date(draft.kept_until).toLocaleString("en-GB", { day: "numeric", month: "long", hour: "2-digit", minute: "2-digit", timeZone: "UTC" });
        if (told) { told.textContent = `Kept as a draft until ${until} UTC.`; told.hidden = false; }
      } catch { changed = true; }
    };
    // One after the other: the first answer names the draft that the next one changes.
    const keep = () => { clearTimeout(timer); before = before.then(send); };
    form.addEventListener("input", () => { changed = true; clearTimeout(timer); timer = setTimeout(keep, 10000); });
    form.addEventListener("focusout", keep);
    form.addEventListener("submit", () => { sent = true; leaving.abort(); });
  }

  // j and k go from row to row, never while somebody types.
  const rows = all("[data-row]");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "j" && event.key !== "k") return;
    if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    const at = rows.indexOf(document.activeElement);
    const next = rows[event.key === "j" ? at + 1 : Math.max(at, 1) - 1];
    if (next) next.focus();
  });

  // Ctrl or ⌘ with Enter sends the form that somebody types in, by its main button.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const form = event.target.closest("form");
    const button = form && form.querySelector(".bar .btn-go");
    if (button) { event.preventDefault(); form.requestSubmit(button); }
  });
})();
