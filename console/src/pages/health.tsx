// Health: what of the host needs somebody, and what will.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, pages, readiness, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import { bytes, count } from "../data/format";
import type { DeadLetter, Destination } from "../data/kinds";
import { link } from "../data/router";
import { feed } from "../data/feed";
import { Badge, Empty, Head, Section, Shown, Time, type Tone } from "../parts/basics";
import { Table } from "../parts/table";
import { Hosts } from "../parts/hosts";
import { Verification } from "../parts/verification";
import { words } from "../words";

const w = words.health;
const EVERY_MS = 5000;
const DAY_MS = 24 * 3600 * 1000;
/** What ends within so many days is a warning. */
const SOON_DAYS = 30;

type Pause = { component: string; kept: number };
type Archive = { file: string; bytes: number; items: number };
type Quarantine = { rule: string };
type Suspension = { rule: string; state: string };
/** Something that ends. */
export type Ending = { what: string; kind: string; until: number };
type Key = { label: string; state: string; notAfter?: number };
type TlsFile = { place: string; kind: string; expiresAt?: number };

/** What ends, the soonest first. What never ends is left out. */
export function endings(files: TlsFile[], keys: Key[]): Ending[] {
  const ofFiles = files.map((one) => ({ what: one.place, kind: words.configuration.kinds[one.kind] ?? one.kind, until: one.expiresAt }));
  const ofKeys = keys.filter((one) => one.state === "ACTIVE").map((one) => ({ what: one.label, kind: w.key, until: one.notAfter }));
  const all = [...ofFiles, ...ofKeys].filter((one): one is Ending => one.until !== undefined);
  return all.sort((a, b) => a.until - b.until);
}

/** How near an end is. */
export function endingTone(until: number, now: number): Tone {
  if (until <= now) return "bad";
  return until <= now + SOON_DAYS * DAY_MS ? "warn" : "good";
}

/** Nothing where the scheme has no such context. */
async function orNone<T>(asked: Promise<T[]>): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return [];
    throw error;
  }
}

/** The page. */
export function Health() {
  const [, setRound] = useState(0);
  useEffect(() => feed.listen(() => setRound((n) => n + 1)), []);
  const checks = useAsk("health", readiness, EVERY_MS);
  const state = useAsk(
    "state",
    async (signal) => {
      const [destinations, letters, paused, quarantines, suspensions] = await Promise.all([
        get<Destination[]>("/destinations", { signal }),
        get<DeadLetter[]>("/dead-letters", { signal }),
        get<Pause[]>("/dead-letters/paused", { signal }),
        get<Quarantine[]>("/quarantines", { signal }),
        get<Suspension[]>("/suspensions", { signal }),
      ]);
      return { destinations, letters, paused, quarantines, suspensions };
    },
    EVERY_MS,
  );
  const archives = useAsk("archives", (signal) => get<Archive[]>("/archives", { signal }), 60_000);
  const ends = useAsk("ends", async (signal) => {
    const files = orNone(get<{ files: TlsFile[] }>("/ssl-terminate", { signal }).then((all) => all.files));
    const keys = orNone(pages<Key>("/kms-keys", 1000, signal).then((all) => all.items));
    return endings(await files, await keys);
  });
  const last = feed.minute.at(-1);
  const now = (name: string): string => {
    const found = last?.figures.find((one) => one.name === name);
    return found ? bytes(found.value) : words.none;
  };
  const archived = archives.data;
  return (
    <>
      <Head title={w.title} hint={w.intro} at={checks.at} />
      <Section title={w.checks}>
        <Shown of={checks}>
          {(data) => (
            <Table
              label={w.checks}
              rows={data.checks}
              columns={[
                { head: w.check, cell: (one) => words.live.checks[one.check] ?? one.check },
                { head: w.state, cell: (one) => <Badge tone={one.ok ? "good" : "bad"}>{one.ok ? w.well : w.unwell}</Badge> },
                { head: w.says, cell: (one) => one.says, wide: true },
              ]}
            />
          )}
        </Shown>
      </Section>
      <Hosts />
      <Section title={w.now}>
        <Shown of={state}>
          {({ destinations, letters, paused, quarantines, suspensions }) => {
            const closed = destinations.filter((one) => one.circuit !== "closed");
            const waiting = destinations.reduce((all, one) => all + Math.max(0, one.requests - one.underWay) + one.onDisk, 0);
            const held = suspensions.filter((one) => one.state === "SUSPENDED" || one.state === "CONFIRMED");
            return (
              <ul class="tiles">
                <Tile name={w.circuits} value={count(closed.length)} isWarning={closed.length > 0} page="deliveries">
                  {closed.length > 0 ? closed.map((one) => one.destination).join(", ") : w.circuitsWell(destinations.length)}
                </Tile>
                <Tile name={w.waiting} value={count(waiting)} isWarning={false} page="deliveries">
                  {w.waitingHint}
                </Tile>
                <Tile name={w.letters} value={count(letters.length)} isWarning={letters.length > 0} page="deliveries">
                  {letters.length > 0 ? w.lettersHint : w.lettersNone}
                </Tile>
                <Tile name={w.paused} value={count(paused.length)} isWarning={paused.length > 0} page="deliveries">
                  {paused.length > 0 ? paused.map((one) => w.keptOf(one.component, one.kept)).join(", ") : w.pausedNone}
                </Tile>
                <Tile name={w.rules} value={count(quarantines.length + held.length)} isWarning={quarantines.length + held.length > 0} page="rules">
                  {quarantines.length + held.length > 0 ? [...quarantines, ...held].map((one) => one.rule).join(", ") : w.rulesNone}
                </Tile>
              </ul>
            );
          }}
        </Shown>
      </Section>
      <Section title={w.disk}>
        <ul class="tiles">
          <Tile name={words.live.disk} value={now("disk_free_bytes")} isWarning={false}>
            {w.diskHint}
          </Tile>
          <Tile name={w.store} value={now("store_bytes")} isWarning={false}>
            {w.storeHint}
          </Tile>
          <Tile name={w.archives} value={archived ? bytes(archived.reduce((all, one) => all + one.bytes, 0)) : words.none} isWarning={false}>
            {archived ? (archived.length === 0 ? w.archivesNone : w.archivesHint(archived.length)) : (archives.error?.message ?? words.state.loading)}
          </Tile>
        </ul>
      </Section>
      <Section title={words.audit.title} tools={<a href={link("audit")}>{w.entries}</a>}>
        <Verification />
      </Section>
      <Section title={w.ends} hint={w.endsHint}>
        <Shown of={ends}>{(all) => (all.length === 0 ? <Empty title={w.endsNone} hint={w.endsNoneHint} /> : <Ends all={all} />)}</Shown>
      </Section>
    </>
  );
}

function Tile(props: { name: string; value: string; isWarning: boolean; page?: string; children: ComponentChildren }) {
  return (
    <li class={`tile ${props.isWarning ? "warns" : ""}`}>
      <p class="name">{props.page ? <a href={link(props.page)}>{props.name}</a> : props.name}</p>
      <p class="big tabular">{props.value}</p>
      <p class="hint">{props.children}</p>
    </li>
  );
}

function Ends({ all }: { all: Ending[] }) {
  const now = Date.now();
  return (
    <Table
      label={w.ends}
      rows={all}
      columns={[
        { head: words.configuration.place, cell: (one) => one.what },
        { head: words.table.kind, cell: (one) => one.kind },
        { head: words.configuration.until, cell: (one) => <Time ms={one.until} /> },
        {
          head: w.left,
          number: true,
          cell: (one) => <Badge tone={endingTone(one.until, now)}>{one.until <= now ? w.over : w.days(Math.floor((one.until - now) / DAY_MS))}</Badge>,
        },
      ]}
    />
  );
}
