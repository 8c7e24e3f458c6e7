// The plan of a draft: what it would change, by whom it must be approved, and its way into force.

import { useState } from "preact/hooks";
import { get, getText, send } from "../data/api";
import { useAsk } from "../data/ask";
import type { Job } from "../data/backtest";
import { changedRules, type Component, type Draft, drafts } from "../data/draft";
import { count, instant } from "../data/format";
import type { Applied } from "../data/kinds";
import { link } from "../data/router";
import { Action } from "../parts/action";
import { Badge, Digest, Problem, Section, Shown } from "../parts/basics";
import { Changes, TextDifference } from "../parts/difference";
import { Table } from "../parts/table";
import { words } from "../words";
import { Instant } from "./editor";

const w = words.draft;

/** A plan of one document. Another document has another one. */
type Shown = { document: Draft["document"]; dates: string; plan: Applied };

/** The part of the page. */
export function Planned({ draft }: { draft: Draft }) {
  const [from, setFrom] = useState<string>();
  const [until, setUntil] = useState<string>();
  const [shown, setShown] = useState<Shown>();
  const [error, setError] = useState<Error>();
  const [isAsking, setAsking] = useState(false);
  const dates = { ...(from && { effectiveFrom: from }), ...(until && { effectiveUntil: until }) };
  const key = JSON.stringify(dates);
  const isFresh = shown?.document === draft.document && shown.dates === key;
  const ask = async (): Promise<void> => {
    setAsking(true);
    setError(undefined);
    setShown(undefined);
    try {
      const plan = await send<Applied>({ method: "POST", path: "/releases/plan", body: { document: draft.document, ...dates } });
      if (plan) setShown({ document: draft.document, dates: key, plan });
    } catch (failed) {
      setError(failed as Error);
    } finally {
      setAsking(false);
    }
  };
  return (
    <Section title={w.plan} hint={w.planHint}>
      <div class="filters">
        <Instant label={w.effectiveFrom} value={from} change={setFrom} />
        <Instant label={w.effectiveUntil} value={until} change={setUntil} />
        <button type="button" class="primary" disabled={isAsking} onClick={() => void ask()}>
          {w.show}
        </button>
      </div>
      {isAsking && (
        <p class="loading" role="status">
          {w.asking} …
        </p>
      )}
      {error && (
        <>
          <Problem error={error} />
          <p class="hint">{words.problem.nothing}</p>
        </>
      )}
      {shown && !isFresh && <p class="stale" role="status">{w.outdated}</p>}
      {shown && isFresh && <Plan draft={draft} plan={shown.plan} dates={dates} />}
    </Section>
  );
}

function Plan({ draft, plan, dates }: { draft: Draft; plan: Applied; dates: object }) {
  const [made, setMade] = useState<string>();
  const needs = plan.needsApproval ?? [];
  const officers = plan.officers ?? 0;
  const way = officers > 0 ? w.ways.officers(officers) : needs.length > 0 ? w.ways.second : plan.effectiveFrom !== undefined ? w.ways.later(instant(plan.effectiveFrom)) : w.ways.once;
  const whole = { document: draft.document, expected: draft.from, ...dates };
  const judged = useAsk(plan.digest, (signal) => reportOf(plan.digest, signal));
  if (plan.unchanged) return <p class="panel" role="status">{w.nothingChanges(plan.number)}</p>;
  return (
    <div class="planned" data-planned={plan.number}>
      <h3>{w.wouldChange(plan.number)}</h3>
      <Changes of={plan.changes} />
      <Fuel draft={draft} />
      {judged.data && (
        <p class="panel" role="status">
          {w.judged(count(judged.data.job.report?.requests ?? 0), count(judged.data.job.report?.different ?? 0))}{" "}
          <a href={link("releases", "backtests", String(judged.data.job.id))}>{words.backtest.one(String(judged.data.job.id))}</a>
        </p>
      )}
      {needs.length > 0 && (
        <div class="stale" role="status">
          <p>{w.needs}</p>
          <ul>
            {needs.map((why) => (
              <li>{why}</li>
            ))}
          </ul>
        </div>
      )}
      {(plan.calendar ?? []).length > 0 && (
        <>
          <h3>{w.calendar}</h3>
          <ul class="plain">
            {plan.calendar?.map((line) => (
              <li>{line}</li>
            ))}
          </ul>
        </>
      )}
      <details>
        <summary>{w.textDiffers}</summary>
        <TextDifference before={draft.base.text} after={draft.document.text} label={w.textDiffers} />
      </details>
      <p>{way}</p>
      {made !== undefined && (
        <p class="panel" role="status">
          {w.made} <a href={link("releases", made)}>{made.startsWith("sha256:") ? words.releases.plan : words.releases.one(Number(made))}</a>
        </p>
      )}
      <div class="tools">
        {officers === 0 ? (
          <Action
            label={needs.length > 0 ? w.propose : w.apply}
            text={needs.length > 0 ? w.proposeText : plan.effectiveFrom !== undefined ? w.ways.later(instant(plan.effectiveFrom)) : w.applyText}
            reason={words.action.reason}
            needsReason
            done={needs.length > 0 ? w.proposed : w.applied(plan.number)}
            after={() => undefined}
            answered={(answer) => {
              drafts.end();
              location.hash = link("releases", String((answer as Applied).number));
            }}
            change={(note) => ({ method: "POST", path: "/releases", body: { ...whole, note } })}
          />
        ) : null}
        <a class="button" href={link("releases", "backtests")}>
          {w.backtest}
        </a>
        <Action
          label={w.makePlan}
          text={w.makePlanText}
          reason={words.action.reason}
          done={w.planMade}
          after={() => undefined}
          answered={(answer) => setMade((answer as { digest: string }).digest)}
          change={(note) => ({ method: "POST", path: "/plans", body: { ...whole, note, ...(judged.data && { backtest: judged.data.text }) } })}
        />
      </div>
    </div>
  );
}

/** The report of the last backtest of a draft, if the host keeps one. */
async function reportOf(digest: string, signal: AbortSignal): Promise<{ job: Job; text: string } | undefined> {
  const all = await get<Job[]>("/releases/backtests", { signal });
  const found = all.find((one) => one.state === "DONE" && one.of === `draft ${digest}`);
  if (!found) return undefined;
  const at = `/releases/backtests/${found.id}`;
  const [job, text] = await Promise.all([get<Job>(at, { signal }), getText(`${at}/report`, "application/json", signal)]);
  return { job, text };
}

/** The components of a changed rule, before and after. */
type Pair = { name: string; before: Component | undefined; after: Component | undefined };

/** What changed rules say of themselves, before and after. */
function Fuel({ draft }: { draft: Draft }) {
  const changed = changedRules(draft.base, draft.document);
  const key = JSON.stringify(changed);
  const load = async (signal: AbortSignal): Promise<Pair[]> => {
    const of = (digest: string | undefined): Promise<Component | undefined> =>
      digest === undefined ? Promise.resolve(undefined) : get<Component>(`/components/${digest}`, { signal });
    return Promise.all(changed.map(async ({ name, before, after }) => ({ name, before: await of(before), after: await of(after) })));
  };
  const asked = useAsk(changed.length > 0 ? key : undefined, load);
  if (changed.length === 0) return null;
  const version = (one: Component | undefined) =>
    one ? (
      <>
        {one.rule?.version ?? ""} <Digest text={one.digest} />
      </>
    ) : (
      words.none
    );
  const fuel = (one: Component | undefined): string => (one?.rule?.fuel === undefined ? words.none : count(one.rule.fuel));
  const dearer = (one: Pair): boolean => (one.after?.rule?.fuel ?? 0) > (one.before?.rule?.fuel ?? Infinity);
  return (
    <>
      <h3>{w.components}</h3>
      <Shown of={asked}>
        {(pairs) => (
          <Table
            label={w.components}
            rows={pairs}
            columns={[
              { head: w.rule, cell: (one) => one.name },
              { head: w.versionBefore, cell: (one) => version(one.before) },
              { head: w.versionAfter, cell: (one) => version(one.after) },
              { head: w.fuelBefore, number: true, cell: (one) => fuel(one.before) },
              { head: w.fuelAfter, number: true, cell: (one) => (dearer(one) ? <Badge tone="warn">{fuel(one.after)}</Badge> : fuel(one.after)) },
            ]}
          />
        )}
      </Shown>
    </>
  );
}
