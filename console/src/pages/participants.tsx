// All participants.

import { useState } from "preact/hooks";
import { pages } from "../data/api";
import { useAsk } from "../data/ask";
import type { Participant } from "../data/kinds";
import { link } from "../data/router";
import { Badge, Empty, Head, Shown, Time, type Tone } from "../parts/basics";
import { May } from "../parts/may";
import { LongTable } from "../parts/table";
import { NewParticipant } from "../participants/new";
import { words } from "../words";

const w = words.participants;
/** The most that the page lists. */
const LISTED_MAX = 50_000;

/** How a participant's state looks. */
export function participantTone(state: string): Tone {
  return state === "APPROVED" ? "good" : state === "PEND-APPROVAL" ? "warn" : "bad";
}

/** The page. */
export function Participants() {
  const [text, setText] = useState("");
  const all = useAsk("participants", (signal) => pages<Participant>("/participants?limit=1000", LISTED_MAX, signal));
  // A form that was sent is empty when it is opened again.
  const [asked, setAsked] = useState(0);
  const again = (): void => {
    setAsked((n) => n + 1);
    all.again();
  };
  const fits = (one: Participant): boolean => `${one.id} ${one.name}`.toLowerCase().includes(text.trim().toLowerCase());
  return (
    <>
      <Head title={w.title} at={all.at}>
        <button type="button" onClick={all.again}>
          {words.state.refresh}
        </button>
        <May roles={["maker"]} to={w.toAsk}>
          <NewParticipant key={asked} after={again} />
        </May>
      </Head>
      <Shown of={all}>
        {({ items, more }) => {
          if (items.length === 0) return <Empty title={w.empty} hint={w.emptyHint} />;
          const shown = items.filter(fits);
          return (
            <>
              <div class="list-head">
                <label class="field">
                  <span>{w.filter}</span>
                  <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} />
                </label>
                <p class="hint" role="status">{words.state.shown(shown.length, more)}</p>
              </div>
              <LongTable
                label={w.title}
                rows={shown}
                columns={[
                  { head: w.id, cell: (one) => <a href={link("participants", one.id)}>{one.id}</a> },
                  { head: w.name, cell: (one) => one.name, wide: true },
                  { head: w.type, cell: (one) => one.type },
                  { head: w.state, cell: (one) => <Badge tone={participantTone(one.state)}>{w.states[one.state] ?? one.state}</Badge> },
                  { head: w.accounts, cell: (one) => one.accounts.map((account) => account.currency).join(", ") || words.none },
                  { head: w.changed, cell: (one) => <Time ms={one.updatedAt} /> },
                ]}
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}
