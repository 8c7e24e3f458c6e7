// The lookup before a payment. FSPs ask about a party and later about a quote, and no id is in both: a trace id is, if the FSPs'
// messages carry it.

import type { Turn } from "../data/kinds";
import { headerOf, messagesOf } from "./messages";

/** How a lookup was found: by a trace id that it shares with the payment, by the party and the time, or not at all. */
export type How = "trace" | "time" | "none";

/** The turns of a lookup. */
export type Lookup = {
  turns: Turn[];
  how: How;
  /** How many other questions about the same party came in the same time. */
  others: number;
};

/** How long before a quote its lookup may have been. */
export const BEFORE_MS = 10 * 60_000;

const asks = (turn: Turn): boolean => turn.kind === "Request" && /^GET( |$)/.test(turn.function);

/** Whether a question may be of this FSP. Without its message nobody knows. */
function mayBeOf(turn: Turn, payer: string | undefined): boolean {
  const came = messagesOf(turn).find((message) => message.part === "Came");
  const source = headerOf(came, "fspiop-source");
  return source === undefined || payer === undefined || source === payer;
}

/** The lookup of a payment among all turns about its payee. `payment` are the turns of quote and transfer. */
export function lookupOf(about: Turn[], payment: Turn[], payer: string | undefined): Lookup {
  const none: Lookup = { turns: [], how: "none", others: 0 };
  const first = Math.min(...payment.map((turn) => turn.turn));
  const traces = new Set(payment.map((turn) => turn.trace).filter((trace) => trace && !/^0+$/.test(trace)));
  const own = new Set(payment.map((turn) => turn.turn));
  const others = about.filter((turn) => !own.has(turn.turn));
  const traced = others.filter((turn) => turn.trace && traces.has(turn.trace));
  if (traced.length > 0) return { turns: traced, how: "trace", others: 0 };
  if (!Number.isFinite(first)) return none;
  const begun = payment.find((turn) => turn.turn === first)?.at ?? 0;
  const before = others.filter((turn) => turn.turn < first && turn.at >= begun - BEFORE_MS).sort((a, b) => a.turn - b.turn);
  const questions = before.filter(asks).filter((turn) => mayBeOf(turn, payer));
  const last = questions[questions.length - 1];
  if (!last) return none;
  return { turns: before.filter((turn) => turn.turn >= last.turn), how: "time", others: questions.length - 1 };
}
