// Forms sent without what they require: each is refused with a message at the field. A choice from a list is always made. Those that require nothing are sent with empty
// fields: they may be saved, or refused with a message, but never fail or come back as they were without a word.

// listForms runs in the page, and lists its forms that save something, by what they look like without the ids of things.
function listForms() {
  return [...document.querySelectorAll("form[method=post]")].map((form, at) => {
    const fields = [...form.elements].filter((e) => e.matches("input:not([type=hidden]), select, textarea"));
    return { at, action: new URL(form.getAttribute("action") ?? "", location.href).pathname, fields: fields.length, required: fields.filter((e) => e.ariaRequired === "true" && e.localName !== "select").length };
  }).filter((f) => f.fields > 0);
}

// sendEmpty runs in the page: it sends the form at a place without its required fields, or without any when it requires none, and
// tells what came back.
async function sendEmpty(at) {
  const form = document.querySelectorAll("form[method=post]")[at];
  const fields = [...form.elements].filter((e) => e.matches("input:not([type=hidden]), select, textarea"));
  const required = fields.filter((e) => e.ariaRequired === "true" && e.localName !== "select");
  const buttons = [...form.elements].filter((e) => e.type === "submit");
  const data = new FormData(form, buttons.find((b) => b.matches(".utrecht-button--primary-action")) ?? buttons[0]);
  for (const f of required.length > 0 ? required : fields) data.delete(f.name);
  for (const f of required) if (f.type !== "file" && f.type !== "checkbox") data.set(f.name, "");
  const multipart = form.enctype === "multipart/form-data";
  const answer = await fetch(form.getAttribute("action") || location.href, { method: "POST", body: multipart ? data : new URLSearchParams([...data].filter(([, v]) => typeof v === "string")), redirect: "manual" });
  if (answer.type === "opaqueredirect") return { status: 303 };
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const at_field = [...page.querySelectorAll("[aria-invalid=true], fieldset[aria-describedby*='-error']")].some((e) =>
    (e.getAttribute("aria-describedby") ?? "").split(" ").some((id) => page.getElementById(id)?.textContent.trim()));
  return { status: answer.status, atField: at_field, message: page.querySelector("main [role=alert], main [role=status], main .schakel-alert")?.textContent.trim() ?? "" };
}

// refuseEmpty sends one form and judges the answer.
async function refuseEmpty(kit, page, where, form) {
  await page.goto(where);
  const again = (await page.evaluate(listForms)).find((f) => f.at === form.at);
  if (again?.action !== form.action) return; // the page has changed since it was seen
  const answer = await page.evaluate(sendEmpty, form.at);
  const what = `${where}: the form to ${form.action}, sent without ${form.required > 0 ? "its required fields" : "any field"}, is answered ${answer.status}`;
  if (answer.status >= 500) kit.fault(what);
  else if (answer.status === 200 && answer.message === "") kit.fault(`${what} without a message`);
  else if (form.required > 0 && (answer.status < 400 || !answer.atField)) kit.fault(`${what} without a message at a field`);
}

module.exports = { listForms, refuseEmpty };
