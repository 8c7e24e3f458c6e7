// A plan of a release: what it has, who has signed it, and its application.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { count } from "../data/format";
import type { Document, ShownRelease } from "../data/kinds";
import { link } from "../data/router";
import { useRole, useSession } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { Changes, TextDifference } from "../parts/difference";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.releases;

/** A plan, with its text where one was asked for. */
export type Plan = {
  digest: string;
  maker: string;
  made: number;
  expires: number;
  note?: string;
  from: number;
  state: string;
  needed: number;
  signatures: { officer: string; kind: string; at: number; counts: boolean }[];
  content?: string;
};

/** What a plan's text has. */
type Content = {
  changes: string[];
  needsApproval?: string[];
  calendar?: string[];
  effectiveFrom?: string;
  effectiveUntil?: string;
  from: { release: number };
  backtest?: { since: number; until: number; requests: number; different: number; failures: number; fuel: FuelOf[] };
  document: Document;
};

type FuelOf = { step: string; rule: string; before: { p99: number }; after: { p99: number } };

/** A plan's text, read; none if this page does not know its form. */
function read(content: string): Content | undefined {
  try {
    const plan = JSON.parse(content) as Content;
    return Array.isArray(plan.changes) && typeof plan.document.text === "string" ? plan : undefined;
  } catch {
    return undefined;
  }
}

/** The page. */
export function PlanPage({ digest }: { digest: string }) {
  const isAdmin = useRole("admin");
  const isChecker = useRole("checker");
  const { person } = useSession();
  const at = `/plans/${encodeURIComponent(digest)}`;
  const asked = useAsk(digest, (signal) => get<Plan>(at, { signal }), 5000);
  return (
    <>
      <Head title={w.plan} hint={digest} at={asked.at} />
      <Shown of={asked}>
        {(plan) => (
          <>
            <div class="panel summary">
              <Facts
                of={[
                  [w.state, <Badge tone={plan.state === "READY" ? "good" : "quiet"}>{w.planStates[plan.state] ?? plan.state}</Badge>],
                  [w.made, <Time ms={plan.made} />],
                  [w.maker, plan.maker],
                  [w.insteadOf, plan.from],
                  [w.expires, <Time ms={plan.expires} />],
                  [w.note, plan.note || words.none],
                ]}
              />
              <div class="tools">
                <a class="button" href={`${link("releases", "backtests")}?plan=${encodeURIComponent(plan.digest)}`}>
                  {words.backtest.run}
                </a>
                {isChecker && plan.state === "WAITING" && plan.maker !== person && (
                  <Action
                    label={w.approve}
                    text={w.approvePlanText}
                    reason={words.action.reason}
                    done={w.success}
                    after={asked.again}
                    change={(note) => ({ method: "POST", path: `${at}/approve`, body: { note } })}
                  />
                )}
                {isAdmin && plan.state === "READY" && (
                  <Action
                    label={w.apply}
                    text={w.applyText}
                    reason={words.action.reason}
                    done={w.applyDone}
                    after={asked.again}
                    change={(note) => ({ method: "POST", path: `${at}/apply`, body: { note } })}
                  />
                )}
              </div>
            </div>
            <Section title={w.signatures} hint={w.signed(plan.signatures.filter((one) => one.counts).length, plan.needed)}>
              {plan.signatures.length === 0 ? (
                <Empty title={w.noSignatures} hint={w.noSignaturesHint} />
              ) : (
                <Table
                  label={w.signatures}
                  rows={plan.signatures}
                  columns={[
                    { head: w.officer, cell: (one) => one.officer },
                    { head: w.kind, cell: (one) => one.kind },
                    { head: w.made, cell: (one) => <Time ms={one.at} /> },
                    { head: w.state, cell: (one) => <Badge tone={one.counts ? "good" : "bad"}>{one.counts ? w.counts : w.countsNot}</Badge> },
                  ]}
                />
              )}
            </Section>
            {plan.content !== undefined && <Inside content={plan.content} />}
          </>
        )}
      </Shown>
    </>
  );
}

/** What a plan would change, with its text for who wants all of it. */
function Inside({ content }: { content: string }) {
  const plan = read(content);
  const from = plan?.from.release;
  const before = useAsk(from === undefined ? undefined : String(from), (signal) => get<ShownRelease>(`/releases/${from}`, { signal }));
  const raw = (
    <details>
      <summary>{w.content}</summary>
      <pre class="code" tabIndex={0}>
        {content}
      </pre>
    </details>
  );
  if (!plan) return raw;
  const { backtest } = plan;
  const dates = [plan.effectiveFrom && words.rules.from(plan.effectiveFrom), plan.effectiveUntil && words.rules.to(plan.effectiveUntil)].filter(Boolean).join(" ");
  return (
    <>
      <Section title={w.compare} hint={dates || undefined}>
        <Changes of={plan.changes} />
        {(plan.needsApproval ?? []).length > 0 && (
          <div class="stale">
            <p>{words.draft.needs}</p>
            <ul>
              {plan.needsApproval?.map((why) => (
                <li>{why}</li>
              ))}
            </ul>
          </div>
        )}
      </Section>
      {(plan.calendar ?? []).length > 0 && (
        <Section title={words.draft.calendar}>
          <ul class="plain">
            {plan.calendar?.map((line) => (
              <li>{line}</li>
            ))}
          </ul>
        </Section>
      )}
      {backtest && (
        <Section title={w.backtest} hint={w.backtestHint}>
          <Facts
            of={[
              [words.backtest.since, <Time ms={backtest.since} />],
              [words.backtest.until, <Time ms={backtest.until} />],
              [words.backtest.requests, count(backtest.requests)],
              [words.backtest.different, count(backtest.different)],
              [words.backtest.failures, count(backtest.failures)],
            ]}
          />
        </Section>
      )}
      <Section title={words.draft.textDiffers}>
        <Shown of={before}>{(release) => <TextDifference before={release.document.text} after={plan.document.text} label={words.draft.textDiffers} />}</Shown>
        {raw}
      </Section>
    </>
  );
}
