// Search over transfers, quotes, parties and participants, with saved searches and CSV.

import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { csv, save as saveFile } from "../data/csv";
import type { Participant } from "../data/kinds";
import { say } from "../data/notice";
import { link, setQuery, withQuery } from "../data/router";
import { Empty, Head, Problem } from "../parts/basics";
import { FindById } from "../parts/find";
import { LongTable } from "../parts/table";
import { type Field, type Fields, type Kind } from "../search/kind";
import { PARTICIPANTS } from "../search/participants";
import { PARTIES, QUOTES } from "../search/quotes";
import { forget, NAME_MAX, save, type Saved, saved } from "../search/saved";
import { TRANSFERS } from "../search/transfers";
import { words } from "../words";

const w = words.search;
/** The field that means any time without a value. */
const ANY_TIME = ["since"];

/** What can be searched, in the order of the tabs. */
const KINDS = { transfers: TRANSFERS, quotes: QUOTES, parties: PARTIES, participants: PARTICIPANTS } as Record<string, Kind<unknown>>;

/** The page. */
export function Search({ kind, query }: { kind: string; query: URLSearchParams }) {
  const of = KINDS[kind];
  if (!of) return <Empty title={words.problem.page} hint={words.problem.pageHint} />;
  return (
    <>
      <Head title={w.title} />
      <FindById />
      <div class="tabs" role="navigation" aria-label={w.what}>
        {Object.keys(KINDS).map((one) => (
          <a href={link("search", one)} aria-current={one === kind ? "page" : undefined}>
            {w.kinds[one]}
          </a>
        ))}
      </div>
      <Of key={kind} name={kind} of={of} query={query} />
    </>
  );
}

function beginning(of: Kind<unknown>, query: URLSearchParams): Fields {
  const given = Object.fromEntries(query);
  const names = new Set(of.fields([]).map((field) => field.name));
  const known = Object.fromEntries(Object.entries(given).filter(([name]) => names.has(name)));
  return { ...of.begin, ...known };
}

function Of({ name, of, query }: { name: string; of: Kind<unknown>; query: URLSearchParams }) {
  const [fields, setFields] = useState<Fields>(() => beginning(of, query));
  const [found, setFound] = useState<unknown[]>([]);
  const [looked, setLooked] = useState(0);
  const [state, setState] = useState<"searching" | "all" | "more" | "stopped">("searching");
  const [error, setError] = useState<Error>();
  const [at, setAt] = useState<number>();
  const stop = useRef<AbortController>(undefined);
  const participants = useAsk("participants", (signal) => get<{ items: Participant[] }>("/participants?limit=1000", { signal }));
  const run = async (wanted: Fields): Promise<void> => {
    stop.current?.abort();
    const mine = new AbortController();
    stop.current = mine;
    setState("searching");
    setError(undefined);
    setFound([]);
    setLooked(0);
    setAt(Date.now());
    setQuery(`search/${name}`, wanted, ANY_TIME);
    const progress = (items: unknown[], count: number): void => {
      if (mine.signal.aborted) return;
      setFound(items);
      setLooked(count);
    };
    try {
      const more = await of.find(wanted, mine.signal, progress);
      if (!mine.signal.aborted) setState(more ? "more" : "all");
    } catch (failed) {
      // Another search may have begun.
      if (stop.current !== mine) return;
      setState("stopped");
      if (!mine.signal.aborted) setError(failed as Error);
    }
  };
  useEffect(() => {
    void run(fields);
    return () => stop.current?.abort();
  }, []);
  const ids = (participants.data?.items ?? []).map((one) => one.id);
  const open = (one: Saved): void => {
    if (one.kind !== name) {
      location.hash = withQuery(`search/${one.kind}`, one.fields, ANY_TIME);
      return;
    }
    const wanted = { ...of.begin, ...one.fields };
    setFields(wanted);
    void run(wanted);
  };
  return (
    <>
      <form
        class="filters"
        aria-label={w.kinds[name]}
        onSubmit={(event) => {
          event.preventDefault();
          void run(fields);
        }}
      >
        {of.fields(ids).map((field) => (
          <FieldView
            of={field}
            value={fields[field.name] ?? ""}
            isRequired={field.name === "currency" && Boolean(fields["amountAtLeast"] || fields["amountAtMost"])}
            set={(value) => setFields((before) => ({ ...before, [field.name]: value }))}
          />
        ))}
        <button type="submit" class="primary">
          {words.transfers.search}
        </button>
      </form>
      <SavedSearches name={name} fields={fields} open={open} />
      {error && <Problem error={error} again={() => void run(fields)} />}
      <div class="list-head">
        <p role="status">{w.told(state, found.length, looked, at)}</p>
        <div class="tools">
          {state === "searching" && (
            <button type="button" onClick={() => stop.current?.abort()}>
              {words.transfers.stop}
            </button>
          )}
          {found.length > 0 && (
            <button type="button" onClick={() => saveFile(`${name}.csv`, csv(of.csv.map(([head]) => head), found.map((one) => of.csv.map(([, value]) => value(one)))))}>
              {words.transfers.csv}
            </button>
          )}
        </div>
      </div>
      {found.length > 0 && <LongTable label={w.kinds[name] ?? name} rows={found} columns={of.columns} />}
      {found.length === 0 && (state === "all" || state === "more") && <Empty title={w.empty[name] ?? ""} hint={w.emptyHint[name]} />}
    </>
  );
}

function FieldView({ of, value, isRequired, set }: { of: Field; value: string; isRequired: boolean; set: (value: string) => void }) {
  return (
    <label class={`field ${of.small ? "small" : ""}`}>
      <span>{of.label}</span>
      {of.options ? (
        <select name={of.name} value={value} onChange={(event) => set(event.currentTarget.value)}>
          {of.options.map(([option, text]) => (
            <option value={option}>{text}</option>
          ))}
        </select>
      ) : (
        <input
          name={of.name}
          value={value}
          required={isRequired}
          spellcheck={false}
          {...(of.hint ? { placeholder: of.hint, title: of.hint } : {})}
          {...(of.decimal ? { inputMode: "decimal" as const, pattern: "[0-9]+([.][0-9]+)?" } : of.pattern ? { pattern: of.pattern } : {})}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
    </label>
  );
}

/** The searches of this browser, and the field that saves this one. */
function SavedSearches({ name, fields, open }: { name: string; fields: Fields; open: (one: Saved) => void }) {
  const [all, setAll] = useState(saved);
  const [title, setTitle] = useState("");
  const keep = (event: Event): void => {
    event.preventDefault();
    const called = title.trim();
    if (called === "") return;
    say(save({ name: called, kind: name, fields }) ? w.saved(called) : w.notSaved);
    setAll(saved());
    setTitle("");
  };
  return (
    <details class="saved" open={all.length > 0}>
      <summary>{w.savedSearches(all.length)}</summary>
      <ul>
        {all.map((one) => (
          <li>
            <button type="button" onClick={() => open(one)}>
              {one.name} <span class="hint">{w.kinds[one.kind] ?? one.kind}</span>
            </button>
            <button
              type="button"
              aria-label={w.forget(one.name)}
              title={w.forget(one.name)}
              onClick={() => {
                forget(one.name);
                setAll(saved());
              }}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={keep}>
        <label class="field">
          <span>{w.saveAs}</span>
          <input name="name" value={title} maxLength={NAME_MAX} autocomplete="off" onInput={(event) => setTitle(event.currentTarget.value)} />
        </label>
        <button type="submit">{w.save}</button>
        <p class="hint">{w.savedHint}</p>
      </form>
    </details>
  );
}
