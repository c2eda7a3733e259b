// The keyboard on a page: Tab must come past every link, button and field that can be seen, and show where it is.
// What folds away is opened when Tab comes to it, as a reader would with Enter, so that what is in it is asked for too.

// follow runs in the page. It notes where the focus comes, and which of those places do not show it.
function follow() {
  const isPlace = (e) => e.tabIndex >= 0 && !e.matches(":disabled, [type=hidden]") && !e.closest("[inert]") &&
    (e.localName !== "summary" || (e.parentElement.localName === "details" && e === e.parentElement.querySelector(":scope > summary"))) &&
    e.checkVisibility({ visibilityProperty: true });
  const places = (within) => [...within.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex], iframe")].filter(isPlace);
  // Tab comes to one button of a group of radio buttons; the arrows to the others.
  const sameGroup = (a, b) => a.type === "radio" && b.type === "radio" && a.form === b.form && a.name === b.name;
  const wanted = new Set(places(document)), reached = new Set(), unseen = new Set();
  const walk = { wanted, reached, again: false };

  const shown = (e) => {
    const style = getComputedStyle(e);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  };
  const inSight = (e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  };
  addEventListener("focusin", ({ target }) => {
    if (reached.has(target) && target === walk.first) walk.again = true;
    walk.first ??= target;
    reached.add(target);
    if (target.id !== "main" && !(shown(target) && inSight(target))) unseen.add(target);
    if (target.localName === "summary" && !target.parentElement.open) {
      target.parentElement.open = true;
      for (const e of places(target.parentElement)) wanted.add(e);
    }
    if (target.popoverTargetElement?.checkVisibility() === false) {
      target.click();
      for (const e of places(target.popoverTargetElement)) wanted.add(e);
    }
  });
  const name = (e) => `${e.localName}${e.id ? "#" + e.id : ""}${e.name ? `[name=${e.name}]` : ""} ${(e.ariaLabel || e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40)}`.trim();
  walk.report = () => ({
    // What a live part has replaced meanwhile is gone, and no place.
    missed: [...wanted].filter((e) => e.isConnected && isPlace(e) && !reached.has(e) && ![...reached].some((r) => sameGroup(r, e))).map(name),
    unseen: [...unseen].map(name),
    count: reached.size,
  });
  globalThis.schakelWalk = walk;
}

// walkKeyboard presses Tab until it is where it began, or more often than there are places. A portion is sent at once, which is ten times as
// fast as waiting for each key.
async function walkKeyboard(kit, page, look) {
  await page.evaluate(follow);
  const session = await page.context().newCDPSession(page);
  const tab = { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 };
  const portion = 20;
  for (let pressed = 0, again = false; !again; pressed += portion) {
    await Promise.all(Array.from({ length: portion }, () => [
      session.send("Input.dispatchKeyEvent", { type: "rawKeyDown", ...tab }), session.send("Input.dispatchKeyEvent", { type: "keyUp", ...tab }),
    ]).flat());
    again = await page.evaluate((n) => schakelWalk.again || n > schakelWalk.wanted.size + schakelWalk.reached.size + 40, pressed);
  }
  await session.detach();
  const { missed, unseen, count } = await page.evaluate(() => schakelWalk.report());
  if (missed.length > 0) kit.fault(`${look}: the keyboard does not reach ${missed.length} places: ${missed.slice(0, 5).join("; ")}`);
  if (unseen.length > 0) kit.fault(`${look}: ${unseen.length} places do not show the focus: ${unseen.slice(0, 5).join("; ")}`);
  return count;
}

module.exports = { walkKeyboard };
