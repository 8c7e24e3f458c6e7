// The report of a backtest or of a shadow: how many would be decided otherwise, by what, and the single inputs.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Decision, type Example, type Group, more, type Report } from "../data/backtest";
import { count, decimal, percent } from "../data/format";
import { words } from "../words";
import { Badge, Empty, Facts, Section, Time } from "./basics";
import { Table } from "./table";

const w = words.backtest;

/** Where a single input is shown. */
type LinkOf = (example: Example) => string;

/** What was decided, in a badge. */
export function Decided({ of }: { of: Decision }) {
  if (of.outcome === "allow") return <Badge tone="good">{w.allow}</Badge>;
  return <Badge tone="bad">{of.outcome === "refuse" ? w.refuse(of.rule, of.code) : w.fails(of.rule)}</Badge>;
}

/** Ways to group. */
const WAYS = ["byChange", "byCorridor", "byParticipant", "byBand", "groups"] as const;

/** The whole report. */
export function ReportView({ report, linkOf }: { report: Report; linkOf: LinkOf }) {
  const [way, setWay] = useState<(typeof WAYS)[number]>("byChange");
  const unjudged = [...report.failures.filter((one) => one.hasNoVerdict), ...report.misfits, ...(report.uncounted ?? [])].reduce((sum, one) => sum + one.requests, 0);
  return (
    <>
      <div class="panel summary">
        <Facts
          of={[
            [w.requests, <span class="tabular">{count(report.requests)}</span>],
            [w.different, <Different report={report} />],
            [w.verdicts, <span class="tabular">{count(report.verdicts)}</span>],
            [w.unjudged, <span class="tabular">{count(unjudged + report.unread.sealed + report.unread.unreadable)}</span>],
            [w.since, <Time ms={report.since} />],
            [w.until, <Time ms={report.until} />],
            [w.rules, report.rules.map((one) => `${one.name} ${one.version}`).join(", ") || words.none],
          ]}
        />
      </div>
      <Section
        title={w.groups}
        hint={w.groupsHint}
        tools={
          <label class="inline-field">
            <span>{w.by}</span>
            <select name="by" value={way} onChange={(event) => setWay(event.currentTarget.value as (typeof WAYS)[number])}>
              {WAYS.map((one) => (
                <option value={one}>{w.ways[one]}</option>
              ))}
            </select>
          </label>
        }
      >
        {report.different === 0 ? <Empty title={w.none} hint={w.noneHint} /> : <Groups groups={report[way]} linkOf={linkOf} />}
        {report.ungrouped && <p class="hint">{w.ungrouped(count(report.ungrouped.requests))}</p>}
      </Section>
      <Failures report={report} linkOf={linkOf} />
      <Fuel report={report} linkOf={linkOf} />
      {(report.unread.archives.length > 0 || report.unread.quarantined > 0) && (
        <Section title={w.unread}>
          <ul class="plain">
            {report.unread.quarantined > 0 && <li>{w.quarantined(count(report.unread.quarantined))}</li>}
            {report.unread.archives.map((line) => (
              <li>{line}</li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function Different({ report }: { report: Report }) {
  const share = report.requests > 0 ? ` (${percent(report.different / report.requests)})` : "";
  return <Badge tone={report.different > 0 ? "warn" : "good"}>{`${count(report.different)}${share}`}</Badge>;
}

/** The single inputs of a group that the report names. */
function Inputs({ of, linkOf, label }: { of: Example[]; linkOf: LinkOf; label: string }) {
  if (of.length === 0) return <>{words.none}</>;
  return (
    <details class="inline">
      <summary>{w.inputs(of.length)}</summary>
      <ul class="plain" aria-label={label}>
        {of.map((one) => (
          <li>
            <a href={linkOf(one)}>{one.subject}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Groups({ groups, linkOf }: { groups: Group[]; linkOf: LinkOf }) {
  const has = (key: keyof Group): boolean => groups.some((one) => one[key] !== undefined);
  const sorted = [...groups].sort((a, b) => b.requests - a.requests);
  const shown = sorted.slice(0, 500);
  const name = (one: Group): string => [one.step, one.payer, one.payee, one.participant, one.currency].filter(Boolean).join(" ");
  const columns: { head: string; cell: (row: Group) => ComponentChildren; number?: boolean; wide?: boolean }[] = [];
  if (has("step")) columns.push({ head: words.rules.step, cell: (one) => one.step ?? words.none });
  if (has("before")) columns.push({ head: w.before, cell: (one) => (one.before ? <Decided of={one.before} /> : words.none) });
  if (has("after")) columns.push({ head: w.after, cell: (one) => (one.after ? <Decided of={one.after} /> : words.none) });
  if (has("payer")) columns.push({ head: words.transfers.payer, cell: (one) => one.payer ?? words.none });
  if (has("payee")) columns.push({ head: words.transfers.payee, cell: (one) => one.payee ?? words.none });
  if (has("participant")) columns.push({ head: words.transfers.participant, cell: (one) => one.participant ?? words.none });
  if (has("digits")) columns.push({ head: w.digits, number: true, cell: (one) => one.digits ?? words.none });
  columns.push(
    { head: w.count, number: true, cell: (one) => count(one.requests) },
    { head: w.amount, number: true, cell: (one) => [...one.amounts.map(decimal), one.currency].filter(Boolean).join(" ") || words.none },
    { head: w.single, cell: (one) => <Inputs of={one.examples} linkOf={linkOf} label={name(one)} />, wide: true },
  );
  return (
    <>
      <Table label={w.groups} rows={shown} columns={columns} />
      {sorted.length > shown.length && <p class="hint">{w.most(count(shown.length), count(sorted.length))}</p>}
    </>
  );
}

function Failures({ report, linkOf }: { report: Report; linkOf: LinkOf }) {
  const misfits = [...report.misfits.map((one) => ({ ...one, rule: words.none })), ...(report.uncounted ?? []).map((one) => ({ ...one, rule: words.none }))];
  const all = [...report.failures, ...misfits];
  if (all.length === 0) return null;
  return (
    <Section title={w.failures}>
      <Table
        label={w.failures}
        rows={all}
        columns={[
          { head: words.rules.step, cell: (one) => one.step },
          { head: words.rules.rule, cell: (one) => one.rule },
          { head: w.reason, cell: (one) => one.reason, wide: true },
          { head: w.count, number: true, cell: (one) => count(one.requests) },
          { head: w.single, cell: (one) => <Inputs of={one.examples} linkOf={linkOf} label={one.reason} /> },
        ]}
      />
    </Section>
  );
}

function Fuel({ report, linkOf }: { report: Report; linkOf: LinkOf }) {
  if (report.fuel.length === 0) return null;
  const growth = (before: number, after: number) => {
    const share = more(before, after);
    if (share === undefined) return words.none;
    const text = `${share >= 0 ? "+" : "−"}${percent(Math.abs(share))}`;
    return share > 0.2 ? <Badge tone="warn">{text}</Badge> : text;
  };
  return (
    <>
      <Section title={w.fuel} hint={w.fuelHint}>
        <Table
          label={w.fuel}
          rows={report.fuel}
          columns={[
            { head: words.rules.step, cell: (one) => one.step },
            { head: words.rules.rule, cell: (one) => one.rule },
            { head: w.p50Before, number: true, cell: (one) => count(one.before.p50) },
            { head: w.p50After, number: true, cell: (one) => count(one.after.p50) },
            { head: w.p99Before, number: true, cell: (one) => count(one.before.p99) },
            { head: w.p99After, number: true, cell: (one) => count(one.after.p99) },
            { head: w.growth, number: true, cell: (one) => growth(one.before.p99, one.after.p99) },
          ]}
        />
      </Section>
      {report.dearest.length > 0 && (
        <Section title={w.dearest}>
          <Table
            label={w.dearest}
            rows={report.dearest}
            columns={[
              { head: words.rules.step, cell: (one) => one.step },
              { head: words.rules.rule, cell: (one) => one.rule },
              { head: words.story.fuel, number: true, cell: (one) => count(one.fuel) },
              { head: w.single, cell: (one) => <a href={linkOf(one)}>{one.subject}</a>, wide: true },
            ]}
          />
        </Section>
      )}
    </>
  );
}

