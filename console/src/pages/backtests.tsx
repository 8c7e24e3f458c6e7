// Backtests: what is judged again by whom, how far it is, and what came of it.

import { useState } from "preact/hooks";
import { get, getText, send } from "../data/api";
import { useAsk } from "../data/ask";
import { type Job, progress } from "../data/backtest";
import { drafts } from "../data/draft";
import { count, percent } from "../data/format";
import type { Participant } from "../data/kinds";
import { link } from "../data/router";
import { useRole } from "../data/session";
import { Instant } from "../draft/editor";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Problem, Section, Shown, Time, type Tone } from "../parts/basics";
import { ReportView } from "../parts/report";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.backtest;

const TONES: Record<Job["state"], Tone> = { RUNNING: "warn", DONE: "good", CANCELLED: "quiet", FAILED: "bad" };

/** What a job has done so far. */
function State({ of }: { of: Job }) {
  const share = progress(of);
  return (
    <>
      <Badge tone={TONES[of.state]}>{w.states[of.state]}</Badge> {of.state === "RUNNING" && share !== undefined && <span class="tabular">{percent(share)}</span>}
    </>
  );
}

/** The page of all. */
export function Backtests({ query }: { query: URLSearchParams }) {
  const isAdmin = useRole("admin");
  const asked = useAsk("backtests", (signal) => get<Job[]>("/releases/backtests", { signal }), 2000);
  return (
    <>
      <Head title={w.title} hint={w.intro} at={asked.at}>
        <a href={link("releases")}>{words.releases.title}</a>
      </Head>
      {isAdmin && <Start query={query} again={asked.again} />}
      <Section title={w.kept} hint={w.keptHint}>
        <Shown of={asked}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={w.noJobs} hint={isAdmin ? w.noJobsHint : w.noJobsReader} />
            ) : (
              <Table
                label={w.kept}
                rows={all}
                columns={[
                  { head: w.job, number: true, cell: (one) => <a href={link("releases", "backtests", String(one.id))}>{one.id}</a> },
                  { head: w.state, cell: (one) => <State of={one} /> },
                  { head: w.of, cell: (one) => one.of, wide: true },
                  { head: w.since, cell: (one) => <Time ms={one.since} /> },
                  { head: w.until, cell: (one) => <Time ms={one.until} /> },
                  { head: w.only, cell: (one) => [one.step, one.participant, one.currency].filter(Boolean).join(", ") || w.everything },
                  { head: w.verdicts, number: true, cell: (one) => count(one.verdicts) },
                  { head: words.releases.maker, cell: (one) => one.person },
                ]}
              />
            )
          }
        </Shown>
      </Section>
    </>
  );
}

const SPANS: Record<string, number> = { hour: 3_600_000, day: 86_400_000, week: 604_800_000, month: 2_592_000_000 };

function Start({ query, again }: { query: URLSearchParams; again: () => void }) {
  const draft = drafts.now();
  const choices = useAsk("backtest-choices", async (signal) => {
    const [releases, plans, participants] = await Promise.all([
      get<{ number: number; current: boolean }[]>("/releases", { signal }),
      get<{ digest: string; note?: string }[]>("/plans", { signal }),
      get<{ items: Participant[] }>("/participants?limit=100", { signal }).catch(() => ({ items: [] as Participant[] })),
    ]);
    return { releases: releases.reverse(), plans, participants: participants.items };
  });
  const first = query.get("plan") ? `plan ${query.get("plan")}` : query.get("release") ? `release ${query.get("release")}` : draft ? "draft" : "";
  const [of, setOf] = useState(first);
  const [span, setSpan] = useState("day");
  const [since, setSince] = useState<string>();
  const [until, setUntil] = useState<string>();
  const [step, setStep] = useState("");
  const [participant, setParticipant] = useState("");
  const [currency, setCurrency] = useState("");
  const [error, setError] = useState<Error>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setError(undefined);
    const [kind = "", name = ""] = of.split(" ");
    const what = kind === "release" ? { release: Number(name) } : kind === "plan" ? { plan: name } : { document: draft?.document };
    const body = {
      ...what,
      since: span === "other" && since ? Date.parse(since) : Date.now() - (SPANS[span] ?? 0),
      ...(span === "other" && until && { until: Date.parse(until) }),
      ...(step && { step }),
      ...(participant && { participant }),
      ...(currency && { currency }),
    };
    try {
      const job = await send<Job>({ method: "POST", path: "/releases/backtests", body });
      if (job) location.hash = link("releases", "backtests", String(job.id));
      again();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <Section title={w.start}>
      <Shown of={choices}>
        {(known) => (
          <form class="filters" onSubmit={(event) => void submit(event)}>
            <label class="field">
              <span>{w.of}</span>
              <select name="of" required value={of} onChange={(event) => setOf(event.currentTarget.value)}>
                <option value="">{w.choose}</option>
                {draft && <option value="draft">{w.draft}</option>}
                {known.releases.map((one) => (
                  <option value={`release ${one.number}`}>{`${words.releases.one(one.number)}${one.current ? `, ${words.releases.current}` : ""}`}</option>
                ))}
                {known.plans.map((one) => (
                  <option value={`plan ${one.digest}`}>{w.plan(one.digest.slice(7, 19), one.note ?? "")}</option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>{w.period}</span>
              <select name="span" value={span} onChange={(event) => setSpan(event.currentTarget.value)}>
                {Object.keys(SPANS).map((one) => (
                  <option value={one}>{w.spans[one]}</option>
                ))}
                <option value="other">{w.spans["other"]}</option>
              </select>
            </label>
            {span === "other" && (
              <>
                <Instant label={w.since} value={since} change={setSince} isRequired />
                <Instant label={w.until} value={until} change={setUntil} />
              </>
            )}
            <label class="field">
              <span>{words.rules.step}</span>
              <input name="step" value={step} placeholder={w.everything} autocomplete="off" onInput={(event) => setStep(event.currentTarget.value.trim())} />
            </label>
            <label class="field">
              <span>{words.transfers.participant}</span>
              <select name="participant" value={participant} onChange={(event) => setParticipant(event.currentTarget.value)}>
                <option value="">{words.transfers.anyParticipant}</option>
                {known.participants.map((one) => (
                  <option value={one.id}>{one.id}</option>
                ))}
              </select>
            </label>
            <label class="field small">
              <span>{words.transfers.currency}</span>
              <input name="currency" value={currency} pattern="[A-Z]{3}" placeholder="USD" autocomplete="off" onInput={(event) => setCurrency(event.currentTarget.value.trim().toUpperCase())} />
            </label>
            <button type="submit" class="primary">
              {w.begin}
            </button>
          </form>
        )}
      </Shown>
      <p class="hint">{w.startHint}</p>
      {error && <Problem error={error} />}
    </Section>
  );
}

/** The page of one. */
export function Backtest({ id }: { id: string }) {
  const at = `/releases/backtests/${encodeURIComponent(id)}`;
  const [ended, setEnded] = useState(false);
  const isAdmin = useRole("admin");
  const asked = useAsk(
    id,
    async (signal) => {
      const job = await get<Job>(at, { signal });
      setEnded(job.state !== "RUNNING");
      return job;
    },
    ended ? undefined : 1000,
  );
  return (
    <>
      <Head title={w.one(id)} hint={asked.data?.of} at={asked.at}>
        <a href={link("releases", "backtests")}>{w.title}</a>
      </Head>
      <Shown of={asked}>
        {(job) => (
          <>
            <div class="panel summary">
              <Facts
                of={[
                  [w.state, <State of={job} />],
                  [w.verdicts, <span class="tabular">{count(job.verdicts)}</span>],
                  [w.reads, <Time ms={job.at} />],
                  [words.releases.maker, job.person],
                  [w.begun, <Time ms={job.begun} />],
                  [w.ended, <Time ms={job.ended} />],
                  [w.only, [job.step, job.participant, job.currency].filter(Boolean).join(", ") || w.everything],
                ]}
              />
              <div class="tools">
                {isAdmin && job.state === "RUNNING" && (
                  <Action label={w.cancel} text={w.cancelText} danger done={w.cancelled} after={asked.again} change={() => ({ method: "DELETE", path: at })} />
                )}
                {job.report && <Save id={id} at={at} />}
              </div>
            </div>
            {job.state === "RUNNING" && (
              <>
                <progress class="bar-of-job" value={progress(job) ?? undefined} max={1} aria-label={w.progress} />
                <p class="hint">{w.leave}</p>
              </>
            )}
            {job.error && (
              <div class="problem" role="alert">
                <p class="problem-title">{w.states["FAILED"]}</p>
                <p>{job.error}</p>
              </div>
            )}
            {job.report && (
              <ReportView
                report={job.report}
                linkOf={(one) => `${link("releases", "backtests", id, "input")}?${new URLSearchParams({ receipt: String(one.receipt), subject: one.subject })}`}
              />
            )}
          </>
        )}
      </Shown>
    </>
  );
}

/** Saves the report as the command line writes it. */
function Save({ id, at }: { id: string; at: string }) {
  const save = async (): Promise<void> => {
    const text = await getText(`${at}/report`, "application/json");
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const anchor = document.createElement("a");
    anchor.href = address;
    anchor.download = `backtest-${id}.json`;
    anchor.click();
    URL.revokeObjectURL(address);
  };
  return (
    <button type="button" onClick={() => void save()}>
      {w.save}
    </button>
  );
}
