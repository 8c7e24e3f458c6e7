// Requests of makers that wait for a checker.

import { useState } from "preact/hooks";
import { useAsk } from "../data/ask";
import { useRole } from "../data/session";
import { waiting } from "../data/waiting";
import { Empty, Head, Shown } from "../parts/basics";
import { Waits } from "../participants/waits";
import { words } from "../words";

const w = words.requests;

/** The page. */
export function Requests() {
  const all = useAsk("requests", (signal) => waiting(signal), 5000);
  const isChecker = useRole("checker");
  const [kind, setKind] = useState("");
  return (
    <>
      <Head title={w.title} hint={isChecker ? w.intro : `${w.intro} ${w.introReader}`} at={all.at} />
      <Shown of={all}>
        {(found) => {
          if (found.length === 0) return <Empty title={w.empty} hint={w.emptyHint} />;
          const kinds = [...new Set(found.map((one) => one.kind))];
          const shown = found.filter((one) => kind === "" || one.kind === kind);
          return (
            <>
              {kinds.length > 1 && (
                <div class="list-head">
                  <label class="field">
                    <span>{w.kind}</span>
                    <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
                      <option value="">{w.anyKind}</option>
                      {kinds.map((one) => (
                        <option value={one}>{w.kinds[one] ?? one}</option>
                      ))}
                    </select>
                  </label>
                  <p class="hint" role="status">{words.state.shown(shown.length, false)}</p>
                </div>
              )}
              <div class="cards wide">
                {shown.map((one) => (
                  <Waits key={one.id} of={one} again={all.again} isSaid />
                ))}
              </div>
            </>
          );
        }}
      </Shown>
    </>
  );
}
