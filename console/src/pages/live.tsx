// Live: how the scheme does now, as it happens, and in the time before.

import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { lastOf, quantileOf } from "../data/course";
import { feed, type Feed, SPANS } from "../data/feed";
import { bytes, clock, count, millis, money, percent, seconds, short } from "../data/format";
import { codeOf } from "../data/flow";
import type { Transfer } from "../data/kinds";
import { LEGS } from "../data/legs";
import { link } from "../data/router";
import { Badge, Empty, Head, Problem, Section, Time, type Tone } from "../parts/basics";
import { Chart } from "../parts/chart";
import { Messages, Verdicts } from "../parts/live-tables";
import { Table } from "../parts/table";
import { words } from "../words";

export { codeOf };

const w = words.live;
/** How old a warning may be, and how many are shown. */
const ALERTS_MS = 24 * 3600 * 1000;
const ALERTS = 20;
/** How long figures may be old before the page says so. */
const OLD_MS = 8000;

/** How a transfer's state looks. */
export function transferTone(state: string): Tone {
  return state === "COMMITTED" ? "good" : state === "PREPARED" ? "quiet" : "bad";
}

/** The page. */
export function Live() {
  const [, setRound] = useState(0);
  useEffect(() => feed.listen(() => setRound((n) => n + 1)), []);
  const isOld = feed.error !== undefined || (feed.at !== undefined && Date.now() - feed.at > OLD_MS);
  return (
    <>
      <Head title={w.title} at={feed.at}>
        <Spans />
      </Head>
      {feed.error && feed.at !== undefined && (
        <p class="stale" role="status">
          {words.state.stale(clock(feed.at))} {feed.error.message}
        </p>
      )}
      {feed.error && feed.at === undefined && <Problem error={feed.error} />}
      <Checks />
      <Alerts />
      <Tiles of={feed} isOld={isOld} />
      {feed.pastError && <Problem error={feed.pastError} again={() => void feed.look(feed.span)} />}
      <Charts of={feed} />
      <div class="columns live">
        <Last />
        <div>
          <Waiting of={feed} />
          <Refusals of={feed} />
        </div>
      </div>
      <div class="columns halves">
        <Messages of={feed} />
        <Verdicts of={feed} />
      </div>
    </>
  );
}

/** How far back the charts go. Longer times are there if the host has a Prometheus. */
function Spans() {
  const all = SPANS.filter((span) => span <= 2 || feed.course.longer || span === feed.span);
  return (
    <div class="spans" role="group" aria-label={w.span}>
      {all.map((span) => (
        <button type="button" aria-pressed={span === feed.span} onClick={() => void feed.look(span)} key={span}>
          {w.spans[String(span)]}
        </button>
      ))}
    </div>
  );
}

function Checks() {
  const { health } = feed;
  if (health === undefined) return <p class="checks hint">{words.state.loading} …</p>;
  return (
    <ul class={`checks ${health.ready ? "" : "unwell"}`} aria-label={w.health}>
      {health.checks.map((check) => (
        <li title={check.says} key={check.check}>
          <Badge tone={check.ok ? "good" : "bad"}>{w.checks[check.check] ?? check.check}</Badge>
          <span class="says">{check.says}</span>
        </li>
      ))}
    </ul>
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

const COMPLETED = { operation: "fulfilTransfer", status: "200" };
const BEGUN = { operation: "requestTransfer", status: "202" };

/** What one looks at first. */
function Tiles({ of, isOld }: { of: Feed; isOld: boolean }) {
  const now = (name: string, labels?: Record<string, string>): number => lastOf(of.course.sum(name, labels));
  const { ended } = of.flow;
  const committed = ended.filter((one) => one.state === "COMMITTED");
  const took = committed.map((one) => one.tookMs / 1000);
  const circuits = now("circuits_open");
  const lag = now("commit_wait_seconds");
  return (
    <dl class={`tiles ${isOld ? "old" : ""}`}>
      <Tile name={w.rate} hint={w.rateTile(short(now("requests", BEGUN)))}>
        {short(now("requests", COMPLETED))}
        <small>{w.perSecond}</small>
      </Tile>
      <Tile name={w.success} hint={w.successOf(ended.length)}>
        {ended.length ? percent(committed.length / ended.length) : words.none}
      </Tile>
      <Tile name={w.transferTime} hint={w.transferTimeTile(seconds(quantileOf(took, 0.99)))}>
        {seconds(quantileOf(took, 0.5))}
      </Tile>
      <Tile name={w.circuits} hint={circuits > 0 ? w.circuitsOpen : w.circuitsClosed} warns={circuits > 0}>
        {Number.isNaN(circuits) ? words.none : count(circuits)}
      </Tile>
      <Tile name={w.lag} hint={w.lagHint(seconds(now("journal_wait_seconds")))} warns={lag > 1}>
        {seconds(lag)}
      </Tile>
      <Tile name={w.disk} hint={w.diskHint(bytes(now("store_bytes")))}>
        {Number.isNaN(now("disk_free_bytes")) ? words.none : bytes(now("disk_free_bytes"))}
      </Tile>
    </dl>
  );
}

function Tile(props: { name: string; hint: string; warns?: boolean; children: preact.ComponentChildren }) {
  return (
    <div class={`tile ${props.warns ? "warns" : ""}`}>
      <dt>{props.name}</dt>
      <dd>
        <span class="big tabular">{props.children}</span>
        <span class="hint tabular">{props.hint}</span>
      </dd>
    </div>
  );
}

function Charts({ of }: { of: Feed }) {
  const { course } = of;
  const times = course.at;
  const to = times.at(-1);
  const from = to === undefined ? undefined : Math.max(times[0] ?? to, to - of.span * 3_600_000);
  const rate = (value: number): string => `${short(value)} ${w.perSecond}`;
  const shared = { times, from, to };
  return (
    <div class="charts">
      <Section title={w.rate} hint={w.rateHint}>
        <Chart
          label={w.rate}
          {...shared}
          unit={rate}
          curves={[
            { name: w.rateEnded, values: course.sum("requests", COMPLETED) },
            { name: w.rateBegun, values: course.sum("requests", BEGUN) },
          ]}
        />
      </Section>
      <Section title={w.latency} hint={w.latencyHint}>
        <Chart
          label={w.latency}
          {...shared}
          unit={seconds}
          curves={LEGS.map(({ leg, begins }) => ({ name: w.legs[leg], values: course.sum("p99", { operation: begins }) }))}
        />
      </Section>
      <Section title={w.refused} hint={w.refusedHint}>
        <Chart
          label={w.refused}
          {...shared}
          unit={rate}
          curves={[
            { name: w.verdicts["refuse"] ?? "", values: course.sum("verdicts", { verdict: "refuse" }) },
            { name: w.verdicts["failed"] ?? "", values: course.sum("verdicts", { verdict: "failed" }) },
          ]}
        />
      </Section>
      <Section title={w.work} hint={w.workHint}>
        <Chart
          label={w.work}
          {...shared}
          unit={(value) => (Number.isFinite(value) ? short(value) : words.none)}
          curves={[
            { name: w.workTurns, values: course.sum("turns_alive") },
            { name: w.workOutbound, values: course.sum("requests_outbound") },
            { name: w.workUncommitted, values: course.sum("turns_uncommitted") },
          ]}
        />
      </Section>
    </div>
  );
}

/** The last transfers as they come. They can be held, so that one can be read and opened. */
function Last() {
  const [held, setHeld] = useState<Transfer[]>();
  const t = words.transfers;
  const rows = held ?? feed.flow.rows;
  const tools = (
    <>
      <button type="button" aria-pressed={held !== undefined} onClick={() => setHeld(held === undefined ? feed.flow.rows : undefined)}>
        {held === undefined ? w.hold : w.goOn}
      </button>
      <a href={link("search", "transfers")}>{w.allTransfers}</a>
    </>
  );
  return (
    <Section title={w.last} tools={tools} hint={held !== undefined ? w.lastHeld : feed.flow.unseen > 0 ? w.lastUnseen(feed.flow.unseen) : w.lastHint}>
      {rows.length === 0 ? (
        <Empty title={w.lastEmpty} hint={w.lastEmptyHint} />
      ) : (
        <div class="steady">
          <Table
            label={w.last}
            rows={rows}
            columns={[
              { head: t.came, cell: (one) => <span class="tabular">{one.beganAt ? clock(one.beganAt) : words.none}</span> },
              { head: t.id, cell: (one) => <a href={link("story", one.transferId)}><code>{one.transferId.slice(0, 8)}</code></a> },
              { head: t.payer, cell: (one) => <span title={one.payerFsp}>{one.payerFsp}</span> },
              { head: t.payee, cell: (one) => <span title={one.payeeFsp}>{one.payeeFsp}</span> },
              { head: t.amount, number: true, cell: (one) => money(one.amount.amount, one.amount.currency) },
              { head: t.took, number: true, cell: (one) => (one.endedAt && one.beganAt ? millis(one.endedAt - one.beganAt) : words.none) },
              { head: t.state, cell: (one) => <Badge tone={transferTone(one.state)}>{t.states[one.state] ?? one.state}</Badge> },
            ]}
          />
        </div>
      )}
    </Section>
  );
}

/** What waits: the figure, and whether any of it is a warning. */
const QUEUES: [keyof typeof w.queue, string, boolean][] = [
  ["active", "turns_active", false],
  ["alive", "turns_alive", false],
  ["uncommitted", "turns_uncommitted", false],
  ["delayed", "turns_delayed", true],
  ["onDisk", "turns_on_disk", false],
  ["outbound", "requests_outbound", false],
  ["outboundOnDisk", "requests_outbound_on_disk", true],
  ["reminders", "reminders_held", false],
  ["paused", "components_paused", true],
  ["kept", "turns_kept", true],
  ["quarantined", "rules_in_quarantine", true],
  ["dead", "dead_letters", true],
  ["shed", "requests_shed", true],
];

function Waiting({ of }: { of: Feed }) {
  return (
    <Section title={w.queues}>
      <dl class="facts lines">
        {QUEUES.map(([key, name, warns]) => {
          const value = lastOf(of.course.sum(name));
          return (
            <div key={key}>
              <dt>{w.queue[key]}</dt>
              <dd class={`number ${warns && value > 0 ? "warned" : ""}`}>{Number.isNaN(value) ? words.none : count(Math.round(value))}</dd>
            </div>
          );
        })}
      </dl>
    </Section>
  );
}

/** Refused transfers by the code that their FSPs were told. */
function Refusals({ of }: { of: Feed }) {
  const counts = new Map<string, number>();
  for (const one of of.flow.ended) {
    if (one.state === "COMMITTED") continue;
    const code = one.code || one.state;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const rows = [...counts].sort((a, b) => b[1] - a[1]);
  return (
    <Section title={w.refusals} hint={w.refusalsHint}>
      {rows.length === 0 ? (
        <Empty title={w.noRefusals} hint={w.noRefusalsHint} />
      ) : (
        <dl class="facts lines">
          {rows.map(([code, n]) => (
            <div key={code}>
              <dt><code>{code}</code></dt>
              <dd class="number">{count(n)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Section>
  );
}
