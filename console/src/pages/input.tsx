// A single input with both verdicts: what was decided, and what a candidate decides, of a backtest or in the shadow.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import type { Decision } from "../data/backtest";
import { count } from "../data/format";
import type { Receipt } from "../data/kinds";
import { link } from "../data/router";
import { Badge, Empty, Facts, Head, Json, Section, Shown, Time } from "../parts/basics";
import { Decided } from "../parts/report";
import { Table } from "../parts/table";
import { words } from "../words";
import { ReceiptView } from "./story";

const w = words.backtest;

type Verdict = { rule: string; version: string; verdict?: { outcome: string; violations?: { code: string; message: string }[]; reason?: string }; error?: string; fuel: number };

type Judged = {
  step: string;
  subject: string;
  at: number;
  input: unknown;
  before: Decision;
  after: Decision;
  verdictsBefore: Verdict[];
  verdictsAfter: Verdict[];
};

/** The page of an input of a backtest. */
export function BacktestInput({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `/releases/backtests/${encodeURIComponent(id)}/input?${query}`;
  const asked = useAsk(path, (signal) => get<Judged>(path, { signal }));
  return (
    <>
      <Head title={w.input} hint={query.get("subject") ?? undefined} at={asked.at}>
        <a href={link("releases", "backtests", id)}>{w.one(id)}</a>
      </Head>
      <Shown of={asked}>{(judged) => <Both judged={judged} />}</Shown>
    </>
  );
}

/** The id of a payment in a subject. */
const idOf = (subject: string): string => subject.split(":").pop() ?? subject;

function Both({ judged }: { judged: Judged }) {
  return (
    <>
      <div class="panel summary">
        <Facts
          of={[
            [words.rules.step, judged.step],
            [w.at, <Time ms={judged.at} millis />],
            [w.before, <Decided of={judged.before} />],
            [w.after, <Decided of={judged.after} />],
          ]}
        />
        <a href={link("story", idOf(judged.subject))}>{words.story.title}</a>
      </div>
      <div class="both">
        <Verdicts title={w.verdictsBefore} all={judged.verdictsBefore} />
        <Verdicts title={w.verdictsAfter} all={judged.verdictsAfter} />
      </div>
      <Section title={words.story.input}>
        <Json of={judged.input} />
      </Section>
    </>
  );
}

function Verdicts({ title, all }: { title: string; all: Verdict[] }) {
  return (
    <Section title={title}>
      {all.length === 0 ? (
        <Empty title={w.noVerdict} hint={w.noVerdictHint} />
      ) : (
        <Table
          label={title}
          rows={all}
          columns={[
            { head: words.rules.rule, cell: (one) => `${one.rule} ${one.version}` },
            {
              head: words.story.verdict,
              wide: true,
              cell: (one) => (
                <>
                  <Badge tone={one.verdict?.outcome === "allow" ? "good" : "bad"}>{one.verdict?.outcome ?? w.noVerdict}</Badge>{" "}
                  {(one.verdict?.violations ?? []).map((v) => (
                    <span>
                      <code>{v.code}</code> {v.message}
                    </span>
                  ))}{" "}
                  {one.verdict?.reason ?? one.error}
                </>
              ),
            },
            { head: words.story.fuel, number: true, cell: (one) => count(one.fuel) },
          ]}
        />
      )}
    </Section>
  );
}

/** The page of an input that a shadow judged otherwise: its receipts, those of the shadow marked. */
export function ShadowInput({ query }: { query: URLSearchParams }) {
  const subject = query.get("subject") ?? "";
  const number = Number(query.get("receipt"));
  const asked = useAsk(`${subject} ${number}`, (signal) => get<Receipt[]>(`/receipts/${encodeURIComponent(subject)}`, { signal }));
  return (
    <>
      <Head title={w.input} hint={subject} at={asked.at}>
        <a href={link("rules")}>{words.rules.title}</a>
        <a href={link("story", idOf(subject))}>{words.story.title}</a>
      </Head>
      <Shown of={asked}>
        {(all) => {
          const found = all.find((one) => one.id === number)?.receipt;
          const of = all.filter((one) => found && one.receipt?.inputDigest === found.inputDigest && one.receipt.step === found.step);
          if (!found) return <Empty title={w.noReceipt} hint={w.noReceiptHint} />;
          return (
            <>
              {of.map((one) => (
                <Section title={(one.receipt as { shadow?: unknown } | undefined)?.shadow ? w.ofShadow : w.ofRule}>
                  <ReceiptView of={one} id={subject} />
                </Section>
              ))}
            </>
          );
        }}
      </Shown>
    </>
  );
}
