// Tables of Live: messages by leg with their times, and refusals by rule and code.

import { type Course, type Figure, meanOf } from "../data/course";
import type { Feed } from "../data/feed";
import { count, seconds, short } from "../data/format";
import { LEGS, legOf } from "../data/legs";
import { link } from "../data/router";
import { Empty, Section } from "./basics";
import { Table } from "./table";
import { words } from "../words";

const w = words.live;

/** A message, with what the last minute tells of it. */
export type Message = { name: string; leg: string; order: number; perSecond: number; p50: number; p99: number; refused: Map<string, number> };

/** The messages that came in the last minute, or else in the time that is shown, by leg. */
export function messages(of: Pick<Feed, "minute" | "course">): Message[] {
  const all = new Map<string, Message>();
  const times = new Map<string, number[]>();
  const one = (name: string): Message => {
    const known = all.get(name);
    if (known) return known;
    const leg = legOf(name);
    const order = leg ? LEGS.indexOf(leg) * 100 + leg.messages.indexOf(name) : 1000;
    const made: Message = { name, leg: leg ? w.legs[leg.leg] : w.legs.other, order, perSecond: 0, p50: NaN, p99: NaN, refused: new Map() };
    all.set(name, made);
    return made;
  };
  const lately = of.minute.length > 0 ? of.minute.map((one) => one.figures) : [lastPoint(of.course)];
  const ticks = lately.length;
  for (const figures of lately) {
    for (const { name, labels, value } of figures) {
      const operation = labels?.["operation"];
      if (operation === undefined || operation === "") continue;
      if (name === "requests") {
        const message = one(operation);
        message.perSecond += value / ticks;
        const status = labels?.["status"] ?? "";
        if (value > 0 && !status.startsWith("2")) message.refused.set(status, (message.refused.get(status) ?? 0) + value / ticks);
      } else if (name === "p50" || name === "p99") {
        const key = `${name} ${operation}`;
        times.set(key, [...(times.get(key) ?? []), value]);
      }
    }
  }
  // What came before this page was opened has its times too.
  for (const { labels } of of.course.all("requests")) if (labels["operation"]) one(labels["operation"]);
  for (const message of all.values()) {
    const time = (name: string): number => {
      const told = times.get(`${name} ${message.name}`);
      return told ? meanOf(told) : meanOf(of.course.sum(name, { operation: message.name }));
    };
    message.p50 = time("p50");
    message.p99 = time("p99");
  }
  return [...all.values()].sort((a, b) => a.order - b.order || a.name.localeCompare(b.name));
}

/** The figures of the newest point, of which all messages are told until the stream tells newer ones. */
function lastPoint(course: Course): Figure[] {
  const names = ["requests", "p50", "p99"];
  const found = names.flatMap((name) => course.all(name).map(({ labels, values }) => ({ name, labels, value: values.at(-1) ?? NaN })));
  return found.filter((one) => !Number.isNaN(one.value));
}

/** Messages by leg: how many, how long the hub took, and what was refused. */
export function Messages({ of }: { of: Feed }) {
  const rows = messages(of);
  return (
    <Section title={w.messages} hint={w.messagesHint}>
      {rows.length === 0 ? (
        <Empty title={w.noMessages} hint={w.noMessagesHint} />
      ) : (
        <Table
          label={w.messages}
          rows={rows}
          columns={[
            { head: w.leg, cell: (one) => one.leg },
            { head: w.operation, cell: (one) => <code>{one.name}</code> },
            { head: w.aSecond, number: true, cell: (one) => short(one.perSecond) },
            { head: w.p50, number: true, cell: (one) => seconds(one.p50) },
            { head: w.p99, number: true, cell: (one) => seconds(one.p99) },
            {
              head: w.refusedASecond,
              number: true,
              cell: (one) =>
                one.refused.size === 0 ? "0" : <span class="warned">{[...one.refused].map(([status, n]) => `${short(n)} × ${status}`).join(", ")}</span>,
            },
          ]}
        />
      )}
    </Section>
  );
}

/** What a rule said, and how often in the time that is shown. */
export type Verdict = { step: string; rule: string; verdict: string; code: string; times: number; of: number };

/** Verdicts that did not allow, by rule and code, the most first. */
export function refusals(of: Pick<Feed, "course">): Verdict[] {
  const { course } = of;
  const seconds = course.everyMs / 1000;
  const total = (values: number[]): number => values.reduce((sum, value) => sum + (Number.isNaN(value) ? 0 : value * seconds), 0);
  const all = course.all("verdicts");
  const asked = new Map<string, number>();
  const key = (labels: Record<string, string>): string => `${labels["step"]} ${labels["rule"]}`;
  for (const { labels, values } of all) asked.set(key(labels), (asked.get(key(labels)) ?? 0) + total(values));
  const found = all.map(({ labels, values }) => ({
    step: labels["step"] ?? "",
    rule: labels["rule"] ?? "",
    verdict: labels["verdict"] ?? "",
    code: labels["code"] ?? "",
    times: total(values),
    of: asked.get(key(labels)) ?? 0,
  }));
  return found.filter((one) => one.verdict !== "allow" && one.times >= 0.5).sort((a, b) => b.times - a.times);
}

/** Refusals by rule and code. */
export function Verdicts({ of }: { of: Feed }) {
  const rows = refusals(of);
  return (
    <Section title={w.byRule} hint={w.byRuleHint(w.spans[String(of.span)] ?? "")}>
      {rows.length === 0 ? (
        <Empty title={w.noVerdicts} hint={w.noVerdictsHint} />
      ) : (
        <Table
          label={w.byRule}
          rows={rows}
          columns={[
            { head: w.rule, cell: (one) => <a href={link("rules")}>{one.rule}</a> },
            { head: w.step, cell: (one) => one.step },
            { head: w.verdict, cell: (one) => w.verdicts[one.verdict] ?? one.verdict },
            { head: words.transfers.code, cell: (one) => (one.code ? <code>{one.code}</code> : words.none) },
            { head: w.times, number: true, cell: (one) => count(Math.round(one.times)) },
            { head: w.ofAll, number: true, cell: (one) => (one.of > 0 ? `${short((one.times / one.of) * 100)} %` : words.none) },
          ]}
        />
      )}
    </Section>
  );
}
