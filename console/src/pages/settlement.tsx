// Settlement: batches, what their members paid and received, and settlements of them.

import { get, getVersioned, onceKey } from "../data/api";
import { useAsk } from "../data/ask";
import { money } from "../data/format";
import type { Money } from "../data/kinds";
import { link } from "../data/router";
import { useRole, useSession } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.settlement;

type Batch = { id: string; model: string; currency: string; state: string; openedAt: number; settlement?: string; version: number };
type Row = { participant: string; paid: Money; received: Money; net: Money & { direction: string }; held?: Money; settled?: boolean };
type Act = { by: string; at: number; reason: string };
type Settlement = { id: string; model: string; batches: string[]; state: string; created: Act; completed?: Act; aborted?: Act };

/** The page: all batches and settlements, one batch, or one settlement. */
export function Settlements({ id }: { id: string | undefined }) {
  if (id === undefined) return <All />;
  return id.startsWith("batch:") ? <OneBatch id={id.slice(6)} /> : <One id={id} />;
}

function All() {
  const batches = useAsk("batches", (signal) => get<{ items: Batch[] }>("/settlement-batches?limit=1000", { signal }), 10_000);
  const settlements = useAsk("settlements", (signal) => get<{ items: Settlement[] }>("/settlements?limit=1000", { signal }), 10_000);
  return (
    <>
      <Head title={w.title} at={batches.at} />
      <Section title={w.batches}>
        <Shown of={batches}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={w.noBatches} hint={w.noBatchesHint} />
            ) : (
              <Table
                label={w.batches}
                rows={items}
                columns={[
                  { head: w.batch, cell: (one) => <a href={link("settlement", `batch:${one.id}`)}><code>{one.id}</code></a> },
                  { head: w.model, cell: (one) => one.model },
                  { head: w.currency, cell: (one) => one.currency },
                  { head: w.state, cell: (one) => <Badge tone={one.state === "SETTLED" ? "good" : "quiet"}>{w.states[one.state] ?? one.state}</Badge> },
                  { head: w.opened, cell: (one) => <Time ms={one.openedAt} /> },
                ]}
              />
            )
          }
        </Shown>
      </Section>
      <Section title={w.settlements}>
        <Shown of={settlements}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={w.noSettlements} hint={w.noSettlementsHint} />
            ) : (
              <Table
                label={w.settlements}
                rows={items}
                columns={[
                  { head: w.settlement, cell: (one) => <a href={link("settlement", one.id)}><code>{one.id}</code></a> },
                  { head: w.model, cell: (one) => one.model },
                  { head: w.state, cell: (one) => <Badge tone={one.state === "COMPLETED" ? "good" : "quiet"}>{one.state.toLowerCase()}</Badge> },
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

function Balances({ rows, isMatrix }: { rows: Row[]; isMatrix: boolean }) {
  const directions: Record<string, string> = { PAYS: w.pays, RECEIVES: w.receives, EVEN: w.even };
  const most = Math.max(1, ...rows.map((row) => Number(row.net.amount)));
  return (
    <Table
      label={w.positions}
      rows={rows}
      columns={[
        { head: w.participant, cell: (one) => <a href={link("participants", one.participant)}>{one.participant}</a> },
        { head: w.paid, number: true, cell: (one) => money(one.paid.amount, one.paid.currency) },
        { head: w.received, number: true, cell: (one) => money(one.received.amount, one.received.currency) },
        { head: words.table.direction, cell: (one) => directions[one.net.direction] ?? one.net.direction },
        { head: w.net, number: true, cell: (one) => <strong>{money(one.net.amount, one.net.currency)}</strong> },
        {
          head: words.table.bar,
          quiet: true,
          cell: (one) => (
            <span class={`heat ${one.net.direction.toLowerCase()}`} aria-hidden="true">
              <i style={{ width: `${(Number(one.net.amount) / most) * 100}%` }} />
            </span>
          ),
        },
        ...(isMatrix
          ? [
              { head: w.held, number: true, cell: (one: Row) => (one.held ? money(one.held.amount, one.held.currency) : words.none) },
              { head: w.settled, cell: (one: Row) => (one.settled ? w.yes : w.no) },
            ]
          : []),
      ]}
    />
  );
}

function OneBatch({ id }: { id: string }) {
  const isMaker = useRole("maker");
  const asked = useAsk(id, (signal) => get<Batch & { positions: Row[] }>(`/settlement-batches/${encodeURIComponent(id)}?limit=1000`, { signal }), 10_000);
  return (
    <>
      <Head title={w.batch} hint={id} at={asked.at} />
      <Shown of={asked}>
        {(batch) => (
          <>
            <div class="panel summary">
              <Facts
                of={[
                  [w.state, <Badge tone={batch.state === "SETTLED" ? "good" : "quiet"}>{w.states[batch.state] ?? batch.state}</Badge>],
                  [w.model, batch.model],
                  [w.currency, batch.currency],
                  [w.opened, <Time ms={batch.openedAt} />],
                  ...(batch.settlement ? ([[w.settlement, <a href={link("settlement", batch.settlement)}>{batch.settlement}</a>]] as [string, preact.ComponentChildren][]) : []),
                ]}
              />
              {isMaker && (batch.state === "OPEN" || batch.state === "CLOSED") && (
                <div class="tools">
                  <Action
                    label={w.settle}
                    text={w.settleText(batch.id)}
                    reason={words.action.reason}
                    needsReason
                    done={w.settleDone}
                    after={asked.again}
                    change={(reason) => ({
                      method: "POST",
                      path: "/settlements",
                      body: { batches: [batch.id], reason },
                      headers: { "Idempotency-Key": onceKey() },
                    })}
                  />
                </div>
              )}
            </div>
            <Section title={w.positions}>
              <Balances rows={batch.positions} isMatrix={false} />
            </Section>
          </>
        )}
      </Shown>
    </>
  );
}

function One({ id }: { id: string }) {
  const isChecker = useRole("checker");
  const { person } = useSession();
  const asked = useAsk(id, () => getVersioned<Settlement & { matrix: { items: Row[] } }>(`/settlements/${encodeURIComponent(id)}`), 3000);
  return (
    <>
      <Head title={w.settlement} hint={id} at={asked.at} />
      <Shown of={asked}>
        {({ value: one, etag }) => {
          const decide = (verb: "complete" | "abort") => (
            <Action
              label={verb === "complete" ? w.complete : w.abort}
              text={verb === "complete" ? w.completeText : w.abortText}
              danger={verb === "abort"}
              reason={words.action.reason}
              needsReason
              done={verb === "complete" ? w.completeDone : w.abortDone}
              after={asked.again}
              change={(reason) => ({
                method: "POST",
                path: `/settlements/${encodeURIComponent(id)}/${verb}`,
                body: { reason },
                headers: { "Idempotency-Key": onceKey(), ...(etag ? { "If-Match": etag } : {}) },
              })}
            />
          );
          return (
            <>
              <div class="panel summary">
                <Facts
                  of={[
                    [w.state, <Badge tone={one.state === "COMPLETED" ? "good" : "quiet"}>{one.state.toLowerCase()}</Badge>],
                    [w.model, one.model],
                    [w.by, one.created.by],
                    [w.opened, <Time ms={one.created.at} />],
                    [words.action.reason, one.created.reason],
                  ]}
                />
                {isChecker && one.state === "PENDING" && one.created.by !== person && (
                  <div class="tools">
                    {decide("complete")}
                    {decide("abort")}
                  </div>
                )}
              </div>
              <Section title={w.matrix}>
                <Balances rows={one.matrix.items} isMatrix />
              </Section>
            </>
          );
        }}
      </Shown>
    </>
  );
}
