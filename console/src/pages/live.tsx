// Live: how the scheme does now.

import { useEffect, useState } from "preact/hooks";
import { get, readiness } from "../data/api";
import { useAsk } from "../data/ask";
import { bytes, clock, count, millis, money, percent, seconds, short } from "../data/format";
import type { Transfer } from "../data/kinds";
import { type Metrics, quantileOf, sum } from "../data/metrics";
import { link } from "../data/router";
import { recent } from "../data/recent";
import { type Sample, samples } from "../data/samples";
import { Badge, Empty, Head, Section, Shown, Time, type Tone } from "../parts/basics";
import { Chart } from "../parts/chart";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.live;
/** How old a warning may be, and how many are shown. */
const ALERTS_MS = 24 * 3600 * 1000;
const ALERTS = 20;
/** The rows of the last transfers. */
const ROWS = 20;

/** How a transfer's state looks. */
export function transferTone(state: string): Tone {
  return state === "COMMITTED" ? "good" : state === "PREPARED" ? "quiet" : "bad";
}

/** The code of a transfer that was refused. */
export function codeOf(transfer: Transfer): string {
  const reason = transfer.reason ?? {};
  const code = reason["code"] ?? reason["errorCode"];
  return code === undefined ? (transfer.rejection ?? "") : String(code);
}

/** The page. */
export function Live() {
  const [, setRound] = useState(0);
  useEffect(() => samples.listen(() => setRound((n) => n + 1)), []);
  const health = useAsk("health", readiness, 5000);
  const transfers = useAsk("transfers", recent, 3000);
  const last = samples.last;
  return (
    <>
      <Head title={w.title} at={last?.at} />
      {samples.error && last && (
        <p class="stale" role="status">
          {words.state.stale(clock(last.at))}
        </p>
      )}
      <Shown of={health}>
        {(data) => (
          <ul class={`checks ${data.ready ? "" : "unwell"}`} aria-label={w.health}>
            {data.checks.map((check) => (
              <li title={check.says}>
                <Badge tone={check.ok ? "good" : "bad"}>{w.checks[check.check] ?? check.check}</Badge>
                <span class="says">{check.says}</span>
              </li>
            ))}
          </ul>
        )}
      </Shown>
      <Alerts />
      <Figures all={samples.all} transfers={transfers.data?.items ?? []} windowMs={transfers.data?.windowMs ?? 0} />
      <div class="columns wide-left">
        <Section title={w.last} tools={<a href={link("transfers")}>{w.allTransfers}</a>}>
          <Shown of={transfers}>
            {({ items }) => (items.length === 0 ? <Empty title={w.lastEmpty} hint={w.lastEmptyHint} /> : <Last of={items.slice(0, ROWS)} />)}
          </Shown>
        </Section>
        <div>
          {last && <Queues metrics={last.metrics} />}
          <Section title={w.refusals} hint={w.refusalsHint(span(transfers.data?.windowMs ?? 0))}>
            <Shown of={transfers}>{({ items }) => <Refusals of={items} />}</Shown>
          </Section>
        </div>
      </div>
      {last && <Answers metrics={last.metrics} />}
    </>
  );
}

type Alert = { alert: string; message: string; participant?: string; raisedAt: number };

/** What the contexts have warned of lately, the newest first. Nothing where they have not, or do not say. */
function Alerts() {
  const asked = useAsk("alerts", (signal) => get<{ alerts: Alert[] }>("/alerts", { signal }), 10_000);
  const since = Date.now() - ALERTS_MS;
  const all = (asked.data?.alerts ?? []).filter((one) => one.raisedAt >= since).reverse();
  if (all.length === 0) return null;
  return (
    <details class="alerts">
      <summary>
        <Badge tone="warn">{w.alerts(all.length)}</Badge> {all[0]?.message}
      </summary>
      <ul>
        {all.slice(0, ALERTS).map((one) => (
          <li>
            <Time ms={one.raisedAt} /> {one.participant && <a href={link("participants", one.participant)}>{one.participant}</a>} {one.message}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** A time in whole seconds or minutes. */
function span(ms: number): string {
  return ms >= 120_000 ? w.minutes(Math.round(ms / 60_000)) : w.seconds(Math.round(ms / 1000));
}

function Figures({ all, transfers, windowMs }: { all: Sample[]; transfers: Transfer[]; windowMs: number }) {
  const times = all.map((one) => one.at);
  const ended = transfers.filter((one) => one.endedAt !== null);
  const committed = ended.filter((one) => one.state === "COMMITTED");
  const took = committed.map((one) => ((one.endedAt ?? 0) - (one.beganAt ?? 0)) / 1000);
  const rate = (value: number): string => `${short(value)} ${w.perSecond}`;
  return (
    <div class="figures">
      <Section title={w.rate} hint={w.rateHint}>
        <Chart
          label={w.rate}
          times={times}
          unit={rate}
          curves={[
            { name: w.rateEnded, values: all.map((one) => one.ended) },
            { name: w.rateBegun, values: all.map((one) => one.begun) },
          ]}
        />
      </Section>
      <Section title={w.latency} hint={w.latencyHint}>
        <Chart
          label={w.latency}
          times={times}
          unit={seconds}
          curves={[
            { name: w.p99, values: all.map((one) => one.p99) },
            { name: w.p50, values: all.map((one) => one.p50) },
          ]}
        />
      </Section>
      <Section title={w.success} class="figure">
        <p class="big tabular">{ended.length ? percent(committed.length / ended.length) : words.none}</p>
        <p class="hint">{w.successOf(ended.length, span(windowMs))}</p>
      </Section>
      <Section title={w.transferTime} class="figure">
        <p class="big tabular">
          {seconds(quantileOf(took, 0.5))} <small>{w.p50}</small>
        </p>
        <p class="big second tabular">
          {seconds(quantileOf(took, 0.99))} <small>{w.p99}</small>
        </p>
        <p class="hint">{w.transferTimeHint}</p>
      </Section>
    </div>
  );
}

function Last({ of }: { of: Transfer[] }) {
  const t = words.transfers;
  return (
    <Table
      label={w.last}
      rows={of}
      columns={[
        { head: t.came, cell: (one) => <span class="tabular">{one.beganAt ? clock(one.beganAt, true) : words.none}</span> },
        { head: t.id, cell: (one) => <a href={link("story", one.transferId)}><code>{one.transferId.slice(0, 8)}</code></a> },
        { head: t.payer, cell: (one) => one.payerFsp },
        { head: t.payee, cell: (one) => one.payeeFsp },
        { head: t.amount, number: true, cell: (one) => money(one.amount.amount, one.amount.currency) },
        { head: t.took, number: true, cell: (one) => (one.endedAt && one.beganAt ? millis(one.endedAt - one.beganAt) : words.none) },
        { head: t.state, cell: (one) => <Badge tone={transferTone(one.state)}>{t.states[one.state] ?? one.state}</Badge> },
      ]}
    />
  );
}

function Refusals({ of }: { of: Transfer[] }) {
  const counts = new Map<string, number>();
  for (const one of of) {
    if (one.state !== "REJECTED" && one.state !== "FAILED") continue;
    const code = codeOf(one) || one.state;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  if (counts.size === 0) return <Empty title={w.noRefusals} />;
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  return (
    <dl class="facts lines">
      {rows.map(([code, n]) => (
        <div>
          <dt><code>{code}</code></dt>
          <dd class="number">{count(n)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Queues: the name of their metric, and whether any of it is a warning. */
const QUEUES: [keyof typeof w.queue, string, boolean][] = [
  ["active", "rialto_turns_active", false],
  ["alive", "rialto_turns_alive", false],
  ["uncommitted", "rialto_turns_uncommitted", false],
  ["delayed", "rialto_turns_delayed", true],
  ["onDisk", "rialto_turns_on_disk", false],
  ["outbound", "rialto_requests_outbound", false],
  ["outboundOnDisk", "rialto_requests_outbound_on_disk", true],
  ["reminders", "rialto_reminders_held", false],
  ["circuits", "rialto_circuits_open", true],
  ["paused", "rialto_components_paused", true],
  ["kept", "rialto_turns_kept", true],
  ["quarantined", "rialto_rules_in_quarantine", true],
  ["dead", "rialto_dead_letters_total", true],
];

function Queues({ metrics }: { metrics: Metrics }) {
  return (
    <Section title={w.queues}>
      <dl class="facts lines">
        {QUEUES.map(([key, name, warns]) => {
          const value = sum(metrics, name);
          return (
            <div>
              <dt>{w.queue[key]}</dt>
              <dd class={`number ${warns && value > 0 ? "warned" : ""}`}>{count(value)}</dd>
            </div>
          );
        })}
        <div>
          <dt>{w.queue.disk}</dt>
          <dd class="number">{bytes(sum(metrics, "rialto_disk_free_bytes"))}</dd>
        </div>
        <div>
          <dt>{w.queue.store}</dt>
          <dd class="number">{bytes(sum(metrics, "rialto_store_bytes"))}</dd>
        </div>
      </dl>
    </Section>
  );
}

function Answers({ metrics }: { metrics: Metrics }) {
  const by = new Map<string, { well: number; refused: number; codes: Map<string, number> }>();
  for (const { labels, value } of metrics.get("rialto_http_requests_total") ?? []) {
    const operation = labels["operation"] ?? "";
    const status = labels["status"] ?? "";
    const one = by.get(operation) ?? { well: 0, refused: 0, codes: new Map<string, number>() };
    if (status.startsWith("2")) one.well += value;
    else {
      one.refused += value;
      one.codes.set(status, value);
    }
    by.set(operation, one);
  }
  const rows = [...by].sort(([a], [b]) => a.localeCompare(b));
  return (
    <Section title={w.answers}>
      <Table
        label={w.answers}
        rows={rows}
        columns={[
          { head: w.operation, cell: ([name]) => <code>{name}</code> },
          { head: w.answered, number: true, cell: ([, one]) => count(one.well) },
          {
            head: w.refused,
            number: true,
            cell: ([, one]) => (one.refused ? <span class="warned">{[...one.codes].map(([code, n]) => `${count(n)} × ${code}`).join(", ")}</span> : "0"),
          },
        ]}
      />
    </Section>
  );
}
