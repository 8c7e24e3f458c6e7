// Whether the audit log is the one that was signed: the last check of it, and a button that has the host check it now.

import { useState } from "preact/hooks";
import { get, send } from "../data/api";
import { useAsk } from "../data/ask";
import { count, millis } from "../data/format";
import { words } from "../words";
import { Badge, Shown, Time } from "./basics";

const w = words.verification;
/** How often the host is asked for the result while a check runs, and while none does. */
const RUNNING_MS = 1000;
const IDLE_MS = 15_000;

type Verified = {
  at: number;
  tookMs: number;
  person: string;
  entries: number;
  archived: number;
  signed: number;
  checkpoints: number;
  fitting: number;
  findings: string[];
  failed?: string;
};
type State = { runningSince?: number; last?: Verified };

/** The last check, and the button. */
export function Verification() {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<Error>();
  const ask = async (signal: AbortSignal): Promise<State> => {
    const state = await get<State>("/audit-log/verification", { signal });
    setRunning(state.runningSince !== undefined);
    return state;
  };
  const asked = useAsk("verification", ask, isRunning ? RUNNING_MS : IDLE_MS);
  const begin = async (): Promise<void> => {
    setError(undefined);
    try {
      await send({ method: "POST", path: "/audit-log/verification" });
      setRunning(true);
      asked.again();
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <div class="verification panel">
      <Shown of={asked}>
        {({ runningSince, last }) => (
          <>
            <div class="tools">
              <Mark last={last} isRunning={runningSince !== undefined} />
              <button type="button" disabled={runningSince !== undefined} onClick={() => void begin()}>
                {w.now}
              </button>
            </div>
            {runningSince !== undefined && <p class="hint" role="status">{w.running} <Time ms={runningSince} /></p>}
            {last ? <Result of={last} /> : runningSince === undefined && <p class="hint">{w.never}</p>}
          </>
        )}
      </Shown>
      {error && <p role="alert">{error.message}</p>}
    </div>
  );
}

function Mark({ last, isRunning }: { last: Verified | undefined; isRunning: boolean }) {
  if (!last) return <Badge tone="quiet">{isRunning ? w.isChecked : w.unknown}</Badge>;
  if (last.failed !== undefined) return <Badge tone="warn">{w.failed}</Badge>;
  if (last.checkpoints === 0) return <Badge tone="warn">{w.unsigned}</Badge>;
  return last.findings.length === 0 ? <Badge tone="good">{w.holds}</Badge> : <Badge tone="bad">{w.broken}</Badge>;
}

function Result({ of }: { of: Verified }) {
  return (
    <>
      <p class="hint">
        {w.checked(of.person)} <Time ms={of.at} /> UTC, {millis(of.tookMs)}.{" "}
        {of.failed === undefined && w.told(count(of.entries), count(of.archived), count(of.entries - of.signed), `${count(of.fitting)} / ${count(of.checkpoints)}`)}
      </p>
      {of.failed !== undefined && <p>{of.failed}</p>}
      {of.findings.length > 0 && (
        <ul class="findings">
          {of.findings.map((one) => (
            <li>{one}</li>
          ))}
        </ul>
      )}
    </>
  );
}
