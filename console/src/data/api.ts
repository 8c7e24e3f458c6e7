// Requests to the host's API for operators. A session is in a cookie that no script can read. A token is exchanged for one, and
// forgotten at once.

import { words } from "../words";

/** A request that was not done, in the host's words (RFC 9457). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    detail: string,
    readonly problems: string[] = [],
    /** All that the host has said. */
    readonly said: Record<string, unknown> = {},
  ) {
    super(detail);
  }
}

let token: string | undefined;
let whenSignedOut: () => void = () => undefined;

/** Exchange a token for a session. The page has the token while it asks, and no longer. */
export async function exchange(shown: string): Promise<void> {
  token = shown;
  try {
    await ask("POST", "/session", undefined, {});
  } finally {
    token = undefined;
  }
}

/** Call this when the host no longer knows who asks. */
export function onSignedOut(call: () => void): void {
  whenSignedOut = call;
}

/** What is beside a request's method, path and body. */
export type Extras = { headers?: Record<string, string>; signal?: AbortSignal };

/** An answer: its body as text, and its version. */
type Answer = { text: string; etag: string | null };

async function ask(method: string, path: string, body: string | Blob | undefined, extras: Extras): Promise<Answer> {
  const headers: Record<string, string> = { accept: "application/json, text/plain;q=0.5", ...extras.headers };
  if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
  if (typeof body === "string") headers["content-type"] = "application/json";
  const init: RequestInit = { method, headers, credentials: "same-origin", cache: "no-store", redirect: "error" };
  if (body !== undefined) init.body = body;
  if (extras.signal) init.signal = extras.signal;
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (extras.signal?.aborted) throw error;
    throw new Refusal(0, "away", words.problem.away);
  }
  const text = await response.text();
  if (response.ok) return { text, etag: response.headers.get("etag") };
  if (response.status === 401) whenSignedOut();
  throw refusal(response.status, text);
}

/** What a refusal's body says. */
export function refusal(status: number, text: string): Refusal {
  try {
    const said = JSON.parse(text) as { type?: string; detail?: string; title?: string; problems?: string[] };
    const kind = said.type?.replace("urn:rialto:problem:", "") ?? "";
    return new Refusal(status, kind, said.detail ?? said.title ?? words.problem.unknown, said.problems ?? [], said);
  } catch {
    return new Refusal(status, "", words.problem.unknown);
  }
}

/** The JSON at a path. */
export async function get<T>(path: string, extras: Extras = {}): Promise<T> {
  return JSON.parse((await ask("GET", path, undefined, extras)).text) as T;
}

/** The JSON at a path, with its version for `If-Match`. */
export async function getVersioned<T>(path: string): Promise<{ value: T; etag: string | null }> {
  const { text, etag } = await ask("GET", path, undefined, {});
  return { value: JSON.parse(text) as T, etag };
}

/** The text at a path. */
export async function getText(path: string, accept: string, signal?: AbortSignal): Promise<string> {
  const extras: Extras = { headers: { accept } };
  if (signal) extras.signal = signal;
  return (await ask("GET", path, undefined, extras)).text;
}

/** Readiness is told with 503 too. */
export async function readiness(): Promise<{ ready: boolean; checks: { check: string; ok: boolean; says: string }[] }> {
  try {
    const response = await fetch("/health/ready", { cache: "no-store", credentials: "same-origin" });
    return await response.json();
  } catch {
    throw new Refusal(0, "away", words.problem.away);
  }
}

/** The body of an answer that goes on: a stream of events. By the session, as every other request. */
export async function stream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const headers: Record<string, string> = { accept: "text/event-stream" };
  let response: Response;
  try {
    response = await fetch(path, { headers, credentials: "same-origin", cache: "no-store", redirect: "error", signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Refusal(0, "away", words.problem.away);
  }
  if (response.ok && response.body) return response.body;
  if (response.status === 401) whenSignedOut();
  throw refusal(response.status, await response.text());
}

/** Send a file as it is. */
export async function upload<T>(path: string, file: Blob, mediaType: string): Promise<T> {
  const { text } = await ask("POST", path, file, { headers: { "content-type": mediaType } });
  return JSON.parse(text) as T;
}

/** A request that changes something. */
export type Change = { method: "POST" | "DELETE" | "PUT"; path: string; body?: unknown; headers?: Record<string, string> };

/** Send a change. With the id of a confirmation if there is one. */
export async function send<T>(change: Change, confirmation?: string): Promise<T | undefined> {
  const headers: Record<string, string> = { ...change.headers };
  if (confirmation) headers["X-Rialto-Confirmation"] = confirmation;
  const { text } = await ask(change.method, change.path, bodyOf(change), { headers });
  return text && text.startsWith("{") ? (JSON.parse(text) as T) : undefined;
}

function bodyOf(change: Change): string | undefined {
  return change.body === undefined ? undefined : JSON.stringify(change.body);
}

/** A confirmation with a passkey that waits. */
export type Confirmation = { id: string; page?: string; expires: number };

/** Begin to confirm a change with a passkey. */
export async function beginConfirmation(change: Change): Promise<Confirmation> {
  const body = { method: change.method, target: change.path, body: bodyOf(change) ?? "" };
  const { text } = await ask("POST", "/confirmations", JSON.stringify(body), {});
  return JSON.parse(text) as Confirmation;
}

/** Whether a confirmation is there. */
export async function isConfirmed(id: string): Promise<boolean> {
  return (await get<{ state: string }>(`/confirmations/${id}`)).state === "CONFIRMED";
}

/** A key by which a change is done once, however often it is sent. */
export function onceKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
}

/** All pages of a list, up to so many items. */
export async function pages<T>(path: string, most: number, signal?: AbortSignal): Promise<{ items: T[]; more: boolean }> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const joint = path.includes("?") ? "&" : "?";
    const next: string = cursor ? `${path}${joint}cursor=${encodeURIComponent(cursor)}` : path;
    const page: { items: T[]; nextCursor?: string } = await get(next, signal ? { signal } : {});
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && items.length < most);
  return { items, more: cursor !== undefined };
}
