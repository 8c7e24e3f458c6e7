// Requests that wait for a checker: where they are listed, what they would change, and how they are decided.

import { type Change, get, onceKey, pages, Refusal } from "./api";
import type { Application, Participant, Request } from "./kinds";

/** Whether a request becomes true. */
export type Decision = "APPROVE" | "REJECT";

/** A request that waits. */
export type Waiting = {
  id: string;
  kind: string;
  participant: string;
  target: string | undefined;
  now: unknown;
  then: unknown;
  reason: string | undefined;
  maker: string;
  madeAt: number;
  /** The certificate request of an order. */
  certificateRequest: string | undefined;
  /** Whether a decision takes a note for the maker. */
  takesNote: boolean;
  decide: (decision: Decision, note: string) => Change;
};

/** The paths of a participant's requests: of the list of those that wait, and of the approval of one. */
const LISTS: [string, (request: Request) => string][] = [
  ["/funds/pending", (one) => `funds/${one.id}`],
  ["/liquidity-cover-reservations/pending", (one) => `liquidity-cover-reservations/${one.id}`],
  ["/state-updates/pending", (one) => `state-updates/${one.id}`],
  ["/accounts/pending", (one) => `accounts/${one.id}`],
  ["/accounts/status-updates/pending", (one) => `accounts/${one.target}/status-updates/${one.id}`],
  ["/accounts/limit-updates/pending", (one) => `accounts/${one.target}/limit-updates/${one.id}`],
  ["/accounts/threshold-updates/pending", (one) => `accounts/${one.target}/threshold-updates/${one.id}`],
  ["/endpoint-updates/pending", (one) => `endpoint-updates/${one.id}`],
  ["/source-address-updates/pending", (one) => `source-address-updates/${one.id}`],
  ["/certificates/pending", (one) => `certificates/${one.id}`],
];

/** The most requests of a kind that are looked at. */
const LISTED_MAX = 10_000;

/** The value that a request would give to its target. */
const VALUE: Record<string, string> = {
  state: "state",
  "account-status": "status",
  "account-limit": "limit",
  "account-threshold": "threshold",
  endpoints: "endpoints",
  "source-addresses": "sourceAddresses",
};

/** What is now and what would be. */
export function sidesOf(request: Request): { now: unknown; then: unknown } {
  const value = VALUE[request.kind];
  const then = value === undefined ? request.payload : request.payload[value];
  switch (request.kind) {
    case "account-status":
      return { now: request.basedOn === true ? "ENABLED" : "DISABLED", then };
    case "certificate":
      // The key's fingerprint is shown instead of the text of the order.
      return { now: null, then: null };
    default:
      return { now: value === undefined ? null : request.basedOn, then };
  }
}

function waitingFor(request: Request, path: string): Waiting {
  const order = request.payload["certificateRequest"];
  return {
    id: request.id,
    kind: request.kind,
    participant: request.participant,
    target: request.target,
    ...sidesOf(request),
    reason: request.reason,
    maker: request.maker,
    madeAt: request.madeAt,
    certificateRequest: typeof order === "string" ? order : undefined,
    takesNote: true,
    decide: (decision, note) => ({
      method: "POST",
      path: `/participants/${encodeURIComponent(request.participant)}/${path}`,
      body: { decision, request: request.id, ...(note ? { note } : {}) },
      headers: { "Idempotency-Key": onceKey() },
    }),
  };
}

function ofApplication(application: Application): Waiting {
  return {
    id: application.id,
    kind: "application",
    participant: application.participant,
    target: undefined,
    now: null,
    then: { label: application.label },
    reason: undefined,
    maker: application.maker,
    madeAt: application.createdAt,
    certificateRequest: undefined,
    takesNote: false,
    decide: (decision) => ({ method: "POST", path: `/app-register/${application.id}/decision`, body: { decision } }),
  };
}

/** Nothing, where a scheme does not serve a list. */
function missing(error: unknown): undefined {
  if (error instanceof Refusal && error.status === 404) return undefined;
  throw error;
}

/** All applications; none where the scheme knows none. */
export async function applications(signal: AbortSignal): Promise<Application[] | undefined> {
  const found = await pages<Application>("/app-register?limit=1000", LISTED_MAX, signal).catch(missing);
  return found?.items;
}

/** All requests that wait, the oldest first; of one participant if it is named. */
export async function waiting(signal: AbortSignal, participant?: string): Promise<Waiting[]> {
  const only = participant === undefined ? "" : `&participant=${encodeURIComponent(participant)}`;
  const lists = LISTS.map(async ([list, path]) => {
    const found = await pages<Request>(`${list}?limit=1000${only}`, LISTED_MAX, signal).catch(missing);
    return (found?.items ?? []).map((request) => waitingFor(request, `${path(request)}/approval`));
  });
  const [applying, asked, ...rest] = await Promise.all([joining(signal, participant), applications(signal), ...lists]);
  const pending = (asked ?? []).filter((one) => one.state === "PENDING" && (participant === undefined || one.participant === participant));
  return [...applying, ...pending.map(ofApplication), ...rest.flat()].sort((a, b) => a.madeAt - b.madeAt);
}

/** Participants that wait to be taken in. */
async function joining(signal: AbortSignal, participant?: string): Promise<Waiting[]> {
  const all =
    participant === undefined
      ? (await pages<Participant>("/participants?state=PEND-APPROVAL&limit=1000", LISTED_MAX, signal)).items
      : [await get<Participant>(`/participants/${encodeURIComponent(participant)}`, { signal })];
  return all.flatMap((one) => (one.state === "PEND-APPROVAL" && one.request ? [waitingFor(one.request, "approval")] : []));
}
