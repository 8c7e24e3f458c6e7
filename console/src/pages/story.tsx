// A payment's story: what happened, what rules said, and what the ledger has of it.

import { useState } from "preact/hooks";
import { get, Refusal, send } from "../data/api";
import { useAsk } from "../data/ask";
import { bytes, count, instant, micros, millis, minor, money } from "../data/format";
import type { Kept, LedgerEntry, Participant, Receipt, Story, Transfer, Turn } from "../data/kinds";
import { link } from "../data/router";
import { Badge, Copy, Digest, Empty, Facts, Head, Json, Section, Shown, Time } from "../parts/basics";
import { FindById } from "../parts/find";
import { Table } from "../parts/table";
import { diagram, type Mark, stepsOf } from "../story/diagram";
import { type Lookup, lookupOf } from "../story/lookup";
import { bodyText, type Message, messagesOf } from "../story/messages";
import { masked } from "../story/mask";
import { DiagramView } from "../story/view";
import { words } from "../words";
import { codeOf, transferTone } from "./live";


const w = words.story;

/** All that the page shows. */
type Known = {
  stories: Story[];
  lookup: Lookup;
  /** What the hub has stored: documents by their collection and id. */
  documents: Stored[];
  transfer: Transfer | undefined;
  receipts: Receipt[];
  entries: LedgerEntry[];
  participants: Participant[];
  quote: string | undefined;
};

/** A document of a component. */
type Stored = { place: string; version: number; body: Record<string, unknown> };

/** What the host has of it, or nothing if it has none or does not show it. */
async function maybe<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refusal && (error.status === 404 || error.status === 400)) return undefined;
    throw error;
  }
}

/** The quote on which a transfer rests, as the inputs of rules have it. */
export function quoteOf(receipts: Receipt[]): string | undefined {
  for (const { receipt } of receipts) {
    const agreement = receipt?.input["agreement"] as { request?: Record<string, unknown> } | null | undefined;
    const id = agreement?.request?.["quote-id"];
    if (typeof id === "string") return id;
  }
  return undefined;
}

/** Who pays whom, as the inputs of rules have it. */
export function sidesOf(value: unknown): { payer?: string; payee?: string } {
  if (value === null || typeof value !== "object") return {};
  const { "payer-fsp": payer, "payee-fsp": payee } = value as Record<string, unknown>;
  if (typeof payer === "string" && typeof payee === "string") return { payer, payee };
  for (const inner of Object.values(value)) {
    const found = sidesOf(inner);
    if (found.payer !== undefined) return found;
  }
  return {};
}

/** The document of this id, if the component has it. */
async function stored(collection: string, id: string | undefined, signal: AbortSignal): Promise<Stored | undefined> {
  if (!id) return undefined;
  const found = await maybe(get<Kept<Record<string, unknown>>[]>(`/documents/${collection}?limit=1&prefix=${encodeURIComponent(id)}`, { signal }));
  const [kept] = found ?? [];
  return kept?.id === id ? { place: `${collection}/${id}`, version: kept.version, body: kept.body } : undefined;
}

/** A text in a document, by the names that lead to it. */
function textAt(of: Stored | undefined, ...names: string[]): string | undefined {
  let value: unknown = of?.body;
  for (const name of names) value = value !== null && typeof value === "object" ? (value as Record<string, unknown>)[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** The subject of a quote's payee, under which its lookup is. */
export function payeeSubject(quote: Stored | undefined): string | undefined {
  const kind = textAt(quote, "request", "payee", "idType");
  const identifier = textAt(quote, "request", "payee", "identifier");
  if (!kind || !identifier) return undefined;
  const sub = textAt(quote, "request", "payee", "subIdOrType");
  return `party:${[kind, identifier, sub].filter(Boolean).join("/")}`;
}

async function load(id: string, signal: AbortSignal): Promise<Known> {
  const at = encodeURIComponent(id);
  const stories = await get<Story[]>(`/events/${at}`, { signal });
  const isTransfer = stories.some((story) => story.subject.startsWith("transfer:"));
  const [transfer, receipts, entries, participants, kept] = await Promise.all([
    isTransfer ? maybe(get<Transfer>(`/transfers/${at}`, { signal })) : undefined,
    get<Receipt[]>(`/receipts/${at}`, { signal }),
    maybe(get<Kept<LedgerEntry>[]>(`/documents/accounts-and-balances/entries?prefix=${encodeURIComponent(`${id}:`)}`, { signal })),
    maybe(get<{ items: Participant[] }>("/participants?limit=1000", { signal })),
    isTransfer ? stored("transfers/transfers", id, signal) : undefined,
  ]);
  const agreement = await stored("quoting/agreements", textAt(kept, "condition"), signal);
  const quote = quoteOf(receipts) ?? textAt(agreement, "request", "quoteId");
  if (quote !== undefined && quote !== id) {
    const [quoted, judged] = await Promise.all([
      get<Story[]>(`/events/${encodeURIComponent(quote)}`, { signal }),
      get<Receipt[]>(`/receipts/${encodeURIComponent(quote)}`, { signal }),
    ]);
    stories.unshift(...quoted);
    receipts.unshift(...judged);
  }
  const isQuote = stories.some((story) => story.subject.startsWith("quote:"));
  const quoted = await stored("quoting/quotes", isQuote ? (quote ?? id) : undefined, signal);
  const payment = stories.flatMap((story) => story.turns);
  const subject = payeeSubject(quoted);
  const about = subject ? await get<Story[]>(`/events/${encodeURIComponent(subject)}`, { signal }) : [];
  const lookup = lookupOf(about.flatMap((story) => story.turns), payment, textAt(quoted, "payerFsp"));
  const posted = (entries ?? []).map((one) => one.body).sort((a, b) => a.postedAt - b.postedAt);
  const documents = [quoted, agreement, kept].filter((one) => one !== undefined);
  return { stories, lookup, documents, transfer, receipts, entries: posted, participants: participants?.items ?? [], quote };
}

/** The page. */
export function StoryPage({ id }: { id: string }) {
  const asked = useAsk(id || undefined, (signal) => load(id, signal));
  return (
    <>
      <Head title={id ? w.of(id.length > 13 ? `${id.slice(0, 8)}…` : id) : w.title} at={asked.at}>
        {id !== "" && (
          <button type="button" onClick={asked.again}>
            {words.state.refresh}
          </button>
        )}
      </Head>
      {id === "" && (
        <>
          <FindById />
          <Empty title={w.noId} hint={w.noIdHint} />
        </>
      )}
      {id !== "" && <Shown of={asked}>{(known) => <Whole id={id} known={known} />}</Shown>}
    </>
  );
}

function Whole({ id, known }: { id: string; known: Known }) {
  const turns = [...known.lookup.turns, ...known.stories.flatMap((story) => story.turns)];
  if (turns.length === 0 && !known.transfer && known.receipts.length === 0) {
    return (
      <>
        <FindById />
        <Empty title={w.empty} hint={w.emptyHint} />
      </>
    );
  }
  return (
    <>
      <Summary id={id} known={known} />
      <What known={known} turns={turns} />
      <Ledger entries={known.entries} />
      <Documents all={known.documents} />
      <Receipts id={id} all={known.receipts} />
    </>
  );
}

function Summary({ id, known }: { id: string; known: Known }) {
  const { transfer } = known;
  const t = words.transfers;
  const facts: [string, preact.ComponentChildren][] = [[transfer ? t.id : w.id, <code class="whole">{id}</code>]];
  if (known.quote && known.quote !== id) {
    facts.push([w.quote, <a href={link("story", known.quote)}><code>{known.quote}</code></a>]);
  }
  if (transfer) {
    facts.push(
      [t.state, <Badge tone={transferTone(transfer.state)}>{t.states[transfer.state] ?? transfer.state}</Badge>],
      [t.amount, <strong class="tabular">{money(transfer.amount.amount, transfer.amount.currency)}</strong>],
      [t.payer, <a href={link("participants", transfer.payerFsp)}>{transfer.payerFsp}</a>],
      [t.payee, <a href={link("participants", transfer.payeeFsp)}>{transfer.payeeFsp}</a>],
      [t.came, <Time ms={transfer.beganAt} millis />],
    );
    if (transfer.endedAt && transfer.beganAt) facts.push([t.took, millis(transfer.endedAt - transfer.beganAt)]);
    const code = codeOf(transfer);
    if (code) facts.push([t.code, <code>{code}</code>]);
  }
  return (
    <div class="panel summary">
      <Facts of={facts} />
      <div class="tools">
        <Copy label={w.bundle} text={() => JSON.stringify(masked({ id, ...known, participants: undefined }), null, 2)} />
      </div>
    </div>
  );
}

function What({ known, turns }: { known: Known; turns: Turn[] }) {
  const [withCalls, setWithCalls] = useState(false);
  const [chosen, setChosen] = useState<number>();
  if (turns.length === 0) return null;
  const fspOf = (url: string): string | undefined =>
    known.participants.find((one) => one.endpoints.some((endpoint) => url.startsWith(endpoint.value)))?.id;
  const judged = sidesOf(known.receipts.map((one) => one.receipt?.input));
  const payer = known.transfer?.payerFsp ?? judged.payer ?? w.payer;
  const payee = known.transfer?.payeeFsp ?? judged.payee ?? w.payee;
  const sides = { payer, payee, fspOf };
  const drawn = diagram(turns, sides, withCalls);
  const earlier = known.stories.reduce((all, story) => all + story.earlier, 0);
  const mark = chosen === undefined ? undefined : drawn.marks[chosen];
  const kept = turns.some((turn) => messagesOf(turn).length > 0);
  return (
    <Section
      title={w.diagram}
      hint={w.diagramHint}
      tools={
        <label class="check">
          <input type="checkbox" checked={withCalls} onChange={(event) => setWithCalls(event.currentTarget.checked)} />
          <span>{w.calls}</span>
        </label>
      }
    >
      {earlier > 0 && <p class="hint">{w.earlier(earlier)}</p>}
      <p class="hint">{w.lookup[known.lookup.how]}{known.lookup.others > 0 && ` ${w.lookupOthers(known.lookup.others)}`}</p>
      <div class={`story ${mark ? "with-turn" : ""}`}>
        <DiagramView of={drawn} chosen={chosen} choose={(one) => setChosen(one === chosen ? undefined : one)} />
        {mark && <TurnView key={chosen} mark={mark} keeps={kept} receipts={known.receipts} close={() => setChosen(undefined)} />}
      </div>
    </Section>
  );
}

/** A message as it was: its line, its headers and its body. */
function MessageView({ of }: { of: Message }) {
  const cut = of.body !== null && new TextEncoder().encode(of.body).length < of.body_bytes;
  return (
    <div class="kept-message">
      <h4>{w.parts[of.part]}</h4>
      <p><code class="whole">{of.line}</code></p>
      <dl class="headers">
        {of.headers.map(([name, value]) => (
          <div>
            <dt><code>{name}</code></dt>
            <dd><code class="whole">{value}</code></dd>
          </div>
        ))}
      </dl>
      {of.headers_left_out > 0 && <p class="hint">{w.leftOut(of.headers_left_out)}</p>}
      {of.body ? <pre class="code" tabIndex={0}>{bodyText(of.body)}</pre> : <p class="hint">{of.body_bytes > 0 ? w.bodyNotKept(bytes(of.body_bytes)) : w.noBody}</p>}
      {cut && of.body && <p class="hint">{w.bodyCut(bytes(of.body_bytes))}</p>}
    </div>
  );
}

/** The messages of an arrow, or why there are none. */
function Messages({ mark, keeps }: { mark: Mark; keeps: boolean }) {
  if (!mark.isMessage) return null;
  if (mark.messages.length > 0) return <>{mark.messages.map((one) => <MessageView of={one} />)}</>;
  return <p class="hint">{keeps ? w.messageNotKept : w.messagesNotKept}</p>;
}

function TurnView({ mark, keeps, receipts, close }: { mark: Mark; keeps: boolean; receipts: Receipt[]; close: () => void }) {
  const of = mark.turn;
  const judged = stepsOf(of, "Judged");
  const fuelOf = (step: unknown, rule: unknown): string => {
    const found = receipts.find(
      ({ receipt, at }) => receipt?.step === step && receipt?.rule === rule && Math.abs(at - of.at) < 1000 + of.took_us / 1000,
    );
    return found?.receipt ? `${count(found.receipt.fuel)} ${w.fuel.toLowerCase()}` : "";
  };
  const list = (kind: string, text: (step: Record<string, unknown>) => string) => stepsOf(of, kind).map(text);
  const lists: [string, string[]][] = [
    [w.verdicts, judged.map((one) => `${one["rule"]}: ${one["verdict"]} (${micros(Number(one["took_us"]))}) ${fuelOf(one["step"], one["rule"])}`)],
    [w.calledOthers, list("Called", (one) => `${one["function"]} (${micros(Number(one["took_us"]))})`)],
    [w.wrote, list("Wrote", (one) => String(one["document"]))],
    [w.published, list("Published", (one) => `${one["event"]} → ${(one["to"] as string[]).join(", ")}`)],
    [w.sent, list("Sent", (one) => String(one["request"]))],
    [w.reminded, list("Reminded", (one) => `${one["id"]}, ${instant(Number(one["due"]))}`)],
    [w.answered, list("Answered", (one) => String(one["status"]))],
    [w.reported, list("Reported", (one) => String(one["outcome"]))],
  ];
  const known = new Set(["Message", "Judged", "Called", "Wrote", "Published", "Sent", "Reminded", "Answered", "Reported"]);
  const others = of.steps.filter((step) => !Object.keys(step).some((kind) => known.has(kind)));
  return (
    <aside class="turn" aria-label={w.turn(of.turn)}>
      <header class="section-head">
        <h3>{w.turn(of.turn)}</h3>
        <button type="button" onClick={close}>
          {words.state.close}
        </button>
      </header>
      <p>{w.kinds[of.kind] ?? of.kind}</p>
      <Messages mark={mark} keeps={keeps} />
      <Facts
        of={[
          [w.component, <code>{of.component}</code>],
          [w.function, <code class="whole">{of.function}</code>],
          [w.at, <Time ms={of.at} millis />],
          [w.took, micros(of.took_us)],
          [w.release, <a href={link("releases", String(of.release))}>{of.release}</a>],
          [w.ended, typeof of.ended === "string" ? of.ended : <code>{JSON.stringify(of.ended)}</code>],
          ...(of.cause === null ? [] : ([[w.cause, w.turn(of.cause)]] as [string, string][])),
          ...(of.trace ? ([[w.trace, <code class="whole">{of.trace}</code>]] as [string, preact.ComponentChildren][]) : []),
        ]}
      />
      {lists.map(
        ([title, items]) =>
          items.length > 0 && (
            <>
              <h4>{title}</h4>
              <ul class="plain">
                {items.map((item) => (
                  <li>
                    <code>{item}</code>
                  </li>
                ))}
              </ul>
            </>
          ),
      )}
      {others.length > 0 && (
        <>
          <h4>{w.others}</h4>
          <Json of={others} />
        </>
      )}
    </aside>
  );
}

function Ledger({ entries }: { entries: LedgerEntry[] }) {
  return (
    <Section title={w.ledger}>
      {entries.length === 0 ? (
        <Empty title={w.ledgerEmpty} hint={w.ledgerEmptyHint} />
      ) : (
        <Table
          label={w.ledger}
          rows={entries}
          columns={[
            { head: w.at, cell: (one) => <Time ms={one.postedAt} millis /> },
            { head: w.type, cell: (one) => one.entryType.toLowerCase().replaceAll("_", " ") },
            { head: w.debit, cell: (one) => <code>{one.debitAccount}</code>, wide: true },
            { head: w.credit, cell: (one) => <code>{one.creditAccount}</code>, wide: true },
            { head: w.amount, number: true, cell: (one) => `${minor(one.amount, one.scale)} ${one.currency}` },
          ]}
        />
      )}
    </Section>
  );
}

/** What the hub has stored of the payment. It is no message, and has what is in force. */
function Documents({ all }: { all: Stored[] }) {
  if (all.length === 0) return null;
  return (
    <Section title={w.documents} hint={w.documentsHint}>
      {all.map((one) => (
        <details class="receipt stored">
          <summary>
            <strong>{one.place.split("/").slice(0, 2).join(" / ")}</strong>
            <span class="tabular push">{w.version(one.version)}</span>
          </summary>
          <Json of={unfolded(one.body)} />
        </details>
      ))}
    </Section>
  );
}

/** A document whose bodies of messages are JSON and not texts of JSON. */
function unfolded(body: Record<string, unknown>): Record<string, unknown> {
  const members = Object.entries(body).map(([name, value]) => {
    if (typeof value !== "string" || !value.startsWith("{")) return [name, value];
    try {
      return [name, JSON.parse(value) as unknown];
    } catch {
      return [name, value];
    }
  });
  return Object.fromEntries(members) as Record<string, unknown>;
}

function Receipts({ id, all }: { id: string; all: Receipt[] }) {
  return (
    <Section title={w.receipts}>
      {all.length === 0 ? <Empty title={w.receiptsEmpty} hint={w.receiptsEmptyHint} /> : all.map((one) => <ReceiptView key={one.id} of={one} id={id} />)}
    </Section>
  );
}

type Draft = { release: number; allows: boolean; verdicts: { rule: string; verdict: { outcome: string; violations?: { code: string; message: string }[] } }[]; leftOut: number };

/** Asks the rules of the current release about the input of a receipt. Nothing is decided. */
function WhatIf({ receipt }: { receipt: NonNullable<Receipt["receipt"]> }) {
  const [said, setSaid] = useState<Draft>();
  const [error, setError] = useState<Error>();
  const ask = async (): Promise<void> => {
    setError(undefined);
    try {
      const body = { subject: receipt.subject, input: receipt.input };
      setSaid(await send<Draft>({ method: "POST", path: `/what-if/${encodeURIComponent(receipt.step)}`, body }));
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <>
      <button type="button" onClick={() => void ask()}>
        {w.whatIf}
      </button>
      {said && (
        <span role="status">
          <Badge tone={said.allows ? "good" : "bad"}>
            {w.whatIfSaid(
              said.release,
              said.verdicts.map((one) => [`${one.rule}:`, one.verdict.outcome, ...(one.verdict.violations ?? []).map((v) => v.code)].join(" ")),
              said.leftOut,
            )}
          </Badge>
        </span>
      )}
      {error && <span role="alert">{error.message}</span>}
    </>
  );
}

export function ReceiptView({ of, id }: { of: Receipt; id: string }) {
  const [again, setAgain] = useState<Receipt["again"]>();
  const [error, setError] = useState<Error>();
  const [isAsked, setAsked] = useState(false);
  const { receipt } = of;
  if (!receipt) return <p class="hint">{w.shredded}</p>;
  const judge = async (): Promise<void> => {
    setAsked(true);
    setError(undefined);
    try {
      const subject = receipt.subject.split(":").pop() ?? id;
      const all = await get<Receipt[]>(`/receipts/${encodeURIComponent(subject)}?again=true`);
      setAgain(all.find((one) => one.id === of.id)?.again);
    } catch (failed) {
      setError(failed as Error);
    }
    setAsked(false);
  };
  const violations = receipt.verdict.violations ?? [];
  const verdict = [receipt.verdict.outcome, ...violations.map((one) => one.code)].join(" ");
  return (
    <details class="receipt">
      <summary>
        <Badge tone={receipt.verdict.outcome === "allow" ? "good" : "bad"}>{verdict}</Badge>
        <strong>{receipt.rule}</strong>
        <span class="hint">{receipt.step}</span>
        <span class="tabular push">{`${count(receipt.fuel)} ${w.fuel.toLowerCase()} · ${micros(receipt.tookUs)}`}</span>
      </summary>
      {violations.map((one) => (
        <p>
          <code>{one.code}</code> {one.message}
        </p>
      ))}
      <Facts
        of={[
          [w.at, <Time ms={of.at} millis />],
          [w.component, <span>{receipt.ruleVersion} <Digest text={receipt.digest} /></span>],
          [w.release, <a href={link("releases", String(receipt.release))}>{receipt.release}</a>],
        ]}
      />
      <div class="tools">
        <button type="button" disabled={isAsked} onClick={() => void judge()}>
          {w.judgeAgain}
        </button>
        {again && (
          <span role="status">
            <Badge tone={again.same ? "good" : "bad"}>
              {(again.same ? w.judgedSame : w.judgedOther)(again.verdict, count(again.fuel))}
            </Badge>
          </span>
        )}
        <WhatIf receipt={receipt} />
        {error && <span role="alert">{error.message}</span>}
      </div>
      <h3>{w.input}</h3>
      <Json of={receipt.input} />
    </details>
  );
}
