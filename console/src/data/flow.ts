// The last transfers as they come, and how those that have ended did. The host sends the documents of its component.

import type { Transfer } from "./kinds";

/** The collection that has transfers: its component and its name. */
export const COLLECTION = "transfers/transfers";
/** Rows that are kept. */
const ROWS = 20;
/** How long ended transfers count, and how many do. */
const COUNTED_MS = 300_000;
const COUNTED_MAX = 3000;

/** A transfer's document, as far as it is shown. */
type Document = {
  transferId: string;
  payerFsp: string;
  payeeFsp: string;
  amount: { currency: string; scale: number; minorUnits: string };
  state: string;
  expiration: number;
  history: { state: string; at: number }[];
  completedTimestamp?: number;
  rejection?: string;
  reason?: Record<string, unknown>;
};

const FINAL = ["COMMITTED", "REJECTED", "FAILED"];

/** A transfer of its document. */
export function transferOf(document: Document): Transfer {
  const { currency, scale, minorUnits } = document.amount;
  const digits = minorUnits.padStart(scale + 1, "0");
  const cut = digits.length - scale;
  const amount = scale === 0 ? digits : `${digits.slice(0, cut)}.${digits.slice(cut)}`;
  const entered = document.history.at(-1)?.at ?? null;
  return {
    transferId: document.transferId,
    payerFsp: document.payerFsp,
    payeeFsp: document.payeeFsp,
    amount: { currency, amount },
    state: document.state,
    expiration: document.expiration,
    beganAt: document.history[0]?.at ?? null,
    endedAt: FINAL.includes(document.state) ? (document.completedTimestamp ?? entered) : null,
    rejection: document.rejection ?? null,
    reason: document.reason ?? null,
  };
}

/** A transfer that has ended, as far as it is counted. */
type Ended = { id: string; at: number; tookMs: number; state: string; code: string };

/** The code of a transfer that was refused. */
export function codeOf(transfer: Transfer): string {
  const reason = transfer.reason ?? {};
  const code = reason["code"] ?? reason["errorCode"];
  return code === undefined ? (transfer.rejection ?? "") : String(code);
}

/** The last transfers. */
export class Flow {
  /** The newest first. New ones come with another array: who holds this one keeps what it has. */
  rows: Transfer[] = [];
  /** Those that have ended lately, as far as they were seen. */
  ended: Ended[] = [];
  /** How many more there were than were seen. */
  unseen = 0;
  private known = new Set<string>();

  /** Take transfers, the newest last. */
  take(transfers: Transfer[]): void {
    const rows = [...this.rows];
    for (const one of transfers) {
      const at = rows.findIndex((row) => row.transferId === one.transferId);
      if (at >= 0) rows[at] = one;
      else rows.push(one);
      this.count(one);
    }
    this.rows = rows.sort((a, b) => (b.beganAt ?? 0) - (a.beganAt ?? 0)).slice(0, ROWS);
    const oldest = Date.now() - COUNTED_MS;
    const kept = this.ended.filter((one) => one.at >= oldest).slice(-COUNTED_MAX);
    if (kept.length === this.ended.length) return;
    this.ended = kept;
    this.known = new Set(kept.map((one) => one.id));
  }

  private count(one: Transfer): void {
    if (one.endedAt === null || this.known.has(one.transferId)) return;
    this.known.add(one.transferId);
    const tookMs = one.endedAt - (one.beganAt ?? one.endedAt);
    this.ended.push({ id: one.transferId, at: one.endedAt, tookMs, state: one.state, code: codeOf(one) });
  }
}
