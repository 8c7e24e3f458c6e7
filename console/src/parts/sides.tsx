// What is now, and what would be: values in words, side by side.

import { money } from "../data/format";
import { words } from "../words";

const w = words.requests;

/** Now and then, side by side. What differs is marked. Without a then, the form is not filled in yet. */
export function Sides({ now, then }: { now: unknown; then: unknown }) {
  const [before, after] = [rows(now), rows(then)];
  const differs = (name: string): boolean => before[name] !== after[name];
  return (
    <div class="sides">
      <div>
        <h3>{w.now}</h3>
        <Rows of={before} changed={(name) => then !== undefined && differs(name)} mark="removed" />
      </div>
      <div>
        <h3>{w.then}</h3>
        {then === undefined ? <p class="hint">{w.unfilled}</p> : <Rows of={after} changed={differs} mark="added" />}
      </div>
    </div>
  );
}

function Rows({ of, changed, mark }: { of: Record<string, string>; changed: (name: string) => boolean; mark: string }) {
  const all = Object.entries(of);
  if (all.length === 0) return <p class="hint">{w.absent}</p>;
  return (
    <dl class="facts lines">
      {all.map(([name, value]) => (
        <div key={name}>
          <dt class={name === "" ? "hidden" : ""}>{name || w.value}</dt>
          <dd class={changed(name) ? mark : ""}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A value in words. */
export function Value({ of }: { of: unknown }) {
  return <Rows of={rows(of)} changed={() => false} mark="" />;
}

function rows(value: unknown): Record<string, string> {
  if (value === null || value === undefined) return {};
  if (typeof value !== "object") return { "": state(String(value)) };
  return flat(value);
}

/** A state, in words where it is one. */
function state(text: string): string {
  return words.participants.states[text] ?? text;
}

/** Kinds that go without saying: there is one kind of cap, and one of endpoint. */
const UNSAID = ["NET_DEBIT_CAP", "FSPIOP"];
/** Members whose values are words of the API. */
const WORDS = ["state", "status", "type"];

function word(name: string, value: string): string {
  if (!WORDS.includes(name)) return value;
  return words.participants.fundsTypes[value] ?? words.participants.types[value] ?? state(value);
}

/** A value's members, with the path of each in words. Amounts are one text. */
export function flat(value: object, before = ""): Record<string, string> {
  const members = value as Record<string, unknown>;
  if (typeof members["amount"] === "string" && typeof members["currency"] === "string" && Object.keys(members).length === 2) {
    return { [before || w.fields["amount"] || ""]: money(members["amount"], members["currency"]) };
  }
  const found: Record<string, string> = {};
  const isOne = Array.isArray(value) && value.length === 1;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "type" && UNSAID.includes(String(inner))) continue;
    const own = isOne ? "" : Array.isArray(value) ? String(Number(name) + 1) : (w.fields[name] ?? name);
    const path = before && own ? `${before} ${own}` : before || own;
    if (inner !== null && typeof inner === "object") Object.assign(found, flat(inner, path));
    else found[path] = inner === null ? w.absent : word(name, String(inner));
  }
  return found;
}
