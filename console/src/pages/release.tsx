// One release: what differs from the current one, and the ways to it and back.

import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { comesLater } from "../data/calendar";
import type { Release as Listed, ShownRelease } from "../data/kinds";
import { link } from "../data/router";
import { useRole, useSession } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Digest, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { Changes, TextDifference } from "../parts/difference";
import { Table } from "../parts/table";
import { words } from "../words";
import { standing, Withdraw } from "./releases";

const w = words.releases;

type Known = { release: ShownRelease; current: number; changes: string[]; now: ShownRelease | undefined };

async function load(number: string, signal: AbortSignal): Promise<Known> {
  const at = `/releases/${encodeURIComponent(number)}`;
  const [release, all] = await Promise.all([get<ShownRelease>(at, { signal }), get<Listed[]>("/releases", { signal })]);
  const current = all.find((one) => one.current)?.number ?? 0;
  const isOther = current !== 0 && current !== release.number;
  if (!isOther) return { release, current, changes: [], now: undefined };
  const [differing, now] = await Promise.all([
    get<{ changes: string[] }>(`/releases/${current}/diff/${release.number}`, { signal }),
    get<ShownRelease>(`/releases/${current}`, { signal }),
  ]);
  return { release, current, changes: differing.changes, now };
}

/** The page. */
export function Release({ number }: { number: string }) {
  const asked = useAsk(number, (signal) => load(number, signal));
  return (
    <>
      <Head title={w.one(Number(number))} at={asked.at} />
      <Shown of={asked}>{(known) => <Whole known={known} again={asked.again} />}</Shown>
    </>
  );
}

function Whole({ known, again }: { known: Known; again: () => void }) {
  const { release, current, changes } = known;
  const isAdmin = useRole("admin");
  const isChecker = useRole("checker");
  const { person } = useSession();
  const [text, tone] = standing(release);
  const digests = Object.entries(release.document.digests).flatMap(([kind, all]) =>
    Object.entries(all).map(([name, digest]) => ({ kind, name, digest })),
  );
  return (
    <>
      <div class="panel summary">
        <Facts
          of={[
            [w.state, <Badge tone={tone}>{text}</Badge>],
            [w.made, <Time ms={release.createdAt} />],
            [w.maker, release.maker],
            [w.approver, release.approver ?? words.none],
            ...(release.scheduled ? ([[w.from, <Time ms={release.scheduled.from} />]] as [string, preact.ComponentChildren][]) : []),
            [w.note, release.note || words.none],
          ]}
        />
        <div class="tools">
          <a class="button" href={link("rules", "wiring", String(release.number))}>
            {words.wiring.title}
          </a>
          <a class="button" href={`${link("releases", "backtests")}?release=${release.number}`}>
            {words.backtest.run}
          </a>
          {isAdmin && comesLater(release) && <Withdraw number={release.number} again={again} />}
          {isAdmin && !release.current && !release.waits && release.wasCurrent && (
            <Action
              label={w.rollBack}
              text={w.rollBackText(release.number, current)}
              danger
              reason={words.action.reason}
              needsReason
              done={w.rollBackDone(release.number)}
              after={again}
              change={(note) => ({ method: "POST", path: `/releases/${release.number}/rollback`, body: { note, expected: current } })}
            >
              <Changes of={changes} />
            </Action>
          )}
          {isChecker && release.waits && release.maker !== person && (
            <Action
              label={w.approve}
              text={w.approveText(release.number)}
              reason={words.action.reason}
              done={w.success}
              after={again}
              change={(note) => ({ method: "POST", path: `/releases/${release.number}/approve`, body: { note, expected: current } })}
            >
              <Changes of={changes} />
            </Action>
          )}
        </div>
      </div>
      <Section title={w.compare}>
        {release.current ? <Empty title={w.isCurrent} hint={w.isCurrentHint} /> : <Changes of={changes} />}
        {known.now && (
          <details>
            <summary>{words.draft.textDiffers}</summary>
            <TextDifference before={known.now.document.text} after={release.document.text} label={words.draft.textDiffers} />
          </details>
        )}
      </Section>
      <Section title={w.activations}>
        <Table
          label={w.activations}
          rows={release.activations ?? []}
          columns={[
            { head: w.became, cell: (one) => <Time ms={one.at} /> },
            { head: w.maker, cell: (one) => one.person },
            { head: w.insteadOf, number: true, cell: (one) => one.before || words.none },
            { head: w.note, cell: (one) => one.note ?? "", wide: true },
          ]}
        />
      </Section>
      <Section title={w.digests}>
        <Table
          label={w.digests}
          rows={digests}
          columns={[
            { head: w.component, cell: (one) => one.name },
            { head: words.table.kind, cell: (one) => one.kind },
            { head: words.table.digest, cell: (one) => <Digest text={one.digest} /> },
          ]}
        />
      </Section>
      <Section title={w.text}>
        <details>
          <summary>scheme.toml</summary>
          <pre class="code" tabIndex={0}>
            {release.document.text}
          </pre>
        </details>
      </Section>
    </>
  );
}
