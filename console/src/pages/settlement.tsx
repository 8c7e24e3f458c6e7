// Settlement: batches, settling them together, and what has become of settlements.

import { useState } from "preact/hooks";
import { get, getVersioned, onceKey, pages, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import { compare } from "../data/decimal";
import { money } from "../data/format";
import type { Cover, Money } from "../data/kinds";
import { link } from "../data/router";
import { useRole, useSession } from "../data/session";
import { type Balance, even, Matrix, type MatrixRow } from "../settlement/matrix";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Section, Shown, Time, type Tone } from "../parts/basics";
import { May } from "../parts/may";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.settlement;

type Batch = { id: string; model: string; currency: string; state: string; openedAt: number; closedBy?: string; reason?: string; settlement?: string; version: number };
type Act = { by: string; at: number; reason: string };
type Short = { participant: string; needs: Money; has: Money };
type Settlement = {
  id: string;
  model: string;
  automatic: boolean;
  batches: string[];
  state: string;
  created: Act;
  completed?: Act;
  aborted?: Act;
  short?: Short[];
};

/** The most batches, settlements and members that the page reads. */
const READ_MAX = 10_000;
/** The most payers whose settled funds are asked for. */
const PAYERS_MAX = 50;

/** The page: all batches and settlements, one batch, or one settlement. */
export function Settlements({ id }: { id: string | undefined }) {
  if (id === undefined) return <All />;
  return id.startsWith("batch:") ? <OneBatch id={id.slice(6)} /> : <One id={id} />;
}

const tone = (state: string): Tone => (state === "COMPLETED" || state === "SETTLED" ? "good" : state === "REFUSED" || state === "ABORTED" ? "bad" : state === "PENDING" ? "warn" : "quiet");
const canSettle = (batch: Batch): boolean => batch.state === "OPEN" || batch.state === "CLOSED";

function All() {
  const batches = useAsk("batches", (signal) => pages<Batch>("/settlement-batches?limit=1000", READ_MAX, signal), 10_000);
  const settlements = useAsk("settlements", (signal) => pages<Settlement>("/settlements?limit=1000", READ_MAX, signal), 10_000);
  const again = (): void => {
    batches.again();
    settlements.again();
  };
  return (
    <>
      <Head title={w.title} at={batches.at} />
      <Shown of={batches}>{({ items }) => <Batches of={items} again={again} />}</Shown>
      <Section title={w.settlements}>
        <Shown of={settlements}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={w.noSettlements} hint={w.noSettlementsHint} />
            ) : (
              <Table
                label={w.settlements}
                rows={[...items].sort((a, b) => b.created.at - a.created.at)}
                columns={[
                  { head: w.settlement, cell: (one) => <a href={link("settlement", one.id)}><code>{one.id}</code></a> },
                  { head: w.model, cell: (one) => one.model },
                  { head: w.state, cell: (one) => <Badge tone={tone(one.state)}>{w.statesOf[one.state] ?? one.state}</Badge> },
                  { head: w.by, cell: (one) => one.created.by },
                  { head: w.opened, cell: (one) => <Time ms={one.created.at} /> },
                ]}
              />
            )
          }
        </Shown>
      </Section>
    </>
  );
}

/** All batches. Those of one model can be chosen, and settled together. */
function Batches({ of, again }: { of: Batch[]; again: () => void }) {
  const isMaker = useRole("maker");
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const picked = of.filter((one) => chosen.has(one.id) && canSettle(one));
  const isOneModel = new Set(picked.map((one) => one.model)).size === 1;
  const choose = (id: string, isChosen: boolean): void => {
    const next = new Set(chosen);
    if (isChosen) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  const settled = (): void => {
    setChosen(new Set());
    again();
  };
  const tools = (
    <May roles={["maker"]} to={w.toSettle}>
      {picked.length > 0 && (isOneModel ? <Settle of={picked.map((one) => one.id)} again={settled} /> : <p class="hint">{w.oneModel}</p>)}
    </May>
  );
  return (
    <Section title={w.batches} tools={tools}>
      {of.length === 0 ? (
        <Empty title={w.noBatches} hint={w.noBatchesHint} />
      ) : (
        <Table
          label={w.batches}
          rows={[...of].sort((a, b) => b.openedAt - a.openedAt)}
          columns={[
            ...(isMaker
              ? [
                  {
                    head: w.choose,
                    quiet: true,
                    cell: (one: Batch) =>
                      canSettle(one) && (
                        <input
                          type="checkbox"
                          aria-label={w.chooseBatch(one.id)}
                          checked={chosen.has(one.id)}
                          onChange={(event) => choose(one.id, event.currentTarget.checked)}
                        />
                      ),
                  },
                ]
              : []),
            { head: w.batch, cell: (one) => <a href={link("settlement", `batch:${one.id}`)}><code>{one.id}</code></a> },
            { head: w.model, cell: (one) => one.model },
            { head: w.currency, cell: (one) => one.currency },
            { head: w.state, cell: (one) => <Badge tone={tone(one.state)}>{w.states[one.state] ?? one.state}</Badge> },
            { head: w.opened, cell: (one) => <Time ms={one.openedAt} /> },
          ]}
        />
      )}
    </Section>
  );
}

/** Who has too little, in a refusal. */
function shortOf(refusal: Refusal) {
  const short = refusal.said["short"];
  if (!Array.isArray(short)) return undefined;
  return <ShortList of={short as Short[]} />;
}

function ShortList({ of }: { of: Short[] }) {
  return (
    <>
      <p>{w.short}</p>
      <ul>
        {of.map((one) => (
          <li>{w.shortOf(one.participant, money(one.has.amount, one.has.currency), money(one.needs.amount, one.needs.currency))}</li>
        ))}
      </ul>
    </>
  );
}

function Settle({ of, again }: { of: string[]; again: () => void }) {
  return (
    <Action
      label={of.length === 1 ? w.settle : w.settleChosen(of.length)}
      text={of.length === 1 ? w.settleText(of[0] ?? "") : w.settleChosenText}
      reason={words.action.reason}
      needsReason
      done={w.settleDone}
      after={again}
      refused={shortOf}
      change={(reason) => ({ method: "POST", path: "/settlements", body: { batches: of, reason }, headers: { "Idempotency-Key": onceKey() } })}
    />
  );
}

type Funds = { participant: string; currency: string; has: string };
type ShownBatch = { batch: Batch; etag: string | null; positions: Balance[]; funds: Funds[] };

/** A batch with all its members, and the settled funds of those who pay. */
async function batchOf(id: string, signal: AbortSignal): Promise<ShownBatch> {
  const path = `/settlement-batches/${encodeURIComponent(id)}`;
  const { value, etag } = await getVersioned<Batch & { positions: Balance[]; nextCursor?: string }>(`${path}?limit=1000`);
  const positions = [...value.positions];
  let cursor = value.nextCursor;
  while (cursor && positions.length < READ_MAX) {
    const page: { positions: Balance[]; nextCursor?: string } = await get(`${path}?limit=1000&cursor=${encodeURIComponent(cursor)}`, { signal });
    positions.push(...page.positions);
    cursor = page.nextCursor;
  }
  const payers = canSettle(value) ? positions.filter((one) => one.net.direction === "PAYS").slice(0, PAYERS_MAX) : [];
  const funds = await Promise.all(payers.map(({ participant }) => fundsOf(participant, value, signal)));
  return { batch: value, etag, positions, funds: funds.flat() };
}

async function fundsOf(participant: string, { currency, model }: Batch, signal: AbortSignal): Promise<Funds[]> {
  try {
    const cover = await get<{ accounts: Cover[] }>(`/participants/${encodeURIComponent(participant)}/liquidity-cover`, { signal });
    const settlement = cover.accounts.find((one) => one.accountId === currency)?.settlement ?? [];
    const found = settlement.find((one) => one.settlementModel === model) ?? (settlement.length === 1 ? settlement[0] : undefined);
    return found ? [{ participant, currency, has: found.available.amount }] : [];
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}

function OneBatch({ id }: { id: string }) {
  const asked = useAsk(id, (signal) => batchOf(id, signal), 10_000);
  return (
    <>
      <Head title={w.batch} hint={id} at={asked.at} />
      <Shown of={asked}>
        {({ batch, etag, positions, funds }) => (
          <>
            <div class="panel summary">
              <Facts
                of={[
                  [w.state, <Badge tone={tone(batch.state)}>{w.states[batch.state] ?? batch.state}</Badge>],
                  [w.model, batch.model],
                  [w.currency, batch.currency],
                  [w.opened, <Time ms={batch.openedAt} />],
                  ...(batch.settlement ? ([[w.settlement, <a href={link("settlement", batch.settlement)}>{batch.settlement}</a>]] as [string, preact.ComponentChildren][]) : []),
                ]}
              />
              {canSettle(batch) && (
                <May roles={["maker"]} to={w.toSettle}>
                  <div class="tools">
                    <Settle of={[batch.id]} again={asked.again} />
                    {batch.state === "OPEN" && <Close of={batch} etag={etag} again={asked.again} />}
                  </div>
                </May>
              )}
            </div>
            <Checks of={[evenCheck(positions), ...(canSettle(batch) ? fundChecks(positions, funds) : [])]} />
            <Section title={w.positions} hint={w.heat}>
              <Matrix rows={positions} />
            </Section>
          </>
        )}
      </Shown>
    </>
  );
}

function Close({ of, etag, again }: { of: Batch; etag: string | null; again: () => void }) {
  return (
    <Action
      label={w.close}
      text={w.closeText(of.id)}
      danger
      reason={words.action.reason}
      needsReason
      done={w.closeDone}
      after={again}
      change={(reason) => ({
        method: "POST",
        path: `/settlement-batches/${encodeURIComponent(of.id)}/close`,
        body: { reason },
        headers: { "Idempotency-Key": onceKey(), ...(etag ? { "If-Match": etag } : {}) },
      })}
    />
  );
}

/** Something that was looked at, and whether it is well. */
type Checked = { tone: Tone; says: string };

function Checks({ of }: { of: Checked[] }) {
  return (
    <Section title={w.checks}>
      <ul class="verdicts">
        {of.map((one) => (
          <li>
            <Badge tone={one.tone}>{one.tone === "good" ? "✓" : one.tone === "bad" ? "✗" : "?"}</Badge> {one.says}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function evenCheck(rows: Balance[]): Checked {
  return even(rows) ? { tone: "good", says: w.sumEven } : { tone: "bad", says: w.sumUneven };
}

function fundChecks(rows: Balance[], funds: Funds[]): Checked[] {
  const payers = rows.filter((one) => one.net.direction === "PAYS");
  const found = funds.map(({ participant, currency, has }): Checked => {
    const needs = payers.find((one) => one.participant === participant)?.net.amount ?? "0";
    const isEnough = compare(has, needs) >= 0;
    return isEnough
      ? { tone: "good", says: w.funded(participant) }
      : { tone: "bad", says: w.unfunded(participant, money(has, currency), money(needs, currency)) };
  });
  const unknown = payers.length - funds.length;
  return unknown > 0 ? [...found, { tone: "quiet", says: w.unknownFunds(unknown) }] : found;
}

/** What must be so before a settlement is completed, or is so afterwards. */
function settlementChecks({ state }: Settlement, rows: MatrixRow[]): Checked[] {
  const checks = [evenCheck(rows)];
  if (state === "PENDING") {
    const owing = rows.find((one) => one.net.direction === "PAYS" && (!one.held || compare(one.held.amount, one.net.amount) < 0));
    checks.push(owing ? { tone: "bad", says: w.heldNotAll(owing.participant) } : { tone: "good", says: w.heldAll });
  }
  if (state === "COMPLETED") {
    const left = rows.filter((one) => !one.settled).length;
    checks.push(left > 0 ? { tone: "bad", says: w.settledNotAll(left) } : { tone: "good", says: w.settledAll });
  }
  return checks;
}

type ShownSettlement = { one: Settlement; etag: string | null; matrix: MatrixRow[] };

async function settlementOf(id: string, signal: AbortSignal): Promise<ShownSettlement> {
  const path = `/settlements/${encodeURIComponent(id)}`;
  const [{ value, etag }, matrix] = await Promise.all([
    getVersioned<Settlement>(path),
    pages<MatrixRow>(`${path}/matrix?limit=1000`, READ_MAX, signal),
  ]);
  return { one: value, etag, matrix: matrix.items };
}

function One({ id }: { id: string }) {
  const { person } = useSession();
  const asked = useAsk(id, (signal) => settlementOf(id, signal), 3000);
  return (
    <>
      <Head title={w.settlement} hint={id} at={asked.at} />
      <Shown of={asked}>
        {({ one, etag, matrix }) => (
          <>
            <div class="panel summary">
              <Facts
                of={[
                  [w.state, <Badge tone={tone(one.state)}>{w.statesOf[one.state] ?? one.state}</Badge>],
                  [w.model, one.model],
                  [w.by, one.created.by],
                  [w.opened, <Time ms={one.created.at} />],
                  [words.action.reason, one.created.reason],
                  ...acted(w.completedBy, one.completed),
                  ...acted(w.abortedBy, one.aborted),
                  [w.batches, one.batches.map((batch) => <a class="line" href={link("settlement", `batch:${batch}`)}>{batch}</a>)],
                ]}
              />
              <Decisions of={one} etag={etag} isOwn={one.created.by === person} again={asked.again} />
            </div>
            {one.short && one.short.length > 0 && (
              <div class="problem">
                <ShortList of={one.short} />
              </div>
            )}
            <Checks of={settlementChecks(one, matrix)} />
            <Section title={w.matrix} hint={w.heat}>
              <Matrix rows={matrix} isSettlement />
            </Section>
          </>
        )}
      </Shown>
    </>
  );
}

function acted(name: string, act: Act | undefined): [string, preact.ComponentChildren][] {
  return act ? [[name, <>{act.by}, <Time ms={act.at} /> {words.utc}: {act.reason}</>]] : [];
}

/** Completing and aborting. One that has settled by itself can still be aborted. */
function Decisions({ of, etag, isOwn, again }: { of: Settlement; etag: string | null; isOwn: boolean; again: () => void }) {
  const isPending = of.state === "PENDING";
  if (!isPending && !(of.state === "COMPLETED" && of.automatic)) return null;
  if (isOwn) return <p class="hint may">{w.own}</p>;
  const decide = (verb: "complete" | "abort") => (
    <Action
      label={verb === "complete" ? w.complete : w.abort}
      text={verb === "complete" ? w.completeText : w.abortText}
      danger={verb === "abort"}
      reason={words.action.reason}
      needsReason
      done={verb === "complete" ? w.completeDone : w.abortDone}
      after={again}
      refused={shortOf}
      change={(reason) => ({
        method: "POST",
        path: `/settlements/${encodeURIComponent(of.id)}/${verb}`,
        body: { reason },
        headers: { "Idempotency-Key": onceKey(), ...(etag ? { "If-Match": etag } : {}) },
      })}
    />
  );
  return (
    <May roles={["checker"]} to={w.toComplete}>
      <div class="tools">
        {isPending && decide("complete")}
        {decide("abort")}
      </div>
    </May>
  );
}
