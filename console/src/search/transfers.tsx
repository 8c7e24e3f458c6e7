// Search of transfers: the host finds them, by time, state, participant, party and amount.

import { get } from "../data/api";
import { instant, millis, money } from "../data/format";
import type { Transfer } from "../data/kinds";
import { link } from "../data/router";
import { codeOf, transferTone } from "../pages/live";
import { Badge, Time } from "../parts/basics";
import { words } from "../words";
import { choices, type Fields, FOUND_MAX, type Kind } from "./kind";

const w = words.transfers;

/** The path of a search. Amounts count only with a currency. */
export function searchPath(fields: Fields, now: number): string {
  const { since = "3600000", id: _, ...rest } = fields;
  const query = new URLSearchParams({ from: String(now - Number(since)), limit: "1000" });
  for (const [name, value] of Object.entries(rest)) {
    const counts = value !== "" && (fields["currency"] || !name.startsWith("amount"));
    if (counts) query.set(name, value);
  }
  return `/transfers?${query.toString()}`;
}

/** Transfers. */
export const TRANSFERS: Kind<Transfer> = {
  begin: { since: "3600000" },
  fields: (participants) => [
    { name: "since", label: w.since, options: Object.entries(w.spans) },
    { name: "id", label: w.idBegins },
    { name: "state", label: w.state, options: choices(w.anyState, w.states) },
    { name: "participant", label: w.participant, options: choices(w.anyParticipant, Object.fromEntries(participants.map((one) => [one, one]))) },
    { name: "party", label: w.party, hint: w.partyHint, pattern: "[A-Z_]+/.+" },
    { name: "currency", label: w.currency, pattern: "[A-Z]{3}", small: true },
    { name: "amountAtLeast", label: w.atLeast, decimal: true, small: true },
    { name: "amountAtMost", label: w.atMost, decimal: true, small: true },
  ],
  find: async (fields, signal, progress) => {
    const path = searchPath(fields, Date.now());
    const id = (fields["id"] ?? "").toLowerCase();
    const found: Transfer[] = [];
    let looked = 0;
    let cursor: string | undefined;
    do {
      const next: string = cursor ? `${path}&cursor=${encodeURIComponent(cursor)}` : path;
      const page: { items: Transfer[]; nextCursor?: string } = await get(next, { signal });
      looked += page.items.length;
      found.push(...page.items.filter((one) => one.transferId.toLowerCase().startsWith(id)));
      cursor = page.nextCursor;
      progress([...found].reverse(), looked);
    } while (cursor && found.length < FOUND_MAX);
    return cursor !== undefined;
  },
  columns: [
    { head: w.came, cell: (one) => <Time ms={one.beganAt} millis /> },
    { head: w.id, cell: (one) => <a href={link("story", one.transferId)}><code>{one.transferId}</code></a> },
    { head: w.payer, cell: (one) => one.payerFsp },
    { head: w.payee, cell: (one) => one.payeeFsp },
    { head: w.amount, number: true, cell: (one) => money(one.amount.amount, one.amount.currency) },
    { head: w.state, cell: (one) => <Badge tone={transferTone(one.state)}>{w.states[one.state] ?? one.state}</Badge> },
    { head: w.code, cell: (one) => <code>{codeOf(one)}</code> },
    { head: w.took, number: true, cell: (one) => (one.endedAt && one.beganAt ? millis(one.endedAt - one.beganAt) : words.none) },
  ],
  csv: [
    ["transferId", (one) => one.transferId],
    ["came (UTC)", (one) => (one.beganAt ? instant(one.beganAt, true) : "")],
    ["ended (UTC)", (one) => (one.endedAt ? instant(one.endedAt, true) : "")],
    ["payerFsp", (one) => one.payerFsp],
    ["payeeFsp", (one) => one.payeeFsp],
    ["amount", (one) => one.amount.amount],
    ["currency", (one) => one.amount.currency],
    ["state", (one) => one.state],
    ["code", codeOf],
  ],
};
