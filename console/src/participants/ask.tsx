// A request about a participant: what is now and what would be, the reason, and how it is sent.

import type { ComponentChildren } from "preact";
import { onceKey } from "../data/api";
import { Action } from "../parts/action";
import { Sides } from "../parts/sides";
import { words } from "../words";

const w = words.participants;

/** A participant as it was read: requests are about that, and refused if it has changed. */
export type Read = { id: string; etag: string | null; again: () => void };

type Props = {
  label: string;
  text?: string;
  of: Read;
  /** Where requests of this kind go, below the participant. */
  at: string;
  now: unknown;
  then: unknown;
  body: Record<string, unknown>;
  danger?: boolean;
  children?: ComponentChildren;
};

/** A button that asks for a change of a participant. */
export function Ask({ label, text = w.askHint, of, at, now, then, body, danger = false, children }: Props) {
  return (
    <Action
      label={label}
      text={text}
      danger={danger}
      reason={words.action.reason}
      needsReason
      done={w.asked}
      after={of.again}
      change={(reason) => ({
        method: "POST",
        path: `/participants/${encodeURIComponent(of.id)}/${at}`,
        body: { ...body, reason },
        headers: changing(of.etag),
      })}
    >
      {children}
      <Sides now={now} then={then} />
    </Action>
  );
}

/** The headers of a change: it is done once, and only of what was read. */
function changing(etag: string | null): Record<string, string> {
  return { "Idempotency-Key": onceKey(), ...(etag ? { "If-Match": etag } : {}) };
}
