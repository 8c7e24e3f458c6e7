// One account of the ledger: its figures, and its entries with the balance after each.

import { useState } from "preact/hooks";
import { useAsk } from "../data/ask";
import { type EntriesPage, entriesOf, type Entry, type ShownAccount } from "../data/books";
import { count, figure, instant, money } from "../data/format";
import { link } from "../data/router";
import { Badge, Empty, Facts, Head, Problem, Section, Shown, Time } from "../parts/basics";
import { LongTable } from "../parts/table";
import { words } from "../words";

const w = words.ledger;

/** The page. */
export function LedgerAccountPage({ id }: { id: string }) {
  const asked = useAsk(id, (signal) => entriesOf(id, undefined, signal));
  return (
    <>
      <Head title={w.one} hint={id} at={asked.at}>
        <button type="button" onClick={asked.again}>
          {words.state.refresh}
        </button>
      </Head>
      <Shown of={asked}>{(page) => <Whole key={asked.at} first={page} />}</Shown>
    </>
  );
}

function Whole({ first }: { first: EntriesPage }) {
  const { account } = first;
  const [entries, setEntries] = useState(first.entries);
  const [next, setNext] = useState(first.next);
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState<Error>();
  const older = async (): Promise<void> => {
    setAsked(true);
    setError(undefined);
    try {
      const page = await entriesOf(account.id, next);
      setEntries([...entries, ...page.entries]);
      setNext(page.next);
    } catch (failed) {
      setError(failed as Error);
    }
    setAsked(false);
  };
  return (
    <>
      <Figures of={account} />
      <Section title={w.entries} hint={w.entriesHint}>
        {first.opening && (
          <p class="stale">
            {w.opening(first.opening.entries, instant(first.opening.until))} <strong>{money(first.opening.balance, account.currency)}</strong>
          </p>
        )}
        {entries.length === 0 ? (
          <Empty title={w.noEntries} hint={w.noEntriesHint} />
        ) : (
          <>
            <p class="hint" role="status">{words.state.shown(entries.length, next !== undefined)}</p>
            <Entries of={entries} account={account} />
          </>
        )}
        {error && <Problem error={error} />}
        {next !== undefined && (
          <p class="tools after">
            <button type="button" disabled={isAsked} onClick={() => void older()}>
              {w.older}
            </button>
          </p>
        )}
      </Section>
    </>
  );
}

function Figures({ of }: { of: ShownAccount }) {
  const amount = (text: string) => <span class="number">{money(text, of.currency)}</span>;
  const more: [string, string | undefined][] = [
    [words.participants.cap, of.netDebitCap],
    [words.participants.threshold, of.liquidityThreshold],
    [w.unsettled, of.unsettled],
    [w.debitLimit, of.debitLimit],
  ];
  return (
    <div class="panel">
      <Facts
        of={[
          [w.balance, <strong>{amount(of.balance)}</strong>],
          [w.debit, amount(of.debits)],
          [w.credit, amount(of.credits)],
          [w.type, <code>{of.accountType}</code>],
          [w.owner, <a href={link("participants", of.participant)}>{of.participant}</a>],
          [w.state, <Badge tone={of.state === "ENABLED" ? "good" : "quiet"}>{words.participants.states[of.state] ?? of.state.toLowerCase()}</Badge>],
          ...more.flatMap(([name, value]) => (value === undefined ? [] : [[name, amount(value)] as [string, preact.ComponentChildren]])),
          ...(of.settlementModel ? ([[words.settlement.model, of.settlementModel]] as [string, string][]) : []),
          ...(of.batch ? ([[words.settlement.batch, <a href={link("settlement", `batch:${of.batch}`)}>{of.batch}</a>]] as [string, preact.ComponentChildren][]) : []),
          [w.entryCount, count(of.entries)],
          [w.created, <Time ms={of.createdAt} />],
        ]}
      />
    </div>
  );
}

function Entries({ of, account }: { of: Entry[]; account: ShownAccount }) {
  const isDebit = (one: Entry): boolean => one.debitAccount === account.id;
  const other = (one: Entry): string => (isDebit(one) ? one.creditAccount : one.debitAccount);
  return (
    <LongTable
      label={w.entries}
      rows={of}
      columns={[
        { head: w.number, number: true, cell: (one) => count(one.number + 1) },
        { head: w.postedAt, cell: (one) => <Time ms={one.postedAt} /> },
        { head: w.entry, cell: (one) => <code>{one.entryType}</code> },
        { head: w.other, cell: (one) => <a href={link("ledger", other(one))}>{other(one)}</a> },
        { head: w.debit, number: true, cell: (one) => (isDebit(one) ? figure(one.amount, account.currency) : "") },
        { head: w.credit, number: true, cell: (one) => (isDebit(one) ? "" : figure(one.amount, account.currency)) },
        {
          head: `${w.balanceAfter} ${account.currency}`,
          number: true,
          cell: (one) => (one.balanceAfter === undefined ? <span class="hint">{w.unknownBalance}</span> : <strong>{figure(one.balanceAfter, account.currency)}</strong>),
        },
        { head: w.cause, cell: (one) => <a href={link("story", one.cause)} title={one.cause}>{one.cause.slice(0, 13)}</a> },
      ]}
    />
  );
}
