// What a release binds at each step, from the text of its scheme.

import { parse } from "smol-toml";
import type { ShownRelease } from "./kinds";

/** A rule at a step. */
export type Bound = {
  step: string;
  order: number;
  rule: string;
  digest: string | undefined;
  settings: unknown;
  from: string | undefined;
  until: string | undefined;
  /** What else the scheme says of it, such as its canary. */
  more: Record<string, unknown>;
};

type Table = Record<string, unknown>;

const isTable = (value: unknown): value is Table => value !== null && typeof value === "object" && !Array.isArray(value);
const text = (value: unknown): string | undefined => {
  if (value === undefined) return undefined;
  return value instanceof Date ? value.toISOString() : String(value);
};

/** All that is bound, by step. Throws if the text is no TOML. */
export function bound(release: ShownRelease): Bound[] {
  const scheme = parse(release.document.text) as Table;
  const digests = release.document.digests["rules"] ?? {};
  const steps = isTable(scheme["steps"]) ? scheme["steps"] : {};
  const all: Bound[] = [];
  for (const [step, rules] of Object.entries(steps)) {
    if (!Array.isArray(rules)) continue;
    rules.filter(isTable).forEach((one, index) => {
      const { rule, settings, "effective-from": from, "effective-until": until, ...more } = one;
      const name = String(rule);
      all.push({ step, order: index + 1, rule: name, digest: digests[name], settings, from: text(from), until: text(until), more });
    });
  }
  return all;
}
