// The last transfers, from before the stream of them began. A look at a busy scheme goes back a short time, so that it costs the
// host and the reader little.

import { get } from "./api";
import type { Transfer } from "./kinds";

/** The shortest and the longest time that is looked at. */
const SHORTEST_MS = 2000;
const LONGEST_MS = 300_000;
/** The most transfers that are read at a time. */
const READ_MAX = 500;
/** With fewer than these, the next look goes further back. */
const FEW = 20;

/** The time of the next look; none if this one found enough, or there is no more. */
export function nextWindow(windowMs: number, found: number, isFull: boolean): number | undefined {
  if (isFull || found >= FEW || windowMs >= LONGEST_MS) return undefined;
  return Math.min(LONGEST_MS, windowMs * 5);
}

/** Transfers of the last minutes, or of less where many come, the oldest first. */
export async function recent(signal: AbortSignal): Promise<Transfer[]> {
  let windowMs: number | undefined = SHORTEST_MS;
  let best: Transfer[] = [];
  while (windowMs !== undefined) {
    const path = `/transfers?from=${Math.round(Date.now() - windowMs)}&limit=${READ_MAX}`;
    const page: { items: Transfer[]; nextCursor?: string } = await get(path, { signal });
    const isFull = page.nextCursor !== undefined;
    // A full page has the oldest of its time: the newest are in a shorter one.
    if (!isFull || best.length === 0) best = page.items;
    windowMs = nextWindow(windowMs, page.items.length, isFull);
  }
  return best;
}
