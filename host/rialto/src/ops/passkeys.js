"use strict";
// What a button of a page does: its name is in `data-action`, and what it needs is in other `data-` attributes.
const said = document.querySelector("[role=status]");
const say = (text) => { said.textContent = text; };
const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const base64url = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const descriptors = (list) => list.map((one) => ({ ...one, id: bytes(one.id) }));

// Asks the host. An answer that is no success is an error with the host's words.
async function ask(method, path, body, confirmation) {
  const headers = { accept: "application/json" };
  if (body !== undefined) headers["content-type"] = "application/json";
  if (confirmation) headers["x-rialto-confirmation"] = confirmation;
  const answer = await fetch(path, { method, headers, body });
  const text = await answer.text();
  const read = text ? JSON.parse(text) : {};
  if (!answer.ok) throw Object.assign(new Error(read.detail || answer.statusText), { kind: read.type });
  return read;
}

async function create(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: descriptors(options.excludeCredentials),
  };
  const made = await navigator.credentials.create({ publicKey });
  const { clientDataJSON, attestationObject } = made.response;
  const transports = made.response.getTransports ? made.response.getTransports() : [];
  return told(made, {
    clientDataJSON: base64url(clientDataJSON),
    attestationObject: base64url(attestationObject),
    transports,
  });
}

async function sign(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: descriptors(options.allowCredentials),
  };
  const made = await navigator.credentials.get({ publicKey });
  const { clientDataJSON, authenticatorData, signature, userHandle } = made.response;
  const response = {
    clientDataJSON: base64url(clientDataJSON),
    authenticatorData: base64url(authenticatorData),
    signature: base64url(signature),
  };
  if (userHandle) response.userHandle = base64url(userHandle);
  return told(made, response);
}

const told = (made, response) => ({ id: made.id, rawId: base64url(made.rawId), type: made.type, response });

// Sends a request, and confirms it if the host wants that.
async function confirmed(method, target) {
  try {
    return await ask(method, target);
  } catch (error) {
    if (error.kind !== "urn:rialto:problem:confirmation-required") throw error;
  }
  const begun = await ask("POST", "/confirmations", JSON.stringify({ method, target }));
  const credential = await sign(begun.publicKey);
  await ask("POST", `/confirmations/${begun.id}`, JSON.stringify({ credential }));
  return ask(method, target, undefined, begun.id);
}

const actions = {
  async register(button) {
    const field = document.getElementById("label");
    if (!field.reportValidity()) return;
    const label = field.value.trim();
    const begun = await ask("POST", "/passkeys/registrations");
    const credential = await create(begun.publicKey);
    await ask("POST", "/passkeys", JSON.stringify({ id: begun.id, label, credential }));
    location.reload();
  },
  async approve(button) {
    await confirmed("POST", `/passkeys/${button.dataset.id}/approve`);
    location.reload();
  },
  async end(button) {
    if (!confirm(`End the passkey ${button.dataset.label}? There is no way back.`)) return;
    await ask("DELETE", `/passkeys/${button.dataset.id}`);
    location.reload();
  },
  async confirm(button) {
    const credential = await sign(JSON.parse(button.dataset.options));
    await ask("POST", `/confirmations/${button.dataset.id}`, JSON.stringify({ credential }));
    button.remove();
    say("Confirmed. You can close this page.");
  },
};

for (const button of document.querySelectorAll("button[data-action]")) {
  button.addEventListener("click", async () => {
    button.disabled = true;
    say("");
    try {
      await actions[button.dataset.action](button);
    } catch (error) {
      say(error.name === "NotAllowedError" ? "The passkey was not used: it was refused, or it took too long." : error.message);
    }
    button.disabled = false;
  });
}
