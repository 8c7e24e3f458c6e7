// Balances of the ledger, exact: in minor units, as whole numbers of any size.

import type { LedgerAccount } from "./kinds";

/** A balance in minor units: credits without debits. */
export function balance(account: LedgerAccount): bigint {
  return BigInt(account.creditBalance) - BigInt(account.debitBalance);
}
