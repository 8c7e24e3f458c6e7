// The ledger: its trial balance, when its invariants were last checked, and its accounts.

import { useEffect, useState } from "preact/hooks";
import { get, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import { balance } from "../data/balance";
import { accountsOf, type Book, type Checks, type TrialBalance } from "../data/books";
import { clock, count, decimal, millis, minor } from "../data/format";
import type { LedgerAccount } from "../data/kinds";
import { link, setQuery } from "../data/router";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { May } from "../parts/may";
import { LongTable, Table } from "../parts/table";
import { words } from "../words";

const w = words.ledger;

/** The page. */
export function Ledger({ query }: { query: URLSearchParams }) {
  const trial = useAsk("trial", (signal) => get<TrialBalance>("/books/balance", { signal }));
  return (
    <>
      <Head title={w.title} at={trial.at}>
        <button type="button" onClick={trial.again}>
          {words.state.refresh}
        </button>
      </Head>
      {trial.error instanceof Refusal && trial.error.status === 404 ? (
        <Empty title={trial.error.message} hint={w.noBooksHint} />
      ) : (
        <>
          <Shown of={trial}>{(found) => <Trial of={found} />}</Shown>
          <Invariants />
          <Accounts query={query} />
        </>
      )}
    </>
  );
}

function Trial({ of }: { of: TrialBalance }) {
  const accounts = of.books.reduce((sum, book) => sum + book.rows.reduce((n, row) => n + row.accounts, 0), 0);
  return (
    <Section title={w.trial} hint={w.trialHint(accounts, of.lsn)}>
      <Table
        label={w.trial}
        rows={of.books}
        columns={[
          { head: w.currency, cell: (one) => one.currency },
          { head: w.book, cell: (one) => w.books[one.book] ?? one.book },
          { head: w.accounts, number: true, cell: (one) => count(one.rows.reduce((n, row) => n + row.accounts, 0)) },
          { head: w.debit, number: true, cell: (one) => decimal(one.debits) },
          { head: w.credit, number: true, cell: (one) => decimal(one.credits) },
          { head: words.table.result, cell: (one) => <Badge tone={one.balanced ? "good" : "bad"}>{one.balanced ? w.even : w.uneven}</Badge> },
        ]}
      />
      <details class="more">
        <summary>{w.byType}</summary>
        <Table
          label={w.byType}
          rows={of.books.flatMap((book) => book.rows.map((row) => ({ book, row })))}
          columns={[
            { head: w.currency, cell: ({ book }: { book: Book }) => book.currency },
            { head: w.type, cell: ({ row }) => <code>{row.accountType}</code> },
            { head: w.accounts, number: true, cell: ({ row }) => count(row.accounts) },
            { head: w.debit, number: true, cell: ({ row }) => decimal(row.debits) },
            { head: w.credit, number: true, cell: ({ row }) => decimal(row.credits) },
            { head: w.balance, number: true, cell: ({ row }) => <strong>{decimal(row.balance)}</strong> },
          ]}
        />
      </details>
    </Section>
  );
}

/** When every invariant was last checked, and what was found. */
function Invariants() {
  const asked = useAsk("books-check", (signal) => get<Checks>("/books/check", { signal }), 2000);
  const tools = (
    <May roles={["admin"]} to={w.toRun}>
      {!asked.data?.running && (
        <Action label={w.runNow} text={w.runText} done={w.runDone} after={asked.again} change={() => ({ method: "POST", path: "/books/check" })} />
      )}
    </May>
  );
  return (
    <Section title={w.checks} hint={w.checksHint} tools={tools}>
      <Shown of={asked}>
        {({ running, last }) => (
          <>
            {running && (
              <p class="running" role="status">
                {w.running(running.by, clock(running.began), count(running.documents))}
                {last?.report && w.runningOf(count(last.documents))}
              </p>
            )}
            {last ? <Last of={last} /> : !running && <Empty title={w.neverChecked} hint={w.neverCheckedHint} />}
          </>
        )}
      </Shown>
    </Section>
  );
}

function Last({ of }: { of: NonNullable<Checks["last"]> }) {
  const { report } = of;
  const breaches = report?.checks.reduce((sum, one) => sum + one.breaches, 0) ?? 0;
  return (
    <>
      <div class="panel">
        <Facts
          of={[
            [words.table.result, report ? <Badge tone={breaches ? "bad" : "good"}>{breaches ? w.notAllHold(breaches) : w.allHold}</Badge> : <Badge tone="warn">{w.checkFailed}</Badge>],
            [w.lastChecked, <Time ms={of.ended} />],
            [w.checkedBy, of.by],
            [w.checkTook, millis(of.ended - of.began)],
            [w.documents, count(of.documents)],
            ...(report ? ([[w.asOfTurn, count(report.lsn)]] as [string, string][]) : []),
          ]}
        />
        {of.failure && <p class="problem">{of.failure}</p>}
        {report?.archives && report.archives.missing.length > 0 && <p class="stale">{w.missingArchives(report.archives.missing.length)}</p>}
      </div>
      {report && (
        <details class="more" open={breaches > 0}>
          <summary>{w.invariant}</summary>
          <Table
            label={w.checks}
            rows={report.checks}
            columns={[
              { head: w.invariant, cell: (one) => one.says, wide: true },
              { head: w.places, number: true, cell: (one) => count(one.lookedAt) },
              { head: w.breaches, number: true, cell: (one) => count(one.breaches) },
              { head: words.table.result, cell: (one) => <Badge tone={one.breaches ? "bad" : "good"}>{one.breaches ? w.broken : w.holds}</Badge> },
            ]}
          />
          {report.breaches.length > 0 && (
            <>
              <h3>{w.where}</h3>
              <ul class="plain">
                {report.breaches.map((one) => (
                  <li>{one.text}</li>
                ))}
              </ul>
            </>
          )}
        </details>
      )}
    </>
  );
}

/** The accounts whose id begins with a text, a thousand at a time. */
function Accounts({ query }: { query: URLSearchParams }) {
  const [prefix, setPrefix] = useState(query.get("prefix") ?? "");
  const [behind, setBehind] = useState("");
  const [earlier, setEarlier] = useState<LedgerAccount[]>([]);
  const wanted = prefix.trim();
  const page = useAsk(`accounts ${wanted} ${behind}`, (signal) => accountsOf(wanted, behind, signal));
  useEffect(() => {
    setEarlier([]);
    setBehind("");
  }, [wanted]);
  const change = (text: string): void => {
    setPrefix(text);
    setQuery("ledger", { prefix: text });
  };
  return (
    <Section title={w.list} hint={w.intro}>
      <div class="list-head">
        <label class="field">
          <span>{w.prefix}</span>
          <input type="search" value={prefix} placeholder={w.prefixHint} onInput={(event) => change(event.currentTarget.value)} />
        </label>
      </div>
      <Shown of={page}>
        {({ accounts, more }) => {
          const all = [...earlier, ...accounts];
          if (all.length === 0) return <Empty title={w.empty} hint={w.emptyHint} />;
          return (
            <>
              <p class="hint" role="status">{words.state.shown(all.length, more)}</p>
              <LongTable
                label={w.list}
                rows={all}
                columns={[
                  { head: w.account, cell: (one) => <a href={link("ledger", one.id)}><code>{one.id}</code></a> },
                  { head: w.state, cell: (one) => words.participants.states[one.state] ?? one.state.toLowerCase() },
                  { head: w.debit, number: true, cell: (one) => minor(one.debitBalance, one.scale) },
                  { head: w.credit, number: true, cell: (one) => minor(one.creditBalance, one.scale) },
                  { head: w.balance, number: true, cell: (one) => <strong>{minor(String(balance(one)), one.scale)}</strong> },
                  { head: w.currency, cell: (one) => one.currency },
                ]}
              />
              {more && (
                <p class="tools after">
                  <button
                    type="button"
                    onClick={() => {
                      setEarlier(all);
                      setBehind(all.at(-1)?.id ?? "");
                    }}
                  >
                    {w.moreAccounts}
                  </button>
                </p>
              )}
            </>
          );
        }}
      </Shown>
    </Section>
  );
}
