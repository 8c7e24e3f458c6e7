// Deliveries: destinations and their circuits, dead letters, paused components.

import { useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { count, seconds } from "../data/format";
import type { DeadLetter, Destination } from "../data/kinds";
import { link } from "../data/router";
import { useRole } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Empty, Head, Section, Shown, Time } from "../parts/basics";
import { LongTable, Table } from "../parts/table";
import { words } from "../words";

const w = words.deliveries;
const EVERY_MS = 5000;

type Pause = { component: string; since: number; kept: number; probes: number; nextProbeMs: number | null; error: string };

/** The page. */
export function Deliveries() {
  const destinations = useAsk("destinations", (signal) => get<Destination[]>("/destinations", { signal }), EVERY_MS);
  const letters = useAsk("letters", (signal) => get<DeadLetter[]>("/dead-letters", { signal }), EVERY_MS);
  const paused = useAsk("paused", (signal) => get<Pause[]>("/dead-letters/paused", { signal }), EVERY_MS);
  return (
    <>
      <Head title={w.title} at={destinations.at} />
      <Section title={w.destinations}>
        <Shown of={destinations}>{(all) => (all.length === 0 ? <Empty title={w.noDestinations} hint={w.noDestinationsHint} /> : <Destinations all={all} />)}</Shown>
      </Section>
      <Letters asked={letters} />
      <Section title={w.paused}>
        <Shown of={paused}>{(all) => (all.length === 0 ? <Empty title={w.noPaused} hint={w.noPausedHint} /> : <Paused all={all} />)}</Shown>
      </Section>
    </>
  );
}

function Destinations({ all }: { all: Destination[] }) {
  return (
    <Table
      label={w.destinations}
      rows={all}
      columns={[
        { head: w.destination, cell: (one) => <code>{one.destination}</code> },
        { head: w.circuit, cell: (one) => <Badge tone={one.circuit === "closed" ? "good" : one.circuit === "open" ? "bad" : "warn"}>{w.circuits[one.circuit] ?? one.circuit}</Badge> },
        { head: w.failures, number: true, cell: (one) => count(one.failures) },
        { head: w.underWay, number: true, cell: (one) => count(one.underWay) },
        { head: w.waiting, number: true, cell: (one) => count(Math.max(0, one.requests - one.underWay)) },
        { head: w.onDisk, number: true, cell: (one) => count(one.onDisk) },
        { head: w.lastFailure, cell: (one) => one.lastFailure ?? words.none, wide: true },
      ]}
    />
  );
}

/** Whether the host has dealt with some, and may have left others. */
function hasMore(answer: unknown): boolean {
  const { retried, dropped } = (answer ?? {}) as { retried?: number; dropped?: number };
  return (retried ?? dropped ?? 0) > 0;
}

function Letters({ asked }: { asked: ReturnType<typeof useAsk<DeadLetter[]>> }) {
  const isAdmin = useRole("admin");
  const [component, setComponent] = useState("");
  const all = asked.data ?? [];
  const components = [...new Set(all.map((one) => one.component))].sort();
  // Nothing is chosen that is not there any more.
  const chosen = components.includes(component) ? component : "";
  const shown = chosen === "" ? all : all.filter((one) => one.component === chosen);
  // Those that come later are not meant.
  const before = Math.max(0, ...shown.map((one) => one.at)) + 1;
  const which = { before, ...(chosen === "" ? {} : { component: chosen }) };
  const tools = isAdmin && shown.length > 0 && (
    <>
      <Action
        label={w.retryAll}
        text={w.retryAllText(shown.length)}
        reason={words.action.reason}
        done={w.retried(shown.length)}
        after={asked.again}
        again={hasMore}
        change={(note) => ({ method: "POST", path: "/dead-letters/retry", body: { ...which, ...(note ? { note } : {}) } })}
      />
      <Action
        label={w.dropAll}
        text={w.dropAllText(shown.length)}
        danger
        reason={words.action.reason}
        needsReason
        done={w.droppedAll(shown.length)}
        after={asked.again}
        again={hasMore}
        change={(note) => ({ method: "POST", path: "/dead-letters/drop", body: { ...which, note } })}
      />
    </>
  );
  return (
    <Section title={w.dead} hint={w.deadHint} tools={tools}>
      {components.length > 1 && (
        <div class="list-head">
          <label class="field">
            <span>{w.component}</span>
            <select value={chosen} onChange={(event) => setComponent(event.currentTarget.value)}>
              <option value="">{w.anyComponent}</option>
              {components.map((one) => (
                <option value={one}>{one}</option>
              ))}
            </select>
          </label>
        </div>
      )}
      <Shown of={asked}>
        {() =>
          shown.length === 0 ? (
            <Empty title={w.noDead} hint={w.noDeadHint} />
          ) : (
            <LongTable
              label={w.dead}
              rows={shown}
              columns={[
                { head: w.id, number: true, cell: (one) => one.id },
                { head: w.at, cell: (one) => <Time ms={one.at} /> },
                { head: w.component, cell: (one) => one.component },
                {
                  head: w.about,
                  cell: (one) =>
                    one.subjects.map((subject) => (
                      <>
                        <a href={link("story", subject)}>{subject}</a>{" "}
                      </>
                    )),
                  wide: true,
                },
                { head: w.attempts, number: true, cell: (one) => count(one.attempts) },
                { head: w.error, cell: (one) => <span title={one.error}>{one.error}</span>, wide: true },
                {
                  head: words.table.acts,
                  quiet: true,
                  cell: (one) =>
                    isAdmin ? (
                      <div class="tools">
                        <Action
                          label={w.retry}
                          text={w.retryText(one.id)}
                          reason={words.action.reason}
                          done={w.triedAgain}
                          after={asked.again}
                          change={(note) => ({ method: "POST", path: `/dead-letters/${one.id}/retry`, body: { note } })}
                        />
                        <Action
                          label={w.drop}
                          text={w.dropText(one.id)}
                          danger
                          reason={words.action.reason}
                          needsReason
                          done={w.dropped}
                          after={asked.again}
                          change={(note) => ({ method: "POST", path: `/dead-letters/${one.id}/drop`, body: { note } })}
                        />
                      </div>
                    ) : null,
                },
              ]}
            />
          )
        }
      </Shown>
    </Section>
  );
}

function Paused({ all }: { all: Pause[] }) {
  return (
    <Table
      label={w.paused}
      rows={all}
      columns={[
        { head: w.component, cell: (one) => one.component },
        { head: w.since, cell: (one) => <Time ms={one.since} /> },
        { head: w.kept, number: true, cell: (one) => count(one.kept) },
        { head: w.next, number: true, cell: (one) => (one.nextProbeMs === null ? words.none : seconds(one.nextProbeMs / 1000)) },
        { head: w.error, cell: (one) => one.error, wide: true },
      ]}
    />
  );
}
