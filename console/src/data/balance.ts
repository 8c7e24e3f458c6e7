// Sums of the ledger, exact: in minor units, as whole numbers of any size.

import type { LedgerAccount } from "./kinds";

/** The debits and the credits of a currency. */
export type Total = { currency: string; scale: number; debits: bigint; credits: bigint; accounts: number };

/** A balance in minor units: credits without debits. */
export function balance(account: LedgerAccount): bigint {
  return BigInt(account.creditBalance) - BigInt(account.debitBalance);
}

/** Debits and credits by currency. */
export function totals(accounts: LedgerAccount[]): Total[] {
  const all = new Map<string, Total>();
  for (const { currency, scale, debitBalance, creditBalance } of accounts) {
    const one = all.get(currency) ?? { currency, scale, debits: 0n, credits: 0n, accounts: 0 };
    one.debits += BigInt(debitBalance);
    one.credits += BigInt(creditBalance);
    one.accounts += 1;
    all.set(currency, one);
  }
  return [...all.values()].sort((a, b) => a.currency.localeCompare(b.currency));
}
