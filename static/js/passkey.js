// Asks the browser for a passkey and sends the answer with the form around the button.
"use strict";

(function () {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const keys = (list) => (list || []).map((key) => ({ ...key, id: bytes(key.id) }));

  async function create(options) {
    const made = await navigator.credentials.create({ publicKey: {
      ...options, challenge: bytes(options.challenge), user: { ...options.user, id: bytes(options.user.id) },
      excludeCredentials: keys(options.excludeCredentials),
    } });
    const answer = made.response;
    return { id: text(made.rawId), clientData: text(answer.clientDataJSON), authData: text(answer.getAuthenticatorData()), publicKey: text(answer.getPublicKey()) };
  }

  async function get(options) {
    const used = await navigator.credentials.get({ publicKey: {
      ...options, challenge: bytes(options.challenge), allowCredentials: keys(options.allowCredentials),
    } });
    const answer = used.response;
    return { id: text(used.rawId), clientData: text(answer.clientDataJSON), authData: text(answer.authenticatorData), signature: text(answer.signature) };
  }

  for (const part of document.querySelectorAll("[data-passkey]")) {
    if (!window.PublicKeyCredential) continue;
    const group = part.querySelector("[data-passkey-button]");
    const failed = part.querySelector("[data-passkey-failed]");
    part.querySelector("[data-passkey-missing]").hidden = true;
    group.hidden = false;
    group.querySelector("button").addEventListener("click", async () => {
      failed.hidden = true;
      try {
        const ask = part.dataset.passkey === "create" ? create : get;
        part.querySelector("input").value = JSON.stringify(await ask(JSON.parse(part.dataset.options)));
      } catch {
        failed.hidden = false;
        return;
      }
      part.closest("form").requestSubmit();
    });
  }
})();
