// The changes of a participant: who asked and why, who decided, what was before and after.

import { useState } from "preact/hooks";
import { pages } from "../data/api";
import { useAsk } from "../data/ask";
import type { ChangeOf } from "../data/kinds";
import { Badge, Empty, Section, Shown, Time } from "../parts/basics";
import { Value } from "../parts/sides";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.participants;
/** The most changes that the page reads. */
const READ_MAX = 5000;

/** Where the chain of hashes is broken: the number of the first entry that does not name the one before it. */
export function brokenAt(changes: ChangeOf[]): number | undefined {
  const wrong = changes.find((one, at) => at > 0 && one.previous !== changes[at - 1]?.hash);
  return wrong?.n;
}

/** The section of the page: the last changes, or all of them. */
export function History({ id, last }: { id: string; last: ChangeOf[] }) {
  const [isWhole, setWhole] = useState(false);
  const path = `/participants/${encodeURIComponent(id)}/changes?limit=1000`;
  const all = useAsk(isWhole ? path : undefined, (signal) => pages<ChangeOf>(path, READ_MAX, signal));
  const tools = !isWhole && last.length > 0 && (
    <button type="button" onClick={() => setWhole(true)}>
      {w.wholeHistory}
    </button>
  );
  return (
    <Section title={w.history} tools={tools || undefined} class="history">
      {!isWhole && (last.length === 0 ? <Empty title={w.noHistory} hint={w.noHistoryHint} /> : <Changes of={last} />)}
      {isWhole && (
        <Shown of={all}>
          {({ items, more }) => (
            <>
              <p class="verification">
                <Chain of={items} more={more} />
              </p>
              <Changes of={[...items].reverse()} />
            </>
          )}
        </Shown>
      )}
    </Section>
  );
}

function Chain({ of, more }: { of: ChangeOf[]; more: boolean }) {
  const broken = brokenAt(of);
  if (broken !== undefined) return <Badge tone="bad">{w.chainBroken(broken)}</Badge>;
  return <Badge tone={more ? "quiet" : "good"}>{more ? w.chainMore(of.length) : w.chain(of.length)}</Badge>;
}

/** Who made a change, in words. */
function author(by: unknown): string {
  if (by === null || typeof by !== "object") return String(by ?? "");
  return Object.entries(by)
    .map(([role, name]) => `${w.authors[role] ?? role} ${String(name)}`)
    .join(", ");
}

function why(one: ChangeOf): string {
  const { reason, note, failure } = one.asked ?? {};
  return [reason, note, failure].filter(Boolean).join(" – ");
}

/** What was before and after. Requests that move funds change no value of the participant: they tell what was asked. */
export function sidesOf({ kind, before, after, asked }: ChangeOf): { before: unknown; after: unknown } {
  if (kind === "certificate-revocation") return { before: null, after: null };
  if (kind === "account-status") {
    const status = (is: unknown) => (is === true ? "ENABLED" : is === false ? "DISABLED" : null);
    return { before: status(before), after: status(after) };
  }
  return { before, after: before === null && after === null ? (asked?.payload ?? null) : after };
}

function Changes({ of }: { of: ChangeOf[] }) {
  const value = (one: unknown) => (one === null || one === undefined ? words.none : <Value of={one} />);
  return (
    <Table
      label={w.history}
      rows={of}
      columns={[
        { head: w.at, cell: (one) => <Time ms={one.at} /> },
        { head: w.what, cell: (one) => words.requests.kinds[one.kind] ?? one.kind },
        { head: w.state, cell: (one) => w.requestStates[one.state] ?? one.state },
        { head: w.by, cell: (one) => author(one.by), wide: true },
        { head: words.action.reason, cell: (one) => why(one) || words.none, wide: true },
        { head: w.before, cell: (one) => value(sidesOf(one).before), wide: true },
        { head: w.after, cell: (one) => value(sidesOf(one).after), wide: true },
      ]}
    />
  );
}
