// Requests of makers that wait for a checker, with what would change side by side.

import { get, onceKey, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import { money } from "../data/format";
import type { Participant, Request } from "../data/kinds";
import { link } from "../data/router";
import { useRole, useSession } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Empty, Head, Shown, Time } from "../parts/basics";
import { words } from "../words";

const w = words.requests;

/** Lists of waiting requests, and the path of a decision about one of them. */
const LISTS: [string, (request: Request) => string][] = [
  ["/funds/pending", (one) => `/participants/${one.participant}/funds/${one.id}/approval`],
  ["/liquidity-cover-reservations/pending", (one) => `/participants/${one.participant}/liquidity-cover-reservations/${one.id}/approval`],
  ["/state-updates/pending", (one) => `/participants/${one.participant}/state-updates/${one.id}/approval`],
  ["/accounts/pending", (one) => `/participants/${one.participant}/accounts/${one.id}/approval`],
  ["/accounts/status-updates/pending", (one) => `/participants/${one.participant}/accounts/${one.target}/status-updates/${one.id}/approval`],
  ["/accounts/limit-updates/pending", (one) => `/participants/${one.participant}/accounts/${one.target}/limit-updates/${one.id}/approval`],
  ["/accounts/threshold-updates/pending", (one) => `/participants/${one.participant}/accounts/${one.target}/threshold-updates/${one.id}/approval`],
  ["/endpoint-updates/pending", (one) => `/participants/${one.participant}/endpoint-updates/${one.id}/approval`],
  ["/source-address-updates/pending", (one) => `/participants/${one.participant}/source-address-updates/${one.id}/approval`],
  ["/certificates/pending", (one) => `/participants/${one.participant}/certificates/${one.id}/approval`],
];

type Waiting = { request: Request; path: string };

async function waiting(signal: AbortSignal): Promise<Waiting[]> {
  const missing = (error: unknown): undefined => {
    // A scheme without certificates serves no list of them.
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  };
  const lists = LISTS.map(async ([list, path]) => {
    const found = await get<{ items: Request[] }>(`${list}?limit=1000`, { signal }).catch(missing);
    return (found?.items ?? []).map((request) => ({ request, path: path(request) }));
  });
  const applying = get<{ items: Participant[] }>("/participants?state=PEND-APPROVAL&limit=1000", { signal }).then(({ items }) =>
    items.flatMap(({ id, request }) => (request ? [{ request, path: `/participants/${id}/approval` }] : [])),
  );
  const all = (await Promise.all([...lists, applying])).flat();
  return all.sort((a, b) => a.request.madeAt - b.request.madeAt);
}

/** The page. */
export function Requests() {
  const all = useAsk("requests", waiting, 5000);
  return (
    <>
      <Head title={w.title} hint={w.intro} at={all.at} />
      <Shown of={all}>
        {(found) =>
          found.length === 0 ? (
            <Empty title={w.empty} hint={w.emptyHint} />
          ) : (
            <div class="cards">
              {found.map((one) => (
                <Card key={one.request.id} of={one} again={all.again} />
              ))}
            </div>
          )
        }
      </Shown>
    </>
  );
}

function Card({ of: { request, path }, again }: { of: Waiting; again: () => void }) {
  const isChecker = useRole("checker");
  const { person } = useSession();
  const isOwn = request.maker === person;
  const kind = w.kinds[request.kind] ?? request.kind;
  const decide = (decision: "APPROVE" | "REJECT") => (
    <Action
      label={decision === "APPROVE" ? w.approve : w.reject}
      text={(decision === "APPROVE" ? w.approveText : w.rejectText)(kind, request.participant)}
      danger={decision === "REJECT"}
      reason={w.note}
      done={w.decided[decision]}
      after={again}
      change={(note) => ({
        method: "POST",
        path,
        body: { decision, request: request.id, ...(note ? { note } : {}) },
        headers: { "Idempotency-Key": onceKey() },
      })}
    />
  );
  return (
    <article class="card request" aria-label={`${kind}, ${request.participant}`}>
      <header class="section-head">
        <h2>{kind}</h2>
        <a href={link("participants", request.participant)}>{request.participant}</a>
        {request.target && request.target.length <= 8 && <Badge tone="quiet">{request.target}</Badge>}
      </header>
      <div class="sides">
        <div>
          <h3>{w.now}</h3>
          <Value of={request.kind === "participant" ? null : request.basedOn} />
        </div>
        <div>
          <h3>{w.then}</h3>
          <Value of={request.payload} />
        </div>
      </div>
      <p>{request.reason}</p>
      <p class="hint">
        {w.maker} <strong>{request.maker}</strong>, <Time ms={request.madeAt} /> {words.utc}
      </p>
      {isOwn && <p class="hint">{w.own}</p>}
      {!isOwn && !isChecker && <p class="hint">{w.needsChecker}</p>}
      {!isOwn && isChecker && (
        <div class="tools">
          {decide("APPROVE")}
          {decide("REJECT")}
        </div>
      )}
    </article>
  );
}

/** A value in words. */
export function Value({ of }: { of: unknown }) {
  if (of === null || of === undefined) return <p class="hint">{w.absent}</p>;
  if (typeof of !== "object") return <p>{words.participants.states[String(of)] ?? String(of)}</p>;
  return (
    <dl class="facts lines">
      {Object.entries(flat(of)).map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A value's members, with the path of each in words. Amounts are one text. */
export function flat(value: object, before = ""): Record<string, string> {
  const members = value as Record<string, unknown>;
  if (typeof members["amount"] === "string" && typeof members["currency"] === "string" && Object.keys(members).length === 2) {
    return { [before || w.fields["amount"] || ""]: money(members["amount"], members["currency"]) };
  }
  const found: Record<string, string> = {};
  for (const [name, inner] of Object.entries(value)) {
    const word = Array.isArray(value) ? String(Number(name) + 1) : (w.fields[name] ?? name);
    const path = before && word ? `${before} ${word}` : before || word;
    if (inner !== null && typeof inner === "object") Object.assign(found, flat(inner, path));
    else found[path || name] = inner === null ? w.absent : String(inner);
  }
  return found;
}
