// What makes the pages quicker to use. Every page works without this file.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const say = (words) => { const live = document.getElementById("live"); if (live) live.textContent = words; };

  // Bytes of a text: <textarea data-bytes="id of a line with a meter and an output">
  const encoder = new TextEncoder();
  const number = new Intl.NumberFormat("en-GB");
  for (const field of all("[data-bytes]")) {
    const line = document.getElementById(field.dataset.bytes);
    if (!line) continue;
    const meter = line.querySelector("meter"), output = line.querySelector("output");
    const count = () => {
      const bytes = encoder.encode(field.value).length;
      meter.value = bytes;
      output.textContent = `${number.format(bytes)} of ${number.format(meter.max)} bytes`;
      field.setCustomValidity(bytes > meter.max ? `Too long by ${number.format(bytes - meter.max)} bytes.` : "");
    };
    field.addEventListener("input", count);
    count();
  }

  // Copying: <button data-copy="#id" hidden>
  for (const button of all("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent.trim());
      say("Copied");
      button.dataset.done = "";
      setTimeout(() => delete button.dataset.done, 1600);
    });
  }

  // Times as a distance from now; what the server wrote stands in the title.
  const words = new Intl.RelativeTimeFormat("en-GB", { numeric: "auto", style: "short" });
  const units = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [2592000, "day", 86400], [31536000, "month", 2592000], [Infinity, "year", 31536000]];
  const tell = () => {
    for (const time of all("time[data-rel]")) {
      const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000;
      const [, unit, length] = units.find(([below]) => Math.abs(seconds) < below);
      time.textContent = words.format(Math.trunc(seconds / length), unit);
    }
  };
  tell();
  setInterval(tell, 60000);

  // A form that makes something is sent once: <form data-once>
  for (const form of all("form[data-once]")) {
    let sent = false;
    form.addEventListener("submit", (event) => {
      if (sent) event.preventDefault();
      sent = true;
    });
    addEventListener("pageshow", () => { sent = false; });
  }

  // A secret goes with the page that showed it: a browser may keep the page itself, to come back to.
  addEventListener("pagehide", () => { for (const secret of all("[data-secret]")) secret.remove(); });

  // Where a form was refused, its summary is read first.
  const errors = document.getElementById("errors");
  if (errors) errors.focus();

  // Keys, never while somebody types: / to search, g and a letter to go, ? for the list
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (document.body.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) {
      if (event.key === "Escape" && event.target.id === "q") event.target.blur();
      return;
    }
    const pressed = CSS.escape(event.key);
    if (event.key === "/") {
      const search = document.getElementById("q");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    } else if (event.key === "?") {
      document.getElementById("keys")?.showModal?.();
    } else if (event.key === "g") {
      going = Date.now();
    } else if (Date.now() - going < 1200) {
      document.querySelector(`[data-go="${pressed}"]`)?.click();
      going = 0;
    } else {
      const target = document.querySelector(`[data-key="${pressed}"]`);
      if (target) { event.preventDefault(); target.click(); }
    }
  });

  // A warning on leaving, only while text is unsaved: <form data-guard>
  for (const form of all("form[data-guard]")) {
    let changed = false;
    form.addEventListener("input", () => { changed = true; });
    form.addEventListener("submit", () => { changed = false; });
    addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  }
})();
