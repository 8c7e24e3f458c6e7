// The ledger: accounts with their balances, and the trial balance.

import { useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { balance, totals } from "../data/balance";
import { count, minor } from "../data/format";
import type { Kept, LedgerAccount } from "../data/kinds";
import { setQuery } from "../data/router";
import { Badge, Empty, Head, Section, Shown } from "../parts/basics";
import { LongTable, Table } from "../parts/table";
import { words } from "../words";

const w = words.ledger;
/** The most that the host shows at a time. */
const LISTED_MAX = 1000;

/** The page. */
export function Ledger({ query }: { query: URLSearchParams }) {
  const [prefix, setPrefix] = useState(query.get("prefix") ?? "");
  const path = `/documents/accounts-and-balances/accounts?limit=${LISTED_MAX}&prefix=${encodeURIComponent(prefix.trim())}`;
  const asked = useAsk(path, (signal) => get<Kept<LedgerAccount>[]>(path, { signal }));
  const change = (text: string): void => {
    setPrefix(text);
    setQuery("ledger", { prefix: text });
  };
  return (
    <>
      <Head title={w.title} hint={w.intro} at={asked.at}>
        <button type="button" onClick={asked.again}>
          {words.state.refresh}
        </button>
      </Head>
      <div class="list-head">
        <label class="field">
          <span>{w.prefix}</span>
          <input type="search" value={prefix} placeholder={w.prefixHint} onInput={(event) => change(event.currentTarget.value)} />
        </label>
      </div>
      <Shown of={asked}>
        {(kept) => {
          const all = kept.map((one) => one.body);
          if (all.length === 0) return <Empty title={w.empty} hint={w.emptyHint} />;
          return (
            <>
              <Trial all={all} isWhole={prefix.trim() === "" && all.length < LISTED_MAX} />
              <LongTable
                label={w.title}
                rows={all}
                columns={[
                  { head: w.account, cell: (one) => <code>{one.id}</code> },
                  { head: w.state, cell: (one) => one.state.toLowerCase() },
                  { head: w.debit, number: true, cell: (one) => minor(one.debitBalance, one.scale) },
                  { head: w.credit, number: true, cell: (one) => minor(one.creditBalance, one.scale) },
                  { head: w.balance, number: true, cell: (one) => <strong>{minor(String(balance(one)), one.scale)}</strong> },
                  { head: w.currency, cell: (one) => one.currency },
                ]}
              />
            </>
          );
        }}
      </Shown>
    </>
  );
}

function Trial({ all, isWhole }: { all: LedgerAccount[]; isWhole: boolean }) {
  return (
    <Section title={w.trial} hint={w.trialHint(all.length, isWhole)}>
      <Table
        label={w.trial}
        rows={totals(all)}
        columns={[
          { head: w.currency, cell: (one) => one.currency },
          { head: words.participants.accounts, number: true, cell: (one) => count(one.accounts) },
          { head: w.debit, number: true, cell: (one) => minor(String(one.debits), one.scale) },
          { head: w.credit, number: true, cell: (one) => minor(String(one.credits), one.scale) },
          {
            head: words.table.result,
            cell: (one) => {
              const isEven = one.debits === one.credits;
              if (!isWhole && !isEven) return <Badge tone="quiet">{w.partial}</Badge>;
              return <Badge tone={isEven ? "good" : "bad"}>{isEven ? w.even : w.uneven}</Badge>;
            },
          },
        ]}
      />
    </Section>
  );
}
