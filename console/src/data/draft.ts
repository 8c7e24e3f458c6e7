// The release that the reader is making: a scheme's document, which the host changes as the reader says, and how it came to be.
// It stays while the page is open, whatever the reader looks at meanwhile.

import { parse } from "smol-toml";
import { useEffect, useState } from "preact/hooks";
import { get, send } from "./api";
import type { Document, ShownRelease } from "./kinds";
import { link } from "./router";

/** A change of a scheme's text, as the host knows it. */
export type Edit =
  | { edit: "rule"; name: string; digest?: string; set?: Record<string, unknown> }
  | { edit: "remove-rule"; name: string }
  | { edit: "step"; step: string; bindings: NewBinding[] };

/** A binding with its place until now, and keys with new values. */
export type NewBinding = { was?: number; set?: Record<string, unknown> };

/** What a stored component says of itself. */
export type Component = {
  digest: string;
  bytes: number;
  host: string[];
  rule?: {
    name: string;
    version: string;
    summary: string;
    codes: string[];
    steps: string[];
    settingsSchema: unknown;
    fuel?: number;
  };
};

/** A binding as the text has it. */
export type Binding = Record<string, unknown> & { rule: string; settings?: Record<string, unknown> };

/** What a draft's text has of rules. */
export type Content = {
  rules: Record<string, { digest: string | undefined; table: Record<string, unknown> }>;
  steps: Record<string, Binding[]>;
  /** All steps at which contexts ask rules, and those that the text binds. */
  asked: string[];
};

/** A draft. */
export type Draft = {
  /** The release that it began with, which must be current when it is applied. */
  from: number;
  base: Document;
  document: Document;
  /** The documents before, the latest last. */
  before: Document[];
};

let draft: Draft | undefined;
const listeners = new Set<() => void>();

function put(next: Draft | undefined): void {
  draft = next;
  for (const listener of listeners) listener();
}

/** The most changes that can be taken back. */
const UNDONE_MAX = 100;

/** What can be done with a draft. */
export const drafts = {
  now: (): Draft | undefined => draft,
  begin(from: number, document: Document): void {
    put({ from, base: document, document, before: [] });
  },
  /** Another document in its place. */
  put(document: Document): void {
    if (!draft) return;
    put({ ...draft, document, before: [...draft.before, draft.document].slice(-UNDONE_MAX) });
  },
  /** Let the host change its text. */
  async edit(edits: Edit[]): Promise<void> {
    if (!draft) return;
    const body = { document: draft.document, edits };
    const edited = await send<Document>({ method: "POST", path: "/releases/draft", body });
    if (edited) drafts.put(edited);
  },
  undo(): void {
    const last = draft?.before[draft.before.length - 1];
    if (draft && last) put({ ...draft, document: last, before: draft.before.slice(0, -1) });
  },
  end(): void {
    put(undefined);
  },
};

/** Begin a draft of a release with changes, and go there. Nothing is applied. */
export async function draftOf(number: number, edits: (content: Content) => Edit[]): Promise<void> {
  const release = await get<ShownRelease>(`/releases/${number}`);
  drafts.begin(number, release.document);
  await drafts.edit(edits(content(release.document)));
  location.hash = link("releases", "new");
}

/** The bindings of a step with other keys for those that fit. */
export function rebound(content: Content, step: string, fits: (binding: Binding) => boolean, set: (binding: Binding) => Record<string, unknown>): Edit[] {
  const bindings = (content.steps[step] ?? []).map((binding, was) => (fits(binding) ? { was, set: set(binding) } : { was }));
  return [{ edit: "step", step, bindings }];
}

/** The draft, as it changes. */
export function useDraft(): Draft | undefined {
  const [now, setNow] = useState(draft);
  useEffect(() => {
    const changed = (): void => setNow(draft);
    listeners.add(changed);
    changed();
    return () => void listeners.delete(changed);
  }, []);
  return now;
}

type Table = Record<string, unknown>;
const isTable = (value: unknown): value is Table => value !== null && typeof value === "object" && !Array.isArray(value);
const tables = (value: unknown): [string, Table][] => (isTable(value) ? Object.entries(value).filter((one): one is [string, Table] => isTable(one[1])) : []);

/** What JSON has of a TOML value. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  if (typeof value === "bigint") return Number(value);
  if (Array.isArray(value)) return value.map(plain);
  return isTable(value) ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, plain(one)])) : value;
}

/** What a document's text has of rules. Throws if it is no TOML. */
export function content(document: Document): Content {
  const scheme = plain(parse(document.text)) as Table;
  const digests = document.digests["rules"] ?? {};
  const rules = Object.fromEntries(tables(scheme["rules"]).map(([name, table]) => [name, { digest: digests[name], table }]));
  const steps: Record<string, Binding[]> = {};
  const written = scheme["steps"];
  if (isTable(written)) {
    for (const [step, all] of Object.entries(written)) if (Array.isArray(all)) steps[step] = all.filter(isTable) as Binding[];
  }
  const grants = tables(scheme["contexts"]).flatMap(([, context]) => {
    const granted = isTable(context["grants"]) ? context["grants"]["rules"] : [];
    return Array.isArray(granted) ? granted.filter((one): one is string => typeof one === "string") : [];
  });
  const asked = [...new Set([...grants, ...Object.keys(steps)])].filter((step) => !step.includes("*")).sort();
  return { rules, steps, asked };
}

/** The rules whose components differ, with the digests of both. */
export function changedRules(base: Document, now: Document): { name: string; before: string | undefined; after: string | undefined }[] {
  const before = base.digests["rules"] ?? {};
  const after = now.digests["rules"] ?? {};
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.filter((name) => before[name] !== after[name]).map((name) => ({ name, before: before[name], after: after[name] }));
}
