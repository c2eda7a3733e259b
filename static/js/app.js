// Small helps on top of pages that work without any script: tick-all boxes,
// copy buttons, a question before a bulk action, and live parts that wait.
"use strict";

(function () {
  const paused = new Set();

  function rows(formID) {
    return document.querySelectorAll('input[type="checkbox"][name="id"][form="' + CSS.escape(formID) + '"]');
  }

  function countTicks(formID) {
    const boxes = [...rows(formID)];
    const ticked = boxes.filter((box) => box.checked).length;
    for (const out of document.querySelectorAll('[data-tick-count="' + CSS.escape(formID) + '"]')) {
      out.textContent = ticked > 0 ? "(" + ticked + ")" : "";
    }
    for (const all of document.querySelectorAll('[data-tick-all="' + CSS.escape(formID) + '"]')) {
      all.checked = ticked > 0 && ticked === boxes.length;
      all.indeterminate = ticked > 0 && ticked < boxes.length;
    }
  }

  function onChange(event) {
    const box = event.target;
    if (!(box instanceof HTMLInputElement)) return;
    if (box.dataset.tickAll) {
      for (const row of rows(box.dataset.tickAll)) row.checked = box.checked;
      countTicks(box.dataset.tickAll);
    } else if (box.name === "id" && box.form) {
      countTicks(box.form.id);
    }
  }

  async function copy(button) {
    const source = document.getElementById(button.dataset.copy);
    const label = button.querySelector("[data-copy-text]");
    if (!source || !label) return;
    try {
      await navigator.clipboard.writeText(source.textContent);
      label.textContent = button.dataset.copied;
    } catch {
      getSelection().selectAllChildren(source);
      label.textContent = button.dataset.selected;
    }
    setTimeout(() => { label.textContent = button.dataset.label; }, 3000);
  }

  function onClick(event) {
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (!button) return;
    if (button.dataset.copy) {
      copy(button);
    } else if (button.dataset.pause) {
      pause(button);
    } else if (button.dataset.confirm && !confirm(button.dataset.confirm)) {
      event.preventDefault();
    }
  }

  function pause(button) {
    const id = button.dataset.pause;
    const stop = !paused.has(id);
    if (stop) paused.add(id);
    else paused.delete(id);
    button.textContent = stop ? button.dataset.resumeLabel : button.dataset.pauseLabel;
  }

  // A live part keeps still while the reader works in it.
  function busy(part) {
    return paused.has(part.id) || document.hidden || part.contains(document.activeElement) ||
      part.querySelector('input[name="id"]:checked, details[open]') !== null;
  }

  function onRequest(event) {
    const part = event.target instanceof Element ? event.target.closest("[data-live]") : null;
    if (part && busy(part)) event.preventDefault();
  }

  // A hidden page asks for nothing; shown again, it must not show what was true when it was left.
  function onShown() {
    if (document.hidden) return;
    for (const part of document.querySelectorAll("[data-live]")) part.dispatchEvent(new Event("schakel:shown"));
  }

  // An error page or a log-in page must not take the place of a live part.
  function onAnswer(event) {
    const part = event.target instanceof Element ? event.target.closest("[data-live]") : null;
    const ctx = event.detail.ctx;
    if (part && (!ctx.response.raw.ok || !ctx.text.includes('id="' + part.id + '"'))) event.preventDefault();
  }

  // Shows what needs a script; runs again on parts that were refreshed.
  function prepare() {
    for (const hidden of document.querySelectorAll("[data-tick-all][hidden], [data-copy][hidden]")) hidden.hidden = false;
    for (const part of document.querySelectorAll("[data-live]")) {
      if (document.querySelector('[data-pause="' + CSS.escape(part.id) + '"]')) continue;
      const bar = document.createElement("div");
      const button = document.createElement("button");
      bar.className = "schakel-live-bar";
      button.type = "button";
      button.className = "utrecht-button utrecht-button--subtle";
      button.dataset.pause = part.id;
      button.dataset.pauseLabel = part.dataset.pauseLabel;
      button.dataset.resumeLabel = part.dataset.resumeLabel;
      button.textContent = part.dataset.pauseLabel;
      bar.append(button);
      if (part.previousElementSibling?.matches(".schakel-tools")) part.previousElementSibling.append(bar);
      else part.before(bar);
    }
  }

  // Tells the server the time zone of the reader, in which it writes moments on pages.
  function rememberZone() {
    if (typeof Intl === "undefined" || !navigator.cookieEnabled) return;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (!zone) return;
    const secure = location.protocol.startsWith("https");
    const cookie = (secure ? "__Host-" : "") + "schakel-zone=" + encodeURIComponent(zone);
    if (document.cookie.split("; ").includes(cookie)) return;
    document.cookie = cookie + "; Path=/; SameSite=Lax; Max-Age=31536000" + (secure ? "; Secure" : "");
  }

  // Marks the part that is being read in the table of contents beside it.
  function spy(contents) {
    const links = new Map();
    for (const link of contents.querySelectorAll("a[href*='#']")) {
      const part = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      if (part) links.set(part, link);
    }
    const seen = new Set();
    let marked = null;
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting) seen.add(entry.target);
        else seen.delete(entry.target);
      }
      const parts = [...links.keys()].filter((part) => seen.has(part));
      const link = links.get(parts[parts.length > 1 && parts[0].contains(parts[1]) ? 1 : 0]);
      if (!link || link === marked) return;
      marked?.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      marked = link;
      const box = contents.closest("details");
      const top = link.getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (top < 0 || top > box.clientHeight - 40) box.scrollTop += top - box.clientHeight / 2;
    }, { rootMargin: "0px 0px -70% 0px" });
    for (const part of links.keys()) watch.observe(part);
  }

  // The key / leads to the search, unless the reader is typing.
  function onKey(event) {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const at = event.target;
    if (at instanceof Element && at.closest("input, textarea, select, [contenteditable]")) return;
    const field = document.querySelector("[data-search]");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  }

  // Keeps the newest deliveries of a live tail up to date with server-sent events. Paused or hidden it closes the connection.
  function tail(part) {
    const state = document.querySelector("[data-tail-state]");
    const button = document.querySelector("[data-tail-pause]");
    if (!state || !button || typeof EventSource === "undefined") return;
    let stopped = false;
    let source = null;
    const say = (text) => { if (state.textContent !== text) state.textContent = text; };
    const known = () => new Set([...part.querySelectorAll("a[href]")].map((a) => a.getAttribute("href")));
    function open() {
      if (source || stopped || document.hidden) return;
      source = new EventSource(part.dataset.tail);
      source.addEventListener("open", () => say(state.dataset.running));
      source.addEventListener("rows", (event) => {
        const before = known();
        part.replaceChildren(...new DOMParser().parseFromString(event.data, "text/html").body.childNodes);
        for (const row of part.querySelectorAll("tbody tr")) {
          const link = row.querySelector("a[href]");
          if (link && !before.has(link.getAttribute("href"))) row.classList.add("schakel-fresh");
        }
      });
      source.addEventListener("ended", () => {
        stopped = true;
        close(state.dataset.ended);
        button.hidden = true;
      });
      source.addEventListener("error", () => {
        if (source && source.readyState === EventSource.CLOSED) {
          close(state.dataset.lost);
          setTimeout(open, 15000);
        }
      });
    }
    function close(text) {
      source?.close();
      source = null;
      say(text);
    }
    button.hidden = false;
    button.addEventListener("click", () => {
      stopped = !stopped;
      button.textContent = stopped ? button.dataset.resumeLabel : button.dataset.pauseLabel;
      if (stopped) close(state.dataset.paused);
      else open();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.hidden && source) close(state.dataset.paused);
      else open();
    });
    open();
  }

  document.addEventListener("keydown", onKey);
  document.addEventListener("change", onChange);
  document.addEventListener("click", onClick);
  document.addEventListener("visibilitychange", onShown);
  document.addEventListener("htmx:before:request", onRequest);
  document.addEventListener("htmx:after:request", onAnswer);
  document.addEventListener("htmx:after:swap", prepare);
  prepare();
  rememberZone();
  for (const contents of document.querySelectorAll("[data-spy]")) spy(contents);
  for (const part of document.querySelectorAll("[data-tail]")) tail(part);
  document.querySelector("[data-search]")?.setAttribute("aria-keyshortcuts", "/");
  document.querySelector("[data-focus]")?.focus();
})();
