// The ledger as the host tells it: the trial balance, entries with the balance after each, and checks of the invariants.

import { get } from "./api";
import type { Kept, LedgerAccount } from "./kinds";

export type Row = { accountType: string; accounts: number; debits: string; credits: string; balance: string };
export type Book = { currency: string; book: string; rows: Row[]; debits: string; credits: string; balanced: boolean };
export type TrialBalance = { lsn: number; books: Book[] };

export type Entry = {
  number: number;
  journalEntryId: string;
  id: string;
  entryType: string;
  debitAccount: string;
  creditAccount: string;
  amount: string;
  currency: string;
  balanceAfter?: string;
  cause: string;
  postedAt: number;
};
export type ShownAccount = {
  id: string;
  participant: string;
  accountType: string;
  currency: string;
  state: string;
  debits: string;
  credits: string;
  balance: string;
  entries: number;
  debitLimit: string;
  netDebitCap?: string;
  liquidityThreshold?: string;
  unsettled: string;
  settlementModel?: string;
  batch?: string;
  createdAt: number;
};
export type Opening = { entries: number; until: number; balance: string; currency: string };
export type EntriesPage = { account: ShownAccount; entries: Entry[]; next?: number; opening?: Opening };

export type Report = {
  lsn: number;
  checks: { check: string; says: string; lookedAt: number; breaches: number }[];
  breaches: { check: string; text: string }[];
  archives?: { read: number; missing: string[] };
};
export type Checks = {
  running?: { by: string; began: number; documents: number };
  last?: { by: string; began: number; ended: number; documents: number; report?: Report; failure?: string };
};

/** How many entries a page has. */
const ENTRIES = 50;

/** A page of an account's entries: the newest, or those before a number. Pages of archived entries alone are passed over. */
export async function entriesOf(account: string, before: number | undefined, signal?: AbortSignal): Promise<EntriesPage> {
  let from = before;
  for (;;) {
    const place = from === undefined ? "" : `&before=${from}`;
    const page: EntriesPage = await get(`/books/accounts/${encodeURIComponent(account)}/entries?limit=${ENTRIES}${place}`, signal ? { signal } : {});
    if (page.entries.length > 0 || page.next === undefined) return page;
    from = page.next;
  }
}

/** How many accounts the host lists at a time. */
const ACCOUNTS = 1000;

/** The accounts whose id begins with a text, behind an id. */
export async function accountsOf(prefix: string, after: string, signal: AbortSignal): Promise<{ accounts: LedgerAccount[]; more: boolean }> {
  const behind = after === "" ? "" : `&after=${encodeURIComponent(after)}`;
  const path = `/documents/accounts-and-balances/accounts?limit=${ACCOUNTS}&prefix=${encodeURIComponent(prefix)}${behind}`;
  const kept = await get<Kept<LedgerAccount>[]>(path, { signal });
  return { accounts: kept.map((one) => one.body), more: kept.length === ACCOUNTS };
}
