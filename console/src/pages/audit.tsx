// The audit log of the host.

import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { csv, save } from "../data/csv";
import { instant } from "../data/format";
import { gapAfter } from "../data/gaps";
import type { Entry } from "../data/kinds";
import { setQuery } from "../data/router";
import { Badge, Empty, Head, Shown, Time, type Tone } from "../parts/basics";
import { LongTable } from "../parts/table";
import { Verification } from "../parts/verification";
import { words } from "../words";

const w = words.audit;
/** The entries that are read. */
const LAST = 5000;
/** How long the page waits for the next letter of a filter. */
const TYPED_MS = 300;

const tones: Record<string, Tone> = { done: "good", refused: "warn", failed: "bad", unknown: "quiet" };

/** The page. */
export function Audit({ query }: { query: URLSearchParams }) {
  const [typed, setTyped] = useState(query.get("about") ?? "");
  const [about, setAbout] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => {
      setAbout(typed);
      setQuery("audit", { about: typed });
    }, TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const path = `/audit-log?last=${LAST}${about ? `&about=${encodeURIComponent(about)}` : ""}`;
  const asked = useAsk(path, (signal) => get<Entry[]>(path, { signal }), 10_000);
  return (
    <>
      <Head title={w.title} hint={w.intro} at={asked.at} />
      <Verification />
      <div class="list-head">
        <label class="field">
          <span>{w.filter}</span>
          <input type="search" value={typed} placeholder={w.filterHint} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <div class="tools">
          <button type="button" disabled={!asked.data?.length} onClick={() => save("audit-log.csv", asCsv(asked.data ?? []))}>
            {w.csv}
          </button>
        </div>
      </div>
      <Shown of={asked}>{(entries) => <Entries of={entries} isWhole={about === ""} />}</Shown>
    </>
  );
}

function Entries({ of, isWhole }: { of: Entry[]; isWhole: boolean }) {
  if (of.length === 0) return <Empty title={w.empty} hint={w.emptyHint} />;
  const gap = isWhole ? gapAfter(of.map((one) => one.id)) : undefined;
  return (
    <>
      {isWhole && (
        <p class="gap">
          <Badge tone={gap === undefined ? "good" : "bad"}>{gap === undefined ? w.gap : w.gapOf(gap)}</Badge>
        </p>
      )}
      <LongTable
        label={w.title}
        rows={[...of].reverse()}
        columns={[
          { head: w.number, number: true, cell: (one) => one.id },
          { head: w.at, cell: (one) => <Time ms={one.at} /> },
          { head: w.person, cell: (one) => (one.operator && one.operator !== one.person ? `${one.person} (${one.operator})` : one.person) },
          { head: w.action, cell: (one) => one.action },
          { head: w.outcome, cell: (one) => <Badge tone={tones[one.outcome] ?? "quiet"}>{w.outcomes[one.outcome] ?? one.outcome}</Badge> },
          { head: w.about, cell: (one) => <span title={one.about}>{one.about}</span>, wide: true },
          { head: w.note, cell: (one) => <span title={one.reason ?? ""}>{one.note ?? one.reason ?? ""}</span>, wide: true },
        ]}
      />
    </>
  );
}

function asCsv(of: Entry[]): string {
  const heads = ["id", "at (UTC)", "person", "operator", "action", "about", "note", "outcome", "reason"];
  return csv(heads, of.map((one) => [one.id, instant(one.at, true), one.person, one.operator, one.action, one.about, one.note, one.outcome, one.reason]));
}
