// The last transfers. The busier the scheme, the shorter the time that is asked for, so that a look costs the host the same.

import { get } from "./api";
import type { Transfer } from "./kinds";

/** The longest and the shortest time that is looked at. */
const LONGEST_MS = 300_000;
const SHORTEST_MS = 2000;
/** The most transfers that are read at a time. */
const READ_MAX = 500;
/** With fewer than these, the next look goes further back. */
const FEW = 100;

/** Transfers of the last so many milliseconds, the newest first. */
export type Recent = { items: Transfer[]; windowMs: number };

/** The time of the next look, after one that found so many, or more than fit. */
export function nextWindow(windowMs: number, found: number, isFull: boolean): number {
  if (isFull) return Math.max(SHORTEST_MS, windowMs / 4);
  return found < FEW ? Math.min(LONGEST_MS, windowMs * 2) : windowMs;
}

let windowMs = LONGEST_MS;

/** The last transfers. */
export async function recent(signal: AbortSignal): Promise<Recent> {
  for (;;) {
    const asked = windowMs;
    const path = `/transfers?from=${Math.round(Date.now() - asked)}&limit=${READ_MAX}`;
    const page = await get<{ items: Transfer[]; nextCursor?: string }>(path, { signal });
    const isFull = page.nextCursor !== undefined;
    windowMs = nextWindow(asked, page.items.length, isFull);
    // A full page has the oldest of its time: the newest are in a shorter one.
    if (!isFull || windowMs === asked) return { items: page.items.reverse(), windowMs: asked };
  }
}
