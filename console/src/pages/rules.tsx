// Rules: what is bound at each step, what was taken out of force, and what candidates do.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import type { Report } from "../data/backtest";
import { type Bound, bound } from "../data/bound";
import { clock, count, percent } from "../data/format";
import type { Release, ShownRelease } from "../data/kinds";
import { link } from "../data/router";
import { useRole, useSession } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Digest, Empty, Head, Json, Section, Shown, Time, type Tone } from "../parts/basics";
import { type Canary, Canaries } from "../parts/canaries";
import { ReportView } from "../parts/report";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.rules;

type Suspension = { id: number; rule: string; state: string; person: string; note?: string; at: number; until: number; confirmedBy?: string; endedBy?: string };
type Quarantine = { step: string; rule: string; reason: string; failures: number; since: number; until: number; decided: number };
type Shadow = {
  rule: string; candidate: string; share: number; cpu: number; kept: number; report: Report;
  skipped: { share: number; budget: number; withoutVerdict: number; queue: number; encrypted: number };
};
type Figures = {
  step: string; rule: string; digest: string; version?: string; isBound: boolean; since: number;
  allowed: number; refused: Record<string, number>; failed: number; fuelP50: number; fuelP99: number; fuelLimit?: number;
};

type Known = { release: ShownRelease; figures: Figures[]; suspensions: Suspension[]; quarantines: Quarantine[]; canaries: Canary[]; shadows: Shadow[] };

async function load(signal: AbortSignal): Promise<Known> {
  const releases = await get<Release[]>("/releases", { signal });
  const current = releases.find((one) => one.current)?.number ?? 0;
  const [release, figures, suspensions, quarantines, canaries, shadows] = await Promise.all([
    get<ShownRelease>(`/releases/${current}`, { signal }),
    get<Figures[]>("/rules", { signal }),
    get<Suspension[]>("/suspensions", { signal }),
    get<Quarantine[]>("/quarantines", { signal }),
    get<Canary[]>("/canaries", { signal }),
    get<Shadow[]>("/shadows", { signal }),
  ]);
  return { release, figures, suspensions, quarantines, canaries, shadows };
}

/** Whether a suspension holds now. */
const holds = (one: Suspension): boolean => one.state === "SUSPENDED" || one.state === "CONFIRMED";

/** The page. */
export function Rules() {
  const isAdmin = useRole("admin");
  const asked = useAsk("rules", load, 5000);
  return (
    <>
      <Head title={w.title} at={asked.at}>
        <a class="button" href={link("rules", "wiring")}>
          {words.wiring.open}
        </a>
        {isAdmin && (
          <a class="button primary" href={link("releases", "new")}>
            {words.draft.make}
          </a>
        )}
      </Head>
      <Shown of={asked}>
        {(known) => (
          <>
            <BoundRules known={known} again={asked.again} />
            <Hour figures={known.figures} />
            <Suspensions all={known.suspensions} again={asked.again} />
            <Quarantines all={known.quarantines} />
            <Canaries all={known.canaries} release={known.release.number} />
            <Shadows all={known.shadows} />
          </>
        )}
      </Shown>
    </>
  );
}

function read(release: ShownRelease): Bound[] | undefined {
  try {
    return bound(release);
  } catch {
    return undefined;
  }
}

function BoundRules({ known, again }: { known: Known; again: () => void }) {
  const isAdmin = useRole("admin");
  const all = read(known.release);
  const title = w.current(known.release.number);
  const tools = <a href={link("releases", String(known.release.number))}>{words.releases.one(known.release.number)}</a>;
  if (!all) return <Section title={title} tools={tools}><Empty title={w.unreadable} hint={w.unreadableHint} /></Section>;
  if (all.length === 0) return <Section title={title} tools={tools}><Empty title={w.empty} hint={w.emptyHint} /></Section>;
  const state = (one: Bound): [string, Tone] => {
    if (known.suspensions.some((other) => other.rule === one.rule && holds(other))) return [w.suspended, "bad"];
    if (known.quarantines.some((other) => other.rule === one.rule && other.step === one.step)) return [w.quarantined, "warn"];
    return [w.inForce, "good"];
  };
  const names = [...new Set(all.map((one) => one.rule))];
  return (
    <Section title={title} tools={tools}>
      <Table
        label={title}
        rows={all}
        columns={[
          { head: w.step, cell: (one) => (one.order === 1 ? <strong>{one.step}</strong> : "") },
          { head: w.order, number: true, cell: (one) => one.order },
          { head: w.rule, cell: (one) => one.rule },
          { head: w.digest, cell: (one) => (one.digest ? <Digest text={one.digest} /> : words.none) },
          {
            head: w.mode,
            cell: (one) => {
              const [text, tone] = state(one);
              const times = [one.from && w.from(one.from), one.until && w.to(one.until)].filter(Boolean).join(" ");
              return (
                <>
                  <Badge tone={tone}>{text}</Badge> {times}
                </>
              );
            },
          },
          {
            head: w.settings,
            wide: true,
            cell: (one) => (
              <details class="inline">
                <summary>{w.settings}</summary>
                <Json of={{ ...one.more, settings: one.settings ?? {} }} />
              </details>
            ),
          },
        ]}
      />
      {isAdmin && (
        <ul class="acts">
          {names
            .filter((rule) => !known.suspensions.some((one) => one.rule === rule && holds(one)))
            .map((rule) => (
              <li data-rule={rule}>
                <span>{rule}</span>
                <Action
                  label={w.suspend}
                  text={w.suspendText(rule)}
                  danger
                  reason={words.action.reason}
                  needsReason
                  done={w.suspendDone(rule)}
                  after={again}
                  change={(note) => ({
                    method: "POST",
                    path: `/rules/${encodeURIComponent(rule)}/suspend`,
                    body: { note, expected: known.release.number },
                  })}
                />
              </li>
            ))}
        </ul>
      )}
    </Section>
  );
}

function Suspensions({ all, again }: { all: Suspension[]; again: () => void }) {
  const isAdmin = useRole("admin");
  const isChecker = useRole("checker");
  const { person } = useSession();
  return (
    <Section title={w.suspensions}>
      {all.length === 0 ? (
        <Empty title={w.noSuspensions} hint={w.noSuspensionsHint} />
      ) : (
        <Table
          label={w.suspensions}
          rows={all}
          columns={[
            { head: w.rule, cell: (one) => one.rule },
            { head: w.state, cell: (one) => <Badge tone={holds(one) ? "bad" : "quiet"}>{w.states[one.state] ?? one.state}</Badge> },
            { head: w.by, cell: (one) => one.person },
            { head: w.since, cell: (one) => <Time ms={one.at} /> },
            { head: w.until, cell: (one) => (one.state === "SUSPENDED" ? <Time ms={one.until} /> : words.none) },
            { head: w.note, cell: (one) => one.note ?? "", wide: true },
            {
              head: words.table.acts,
              quiet: true,
              cell: (one) => (
                <div class="tools">
                  {one.state === "SUSPENDED" && isChecker && one.person !== person && (
                    <Action
                      label={w.confirm}
                      text={w.confirmText(one.rule, one.person)}
                      reason={words.action.reason}
                      done={w.confirmDone}
                      after={again}
                      change={(note) => ({ method: "POST", path: `/suspensions/${one.id}/approve`, body: { note } })}
                    />
                  )}
                  {holds(one) && isAdmin && (
                    <Action
                      label={w.end}
                      text={w.endText(one.rule)}
                      reason={words.action.reason}
                      done={w.endDone(one.rule)}
                      after={again}
                      change={(note) => ({ method: "POST", path: `/suspensions/${one.id}/end`, body: { note } })}
                    />
                  )}
                </div>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}

function Quarantines({ all }: { all: Quarantine[] }) {
  return (
    <Section title={w.quarantines} hint={w.quarantinesHint}>
      {all.length === 0 ? (
        <Empty title={w.noQuarantines} hint={w.noQuarantinesHint} />
      ) : (
        <Table
          label={w.quarantines}
          rows={all}
          columns={[
            { head: w.step, cell: (one) => one.step },
            { head: w.rule, cell: (one) => one.rule },
            { head: w.since, cell: (one) => <Time ms={one.since} /> },
            { head: w.until, cell: (one) => <Time ms={one.until} /> },
            { head: w.failures, number: true, cell: (one) => count(one.failures) },
            { head: w.decided, number: true, cell: (one) => count(one.decided) },
            { head: w.note, cell: (one) => one.reason, wide: true },
          ]}
        />
      )}
    </Section>
  );
}

/** What rules said in the last hour. */
function Hour({ figures }: { figures: Figures[] }) {
  const refused = (one: Figures): number => Object.values(one.refused).reduce((sum, n) => sum + n, 0);
  const all = (one: Figures): number => one.allowed + refused(one) + one.failed;
  return (
    <Section title={w.hour} hint={figures[0] && w.hourHint(clock(figures[0].since))}>
      {figures.length === 0 ? (
        <Empty title={w.empty} hint={w.emptyHint} />
      ) : (
        <Table
          label={w.hour}
          rows={figures}
          columns={[
            { head: w.step, cell: (one) => one.step },
            { head: w.rule, cell: (one) => one.rule },
            { head: w.version, cell: (one) => <span title={one.digest}>{one.isBound ? (one.version ?? words.none) : <Badge tone="quiet">{w.gone}</Badge>}</span> },
            { head: w.verdicts, number: true, cell: (one) => count(all(one)) },
            {
              head: w.refused,
              number: true,
              cell: (one) => (
                <>
                  {count(refused(one))}
                  {all(one) > 0 && ` (${percent(refused(one) / all(one))})`}
                </>
              ),
            },
            { head: w.codes, cell: (one) => Object.entries(one.refused).map(([code, n]) => `${code}: ${count(n)}`).join(", ") || words.none },
            { head: w.failed, number: true, cell: (one) => (one.failed > 0 ? <Badge tone="bad">{count(one.failed)}</Badge> : "0") },
            { head: w.fuelP50, number: true, cell: (one) => count(one.fuelP50) },
            { head: w.fuelP99, number: true, cell: (one) => count(one.fuelP99) },
            { head: w.fuelLimit, number: true, cell: (one) => (one.fuelLimit === undefined ? words.none : count(one.fuelLimit)) },
          ]}
        />
      )}
      <p class="hint after-table">{w.coverage}</p>
    </Section>
  );
}

/** A share in millionths. */
const millionths = (value: number): string => percent(value / 1e6);

function Shadows({ all }: { all: Shadow[] }) {
  const skipped = (one: Shadow): number => Object.values(one.skipped).reduce((sum, n) => sum + n, 0);
  return (
    <Section title={w.shadows}>
      {all.length === 0 ? (
        <Empty title={w.noShadows} hint={w.noCandidatesHint} />
      ) : (
        <>
          <Table
            label={w.shadows}
            rows={all}
            columns={[
              { head: w.rule, cell: (one) => one.rule },
              { head: w.candidate, cell: (one) => one.candidate },
              { head: w.share, number: true, cell: (one) => millionths(one.share) },
              { head: words.backtest.requests, number: true, cell: (one) => count(one.report.requests) },
              { head: w.different, number: true, cell: (one) => count(one.report.different) },
              { head: w.kept, number: true, cell: (one) => count(one.kept) },
              { head: w.skipped, number: true, cell: (one) => count(skipped(one)) },
            ]}
          />
          {all.map((one) => (
            <details class="shadow-report">
              <summary>{w.reportOf(one.candidate, one.rule)}</summary>
              <ReportView report={one.report} linkOf={(example) => `${link("rules", "input")}?${new URLSearchParams({ receipt: String(example.receipt), subject: example.subject })}`} />
            </details>
          ))}
        </>
      )}
    </Section>
  );
}
