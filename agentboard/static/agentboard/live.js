// Pages that hear of changes while they are open. Every page works without this file.
//
// <body data-live="note:atlas:plan=14 inbox:atlas=3"   what it shows, each with the version (or number) that it shows
//       data-live-since="…"                            the cursor from which it has not heard of changes
//       data-live-words="atlas saved r14"              the change that a page about one thing shows
//       data-live-url="/workspace/…">                  of a form: the page of the thing that is being changed
// <div id="…" data-live-part>                          fetched anew when the reader asks to see it; without any, all
// <tr data-live-row="plan" data-version="14">          a thing in a list: a change that it shows already is no news

const OPEN_MS = 4000, PING_MS = 3000, PROBE_MS = 2000; // until a socket that says nothing is given up
const PAUSE_MS = 10000, POLL_MS = 60000, GATHER_MS = 300, LOOK_MS = 2000;
const FIRST_RETRY_MS = 500, RETRY_MS = 4000, LATE_RETRY_MS = 30000, LATE_MS = 120000, FULL_RETRY_MS = 60000;
const SIGNED_OUT = 4401, FORBIDDEN = 4403, FULL = 4429, NEVER = [4400, 1009];
const ONE_THING = ["note", "entry", "post"];

const body = document.body;
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const topicsOf = (text) => new Map(text.split(" ").filter(Boolean).map((each) => {
  const [topic, version] = each.split("=");
  return [topic, Number(version ?? 0)];
}));

let shown = topicsOf(body.dataset.live ?? "");
let since = body.dataset.liveSince ?? "";
const form = body.dataset.liveUrl;
const news = new Map(); // "topic id" → version
let ended = "", paused = false, putOff = false, words = "";

// ---- What has changed

const known = ({ topic, id, version }) => {
  const [kind, ...parts] = topic.split(":");
  if (ONE_THING.includes(kind) && id && id === parts.at(-1) && version <= shown.get(topic)) return true;
  return id !== "" && all(`[data-live-row="${CSS.escape(id)}"]`).some((row) => Number(row.dataset.version) >= version);
};

let gathering = 0;
const changed = (notice) => {
  if (ended || known(notice)) return;
  news.set(`${notice.topic} ${notice.id}`, notice.version);
  putOff = false;
  if (!gathering) gathering = setTimeout(announce, GATHER_MS);
};

// The page as it is now, or null where it cannot be had; it is asked for like any page, so rights are checked again.
const fetched = async (address) => {
  let answer, text;
  try {
    answer = await fetch(address, { headers: { Accept: "text/html" }, cache: "reload" });
    text = await answer.text();
  } catch {
    return null;
  }
  if (answer.redirected && new URL(answer.url).pathname !== new URL(address, location.href).pathname) end("signed out");
  else if ([401, 403, 404, 410].includes(answer.status)) end("gone");
  else if (answer.ok) return new DOMParser().parseFromString(text, "text/html");
  return null;
};

const here = () => location.href.split("#")[0];
const counted = () => (news.size === 1 ? "1 change since you opened this." : `${news.size} changes since you opened this.`);

let looking = false, lookedAt = -Infinity;
const announce = async () => {
  gathering = 0;
  if (body.dataset.liveWords === undefined && form === undefined) {
    words = counted();
    return draw();
  }
  const wait = lookedAt + LOOK_MS - performance.now();
  if (looking || wait > 0) {
    gathering = setTimeout(announce, Math.max(wait, GATHER_MS));
    return undefined;
  }
  looking = true;
  const page = await fetched(form ?? here());
  looking = false;
  lookedAt = performance.now();
  if (ended || !news.size) return draw();
  words = page?.body.dataset.liveWords ? `${page.body.dataset.liveWords}.` : counted();
  return draw();
};

// ---- Showing it

const typedIn = (field) => {
  if (field.type === "hidden") return false;
  if (field.matches("select")) {
    const usual = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(usual, 0);
  }
  if (["checkbox", "radio"].includes(field.type)) return field.checked !== field.defaultChecked;
  return field.value !== field.defaultValue;
};
const inUse = (part) => all("input, textarea, select", part)
  .some((field) => field === document.activeElement || typedIn(field));

const parts = () => {
  const marked = all("[data-live-part]");
  return marked.length ? marked : all("#main");
};

const show = async () => {
  const before = new Map(news);
  const page = await fetched(here());
  if (ended) return;
  if (!page) {
    say("The server does not answer.");
    return;
  }
  let left = false;
  for (const part of parts()) {
    const fresh = page.getElementById(part.id);
    if (fresh && inUse(part)) left = true;
    else if (fresh) part.replaceWith(document.adoptNode(fresh));
  }
  shown = topicsOf(page.body.dataset.live ?? "");
  since = page.body.dataset.liveSince ?? since;
  document.title = page.title;
  for (const [key, version] of before) if (news.get(key) === version) news.delete(key);
  draw();
  focusOn(document.querySelector("main h1"));
  say(left ? "Shown, but for the part that you are typing in." : "Shown as it is now.");
};

const focusOn = (heading) => {
  if (!heading || ![body, null].includes(document.activeElement)) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
};

// ---- The bar: it lies over the page, so that nothing under the reader's eyes moves

const say = (text) => { const live = document.getElementById("live"); if (live) live.textContent = text; };
const bar = document.createElement("aside");
const line = document.createElement("p");
const button = document.createElement("button");
const later = document.createElement("button");
const link = document.createElement("a");

const build = () => {
  bar.className = form === undefined ? "live-bar" : "live-bar over"; // the buttons of a form stand below
  bar.hidden = true;
  bar.setAttribute("aria-label", "Updates of this page");
  button.type = later.type = "button";
  button.className = link.className = "btn btn-s";
  later.className = "btn btn-s btn-plain";
  later.textContent = "Later";
  later.addEventListener("click", () => { putOff = true; draw(); });
  button.addEventListener("click", () => (ended ? location.reload() : refresh()));
  link.href = form ?? "";
  link.target = "_blank";
  link.textContent = "See it";
  bar.append(line, link, button, later);
  (document.querySelector("header.top") ?? document.querySelector(".skip")).after(bar);
};

const refresh = () => {
  if (!socket) connect();
  return show();
};

const ENDED = {
  "signed out": ["You are signed out, so this page hears of no more changes.", "Sign in"],
  gone: ["This is gone, or you may no longer see it.", "Reload"],
  old: ["This page hears of no more changes.", "Reload"],
};

const state = () => {
  if (ended) return ENDED[ended];
  if (news.size && words && !putOff) return form === undefined ? [words, "Show"] : [`${words} What you type stays.`, ""];
  return paused ? ["Live updates paused.", "Refresh"] : ["", ""];
};

const draw = () => {
  const [text, act] = state();
  if (text && text !== line.textContent) say(text);
  line.textContent = text;
  button.textContent = act;
  button.hidden = !act;
  link.hidden = act !== "" || !text;
  later.hidden = Boolean(ended) || !news.size || putOff;
  bar.classList.toggle("paused", Boolean(ended) || !news.size || putOff);
  bar.hidden = !text;
};

const end = (why) => {
  ended = why;
  leave();
  for (const timer of [retry, pausing, gathering]) clearTimeout(timer);
  clearInterval(polling);
  draw();
};

// ---- The socket

let socket = null, live = false, tries = 0, lostAt = 0, pings = 0;
let retry = 0, deadline = 0, deadlineAt = 0, pausing = 0, polling = 0;

const connect = () => {
  if (ended || socket) return;
  clearTimeout(retry);
  const mine = new WebSocket(`${location.origin.replace(/^http/, "ws")}/live`);
  socket = mine;
  expect(OPEN_MS);
  mine.addEventListener("open", () => {
    if (mine === socket) mine.send(JSON.stringify({ watch: Object.fromEntries(shown), ...(since ? { since } : {}) }));
  });
  mine.addEventListener("message", (event) => { if (mine === socket) heard(JSON.parse(event.data)); });
  mine.addEventListener("close", (event) => { if (mine === socket) closed(event.code); });
};

// The socket must say something within this time; an earlier end that is waited for already stays.
const expect = (patience) => {
  const at = performance.now() + patience;
  if (deadline && deadlineAt <= at) return;
  clearTimeout(deadline);
  deadlineAt = at;
  deadline = setTimeout(() => closed(0), patience);
};

const relax = () => {
  clearTimeout(deadline);
  deadline = 0;
};

const heard = (message) => {
  relax();
  if (!message.news) return;
  if (!live) alive();
  since = message.at ?? since;
  message.news.forEach(changed);
};

const alive = () => {
  live = true;
  tries = 0;
  clearTimeout(pausing);
  clearInterval(polling);
  pausing = polling = 0;
  paused = false;
  draw();
};

const leave = () => {
  const left = socket;
  socket = null;
  live = false;
  relax();
  left?.close();
};

const closed = (code) => {
  const was = live;
  leave();
  if (code === SIGNED_OUT || code === FORBIDDEN) {
    // Once more after it worked: a new password makes a new session, and the page may still be the reader's.
    if (was) connect();
    else end(code === SIGNED_OUT ? "signed out" : "gone");
  } else if (NEVER.includes(code)) end("old");
  else again(code === FULL ? FULL_RETRY_MS : 0);
};

const again = (least) => {
  if (!pausing) {
    lostAt = performance.now();
    pausing = setTimeout(pause, PAUSE_MS);
  }
  const most = performance.now() - lostAt < LATE_MS ? RETRY_MS : LATE_RETRY_MS;
  const wait = Math.max(Math.min(FIRST_RETRY_MS * 2 ** tries, most), least);
  tries += 1;
  clearTimeout(retry);
  retry = setTimeout(connect, wait * (0.5 + Math.random() / 2));
};

const probe = (patience) => {
  if (ended) return;
  if (live) {
    pings += 1;
    socket.send(JSON.stringify({ ping: pings }));
    expect(patience);
  } else if (!socket) {
    tries = 0;
    connect();
  }
};

// ---- Without a socket

const pause = () => {
  paused = true;
  draw();
  poll();
  polling = setInterval(poll, POLL_MS);
};

const poll = async () => {
  const asked = new URLSearchParams([...shown].map(([topic, version]) => ["topic", `${topic}=${version}`]));
  if (since) asked.set("since", since);
  let answer, told;
  try {
    answer = await fetch(`/live?${asked}`, { cache: "no-store" });
    told = await answer.json();
  } catch {
    return;
  }
  if (ended || live) return;
  if (answer.status === 401) end("signed out");
  else if (answer.status === 403) end("gone");
  else if (answer.ok) {
    since = told.at ?? since;
    told.news.forEach(changed);
  }
};

if (shown.size) {
  build();
  connect();
  pausing = setTimeout(pause, PAUSE_MS);
  lostAt = performance.now();
  setInterval(() => { if (live && document.visibilityState === "visible") probe(PING_MS); }, PING_MS);
  addEventListener("online", () => probe(PROBE_MS));
  addEventListener("focus", () => probe(PROBE_MS));
  document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") probe(PROBE_MS); });
  addEventListener("pagehide", leave); // a page that holds a socket is not kept to come back to
  addEventListener("pageshow", (event) => { if (event.persisted) probe(PROBE_MS); });
}
