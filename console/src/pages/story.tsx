// A payment's story: what happened, what rules said, and what the ledger has of it.

import { useState } from "preact/hooks";
import { get, Refusal, send } from "../data/api";
import { useAsk } from "../data/ask";
import { count, instant, micros, millis, minor, money } from "../data/format";
import type { Kept, LedgerEntry, Participant, Receipt, Story, Transfer, Turn } from "../data/kinds";
import { link } from "../data/router";
import { Badge, Copy, Digest, Empty, Facts, Head, Json, Section, Shown, Time } from "../parts/basics";
import { Table } from "../parts/table";
import { diagram, stepsOf } from "../story/diagram";
import { masked } from "../story/mask";
import { DiagramView } from "../story/view";
import { words } from "../words";
import { codeOf, transferTone } from "./live";
import { FindById } from "./transfers";

const w = words.story;

/** All that the page shows. */
type Known = {
  stories: Story[];
  transfer: Transfer | undefined;
  receipts: Receipt[];
  entries: LedgerEntry[];
  participants: Participant[];
  quote: string | undefined;
};

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

async function load(id: string, signal: AbortSignal): Promise<Known> {
  const at = encodeURIComponent(id);
  const stories = await get<Story[]>(`/events/${at}`, { signal });
  const isTransfer = stories.some((story) => story.subject.startsWith("transfer:"));
  const [transfer, receipts, entries, participants] = await Promise.all([
    isTransfer ? maybe(get<Transfer>(`/transfers/${at}`, { signal })) : undefined,
    get<Receipt[]>(`/receipts/${at}`, { signal }),
    maybe(get<Kept<LedgerEntry>[]>(`/documents/accounts-and-balances/entries?prefix=${encodeURIComponent(`${id}:`)}`, { signal })),
    maybe(get<{ items: Participant[] }>("/participants?limit=1000", { signal })),
  ]);
  const quote = quoteOf(receipts);
  if (quote !== undefined && quote !== id) {
    const [quoted, judged] = await Promise.all([
      get<Story[]>(`/events/${encodeURIComponent(quote)}`, { signal }),
      get<Receipt[]>(`/receipts/${encodeURIComponent(quote)}`, { signal }),
    ]);
    stories.unshift(...quoted);
    receipts.unshift(...judged);
  }
  const posted = (entries ?? []).map((kept) => kept.body).sort((a, b) => a.postedAt - b.postedAt);
  return { stories, transfer, receipts, entries: posted, participants: participants?.items ?? [], quote };
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
          <Empty title={w.noId} />
        </>
      )}
      {id !== "" && <Shown of={asked}>{(known) => <Whole id={id} known={known} />}</Shown>}
    </>
  );
}

function Whole({ id, known }: { id: string; known: Known }) {
  const turns = known.stories.flatMap((story) => story.turns);
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
  const turn = turns.find((one) => one.turn === chosen);
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
      <div class={`story ${turn ? "with-turn" : ""}`}>
        <DiagramView of={drawn} chosen={chosen} choose={(one) => setChosen(one === chosen ? undefined : one)} />
        {turn && <TurnView of={turn} receipts={known.receipts} close={() => setChosen(undefined)} />}
      </div>
    </Section>
  );
}

function TurnView({ of, receipts, close }: { of: Turn; receipts: Receipt[]; close: () => void }) {
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
  const known = new Set(["Judged", "Called", "Wrote", "Published", "Sent", "Reminded", "Answered", "Reported"]);
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
      <p class="hint">{w.bodies}</p>
    </aside>
  );
}

function Ledger({ entries }: { entries: LedgerEntry[] }) {
  return (
    <Section title={w.ledger}>
      {entries.length === 0 ? (
        <Empty title={w.ledgerEmpty} />
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

function Receipts({ id, all }: { id: string; all: Receipt[] }) {
  return (
    <Section title={w.receipts}>
      {all.length === 0 ? <Empty title={w.receiptsEmpty} /> : all.map((one) => <ReceiptView key={one.id} of={one} id={id} />)}
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

function ReceiptView({ of, id }: { of: Receipt; id: string }) {
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
