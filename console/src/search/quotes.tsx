// Search of quotes and parties. The host has them by their ids: the page looks at one after the other, and keeps what fits.

import { get } from "../data/api";
import { instant, millis, money } from "../data/format";
import type { Kept } from "../data/kinds";
import { link } from "../data/router";
import { Badge, Time, type Tone } from "../parts/basics";
import { words } from "../words";
import { choices, type Fields, FOUND_MAX, type Kind, within } from "./kind";

const w = words.search;
const t = words.transfers;
/** The documents of one request. */
const PAGE = 1000;

/** An amount in documents: whole minor units. */
type Units = { currency: string; scale: number; minorUnits: string };
type Party = { idType: string; identifier: string; subIdOrType?: string };
type QuoteDocument = {
  quoteId: string;
  payerFsp: string;
  payeeFsp?: string;
  state: string;
  request?: { payer: Party; payee: Party; amount: Units; amountType: string };
  parties?: Party[];
  reason?: { code?: string; errorCode?: string };
  requestedAt: number;
  finishedAt?: number;
};
type PartyDocument = { party: Party; associations: { fsp: string; currency?: string; associatedAt: number }[] };

/** Looks at documents whose ids begin with a text. Returns whether there are more than the page looks at. */
async function each<T>(collection: string, prefix: string, signal: AbortSignal, take: (body: T) => void, progress: (looked: number) => void): Promise<boolean> {
  let after = "";
  let looked = 0;
  for (;;) {
    const query = new URLSearchParams({ limit: String(PAGE), prefix, after });
    const page = await get<Kept<T>[]>(`/documents/${collection}?${query.toString()}`, { signal });
    for (const one of page) take(one.body);
    looked += page.length;
    progress(looked);
    after = page[page.length - 1]?.id ?? "";
    if (page.length < PAGE) return false;
    if (looked >= FOUND_MAX) return true;
  }
}

/** A party as addresses have it. */
export function partyPath(party: Party): string {
  return [party.idType, party.identifier, party.subIdOrType].filter(Boolean).join("/");
}

/** An amount as decimal text, without signs between thousands. */
export function decimalOf({ minorUnits, scale }: Units): string {
  if (scale === 0) return minorUnits;
  const digits = minorUnits.padStart(scale + 1, "0");
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Whether a quote is one that is searched. */
export function fitsQuote(quote: QuoteDocument, fields: Fields, now: number): boolean {
  const of = (name: string): string => fields[name] ?? "";
  const amount = quote.request?.amount;
  const parties = [quote.request?.payer, quote.request?.payee, ...(quote.parties ?? [])].filter((one) => one !== undefined);
  const wantsAmount = of("currency") !== "" && (of("amountAtLeast") !== "" || of("amountAtMost") !== "");
  return (
    (of("since") === "" || quote.requestedAt >= now - Number(of("since"))) &&
    (of("state") === "" || quote.state === of("state")) &&
    (of("participant") === "" || quote.payerFsp === of("participant") || quote.payeeFsp === of("participant")) &&
    (of("party") === "" || parties.some((one) => partyPath(one).startsWith(of("party")))) &&
    (of("currency") === "" || amount?.currency === of("currency")) &&
    (!wantsAmount || (amount !== undefined && within(decimalOf(amount), of("amountAtLeast"), of("amountAtMost"))))
  );
}

const quoteTone = (state: string): Tone => (state === "ACCEPTED" ? "good" : state === "PENDING" ? "quiet" : "bad");
const amountOf = (one: QuoteDocument): string => (one.request ? money(decimalOf(one.request.amount), one.request.amount.currency) : words.none);
const codeOf = (one: QuoteDocument): string => String(one.reason?.code ?? one.reason?.errorCode ?? "");

/** Quotes. */
export const QUOTES: Kind<QuoteDocument> = {
  begin: { since: "3600000" },
  fields: (participants) => [
    { name: "since", label: w.askedIn, options: [...Object.entries(t.spans), ["", w.anyTime]] },
    { name: "id", label: t.idBegins },
    { name: "state", label: t.state, options: choices(t.anyState, w.quoteStates) },
    { name: "participant", label: t.participant, options: choices(t.anyParticipant, Object.fromEntries(participants.map((one) => [one, one]))) },
    { name: "party", label: t.party, hint: t.partyHint, pattern: "[A-Z_]+/.+" },
    { name: "currency", label: t.currency, pattern: "[A-Z]{3}", small: true },
    { name: "amountAtLeast", label: t.atLeast, decimal: true, small: true },
    { name: "amountAtMost", label: t.atMost, decimal: true, small: true },
  ],
  find: async (fields, signal, progress) => {
    const now = Date.now();
    const found: QuoteDocument[] = [];
    const newest = (): QuoteDocument[] => [...found].sort((a, b) => b.requestedAt - a.requestedAt);
    const take = (body: QuoteDocument): void => {
      if (fitsQuote(body, fields, now)) found.push(body);
    };
    return each<QuoteDocument>("quoting/quotes", fields["id"] ?? "", signal, take, (looked) => progress(newest(), looked));
  },
  columns: [
    { head: w.asked, cell: (one) => <Time ms={one.requestedAt} millis /> },
    { head: w.quote, cell: (one) => <a href={link("story", one.quoteId)}><code>{one.quoteId}</code></a> },
    { head: t.payer, cell: (one) => one.payerFsp },
    { head: t.payee, cell: (one) => one.payeeFsp ?? words.none },
    { head: t.amount, number: true, cell: amountOf },
    { head: t.state, cell: (one) => <Badge tone={quoteTone(one.state)}>{w.quoteStates[one.state] ?? one.state}</Badge> },
    { head: t.code, cell: (one) => <code>{codeOf(one)}</code> },
    { head: t.took, number: true, cell: (one) => (one.finishedAt ? millis(one.finishedAt - one.requestedAt) : words.none) },
  ],
  csv: [
    ["quoteId", (one) => one.quoteId],
    ["asked (UTC)", (one) => instant(one.requestedAt, true)],
    ["ended (UTC)", (one) => (one.finishedAt ? instant(one.finishedAt, true) : "")],
    ["payerFsp", (one) => one.payerFsp],
    ["payeeFsp", (one) => one.payeeFsp],
    ["amount", (one) => (one.request ? decimalOf(one.request.amount) : "")],
    ["currency", (one) => one.request?.amount.currency],
    ["state", (one) => one.state],
    ["code", codeOf],
  ],
};

/** Parties. */
export const PARTIES: Kind<PartyDocument> = {
  begin: {},
  fields: (participants) => [
    { name: "party", label: w.partyBegins, hint: t.partyHint },
    { name: "participant", label: t.participant, options: choices(t.anyParticipant, Object.fromEntries(participants.map((one) => [one, one]))) },
    { name: "currency", label: t.currency, pattern: "[A-Z]{3}", small: true },
  ],
  find: async (fields, signal, progress) => {
    const found: PartyDocument[] = [];
    const { participant = "", currency = "", party = "" } = fields;
    const fits = (one: PartyDocument["associations"][number]): boolean =>
      (participant === "" || one.fsp === participant) && (currency === "" || one.currency === undefined || one.currency === currency);
    const take = (body: PartyDocument): void => {
      if (body.associations.some(fits)) found.push(body);
    };
    return each<PartyDocument>("account-lookup/associations", party, signal, take, (looked) => progress([...found], looked));
  },
  columns: [
    { head: w.kind, cell: (one) => <code>{one.party.idType}</code> },
    { head: w.identifier, cell: (one) => <a href={link("story", `party:${partyPath(one.party)}`)}>{one.party.identifier}{one.party.subIdOrType ? ` / ${one.party.subIdOrType}` : ""}</a> },
    { head: w.with, cell: (one) => one.associations.map((a) => (a.currency ? `${a.fsp} (${a.currency})` : a.fsp)).join(", "), wide: true },
    { head: w.since, cell: (one) => <Time ms={Math.max(...one.associations.map((a) => a.associatedAt))} /> },
  ],
  csv: [
    ["type", (one) => one.party.idType],
    ["identifier", (one) => one.party.identifier],
    ["sub-id", (one) => one.party.subIdOrType],
    ["fsps", (one) => one.associations.map((a) => (a.currency ? `${a.fsp} ${a.currency}` : a.fsp)).join("; ")],
    ["since (UTC)", (one) => instant(Math.max(...one.associations.map((a) => a.associatedAt)))],
  ],
};
