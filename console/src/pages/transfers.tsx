// Search of transfers, by time, state, participant, amount and party; and the way to a payment by its id.

import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { csv, save } from "../data/csv";
import { instant, millis, money } from "../data/format";
import type { Participant, Transfer } from "../data/kinds";
import { link, setQuery } from "../data/router";
import { Badge, Empty, Head, Problem, Time } from "../parts/basics";
import { LongTable } from "../parts/table";
import { words } from "../words";
import { codeOf, transferTone } from "./live";

const w = words.transfers;
/** The most transfers that a search brings: what a browser holds without effort. */
const FOUND_MAX = 50_000;

/** What is searched. */
type Wanted = Record<"since" | "state" | "participant" | "party" | "currency" | "amountAtLeast" | "amountAtMost", string>;

function wanted(query: URLSearchParams): Wanted {
  const of = (name: string): string => query.get(name) ?? "";
  return {
    since: of("since") || "3600000",
    state: of("state"),
    participant: of("participant"),
    party: of("party"),
    currency: of("currency"),
    amountAtLeast: of("amountAtLeast"),
    amountAtMost: of("amountAtMost"),
  };
}

/** The path of a search. Amounts count only with a currency. */
export function searchPath(search: Wanted, now: number): string {
  const { since, ...rest } = search;
  const query = new URLSearchParams({ from: String(now - Number(since)), limit: "1000" });
  for (const [name, value] of Object.entries(rest)) {
    const counts = value !== "" && (search.currency !== "" || !name.startsWith("amount"));
    if (counts) query.set(name, value);
  }
  return `/transfers?${query.toString()}`;
}

/** A field that leads to a payment. */
export function FindById() {
  const [id, setId] = useState("");
  const go = (event: Event): void => {
    event.preventDefault();
    if (id.trim()) location.hash = link("story", id.trim());
  };
  return (
    <form class="find" role="search" aria-label={w.find} onSubmit={go}>
      <label class="field">
        <span>{w.find}</span>
        <input type="search" name="id" value={id} placeholder={w.findHint} spellcheck={false} autocomplete="off" onInput={(event) => setId(event.currentTarget.value)} />
      </label>
      <button type="submit">{w.open}</button>
    </form>
  );
}

/** The page. */
export function Transfers({ query }: { query: URLSearchParams }) {
  const [search, setSearch] = useState<Wanted>(() => wanted(query));
  const [found, setFound] = useState<Transfer[]>([]);
  const [state, setState] = useState<"searching" | "all" | "more">("searching");
  const [error, setError] = useState<Error>();
  const [at, setAt] = useState<number>();
  const stop = useRef<AbortController>(undefined);
  const participants = useAsk("participants", (signal) => get<{ items: Participant[] }>("/participants?limit=1000", { signal }));
  const run = async (of: Wanted): Promise<void> => {
    stop.current?.abort();
    const mine = new AbortController();
    stop.current = mine;
    setState("searching");
    setError(undefined);
    setFound([]);
    setAt(Date.now());
    setQuery("transfers", { ...of });
    const items: Transfer[] = [];
    const path = searchPath(of, Date.now());
    let cursor: string | undefined;
    try {
      do {
        const next: string = cursor ? `${path}&cursor=${encodeURIComponent(cursor)}` : path;
        const page: { items: Transfer[]; nextCursor?: string } = await get(next, { signal: mine.signal });
        items.push(...page.items);
        cursor = page.nextCursor;
        setFound([...items].reverse());
      } while (cursor && items.length < FOUND_MAX);
      setState(cursor ? "more" : "all");
    } catch (failed) {
      setState("more");
      if (!mine.signal.aborted) setError(failed as Error);
    }
  };
  useEffect(() => {
    void run(search);
    return () => stop.current?.abort();
  }, []);
  const set = (name: keyof Wanted) => (event: { currentTarget: { value: string } }) => setSearch({ ...search, [name]: event.currentTarget.value });
  return (
    <>
      <Head title={w.title} at={at} />
      <FindById />
      <form
        class="filters"
        aria-label={w.search}
        onSubmit={(event) => {
          event.preventDefault();
          void run(search);
        }}
      >
        <label class="field">
          <span>{w.since}</span>
          <select value={search.since} onChange={set("since")}>
            {Object.entries(w.spans).map(([value, text]) => (
              <option value={value}>{text}</option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>{w.state}</span>
          <select value={search.state} onChange={set("state")}>
            <option value="">{w.anyState}</option>
            {Object.entries(w.states).map(([value, text]) => (
              <option value={value}>{text}</option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>{w.participant}</span>
          <select value={search.participant} onChange={set("participant")}>
            <option value="">{w.anyParticipant}</option>
            {(participants.data?.items ?? []).map((one) => (
              <option value={one.id}>{one.id}</option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>{w.party}</span>
          <input value={search.party} placeholder={w.partyHint} pattern="[A-Z_]+/.+" title={w.partyHint} onInput={set("party")} />
        </label>
        <label class="field small">
          <span>{w.currency}</span>
          <input value={search.currency} pattern="[A-Z]{3}" maxLength={3} onInput={set("currency")} required={search.amountAtLeast !== "" || search.amountAtMost !== ""} />
        </label>
        <label class="field small">
          <span>{w.atLeast}</span>
          <input value={search.amountAtLeast} inputMode="decimal" pattern="[0-9]+([.][0-9]+)?" onInput={set("amountAtLeast")} />
        </label>
        <label class="field small">
          <span>{w.atMost}</span>
          <input value={search.amountAtMost} inputMode="decimal" pattern="[0-9]+([.][0-9]+)?" onInput={set("amountAtMost")} />
        </label>
        <button type="submit" class="primary">
          {w.search}
        </button>
      </form>
      {error && <Problem error={error} again={() => void run(search)} />}
      <div class="list-head">
        <p role="status">{state === "searching" ? w.searching(found.length) : w.found(found.length, state === "more")}</p>
        <div class="tools">
          {state === "searching" && (
            <button type="button" onClick={() => stop.current?.abort()}>
              {w.stop}
            </button>
          )}
          {found.length > 0 && (
            <button type="button" onClick={() => save("transfers.csv", asCsv(found))}>
              {w.csv}
            </button>
          )}
        </div>
      </div>
      {found.length === 0 && state !== "searching" && !error ? <Empty title={w.empty} hint={w.emptyHint} /> : <Found of={found} />}
    </>
  );
}

function Found({ of }: { of: Transfer[] }) {
  if (of.length === 0) return null;
  return (
    <LongTable
      label={w.title}
      rows={of}
      columns={[
        { head: w.came, cell: (one) => <Time ms={one.beganAt} millis /> },
        { head: w.id, cell: (one) => <a href={link("story", one.transferId)}><code>{one.transferId}</code></a> },
        { head: w.payer, cell: (one) => one.payerFsp },
        { head: w.payee, cell: (one) => one.payeeFsp },
        { head: w.amount, number: true, cell: (one) => money(one.amount.amount, one.amount.currency) },
        { head: w.state, cell: (one) => <Badge tone={transferTone(one.state)}>{w.states[one.state] ?? one.state}</Badge> },
        { head: w.code, cell: (one) => <code>{codeOf(one)}</code> },
        { head: w.took, number: true, cell: (one) => (one.endedAt && one.beganAt ? millis(one.endedAt - one.beganAt) : words.none) },
      ]}
    />
  );
}

function asCsv(of: Transfer[]): string {
  const heads = ["transferId", "came (UTC)", "ended (UTC)", "payerFsp", "payeeFsp", "amount", "currency", "state", "code"];
  const rows = of.map((one) => [
    one.transferId,
    one.beganAt ? instant(one.beganAt, true) : "",
    one.endedAt ? instant(one.endedAt, true) : "",
    one.payerFsp,
    one.payeeFsp,
    one.amount.amount,
    one.amount.currency,
    one.state,
    codeOf(one),
  ]);
  return csv(heads, rows);
}
