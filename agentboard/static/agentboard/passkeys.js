// Passkeys (WebAuthn): <form data-passkey="sign-in | confirm | add"> with a hidden field `credential`. Signing in asks the
// form's address for what the browser is to sign; the others find it in the element #passkey-options.
(() => {
  "use strict";
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const named = (credentials) => (credentials || []).map((each) => ({ ...each, id: bytes(each.id) }));

  async function made({ publicKey: asked }) {
    const credential = await navigator.credentials.create({ publicKey: {
      ...asked,
      challenge: bytes(asked.challenge),
      user: { ...asked.user, id: bytes(asked.user.id) },
      excludeCredentials: named(asked.excludeCredentials),
    } });
    return packed(credential, {
      attestationObject: text(credential.response.attestationObject),
      transports: credential.response.getTransports?.() ?? [],
    });
  }

  async function shown({ publicKey: asked }) {
    const credential = await navigator.credentials.get({ publicKey: {
      ...asked, challenge: bytes(asked.challenge), allowCredentials: named(asked.allowCredentials),
    } });
    const { authenticatorData, signature, userHandle } = credential.response;
    return packed(credential, {
      authenticatorData: text(authenticatorData),
      signature: text(signature),
      userHandle: userHandle ? text(userHandle) : null,
    });
  }

  function packed(credential, response) {
    return {
      type: credential.type,
      id: credential.id,
      rawId: text(credential.rawId),
      authenticatorAttachment: credential.authenticatorAttachment ?? null,
      clientExtensionResults: credential.getClientExtensionResults(),
      response: { clientDataJSON: text(credential.response.clientDataJSON), ...response },
    };
  }

  async function options(form) {
    const here = document.getElementById("passkey-options");
    if (here) return JSON.parse(here.textContent);
    const answer = await fetch(form.action, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error("The server gave no challenge. Wait a minute, then try again.");
    return (await answer.json()).request_options;
  }

  const REASONS = {
    NotAllowedError: "Nothing was signed: it was stopped, or took too long.",
    InvalidStateError: "This device has a passkey for this account already.",
    SecurityError: "Passkeys need this page by its name and over https (or at localhost).",
    NotSupportedError: "This device cannot make such a passkey.",
  };

  const named_host = !/^[\d.]+$|^\[/.test(location.hostname); // no passkey belongs to a number
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    if (!window.PublicKeyCredential || !named_host) continue;
    form.hidden = false;
    const said = form.querySelector("[data-said]");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      said.hidden = true;
      try {
        const asked = await options(form);
        form.elements.credential.value = JSON.stringify(await (form.dataset.passkey === "add" ? made(asked) : shown(asked)));
        form.submit();
      } catch (error) {
        said.textContent = REASONS[error.name] ?? error.message;
        said.hidden = false;
      }
    });
  }
})();
