// Searches that the reader has saved, in this browser, by name. They have what the reader has put into the fields and nothing
// that was found.

/** A search: what is searched, and the fields. */
export type Saved = { name: string; kind: string; fields: Record<string, string> };

const KEY = "rialto.searches";
/** The most that are kept. */
export const SAVED_MAX = 50;
/** The longest name. */
export const NAME_MAX = 60;

function isSaved(value: unknown): value is Saved {
  if (value === null || typeof value !== "object") return false;
  const { name, kind, fields } = value as Record<string, unknown>;
  const isFields = fields !== null && typeof fields === "object" && Object.values(fields).every((one) => typeof one === "string");
  return typeof name === "string" && typeof kind === "string" && isFields;
}

/** All of them, by name. What is unreadable is left out. */
export function saved(store: Storage = localStorage): Saved[] {
  try {
    const read = JSON.parse(store.getItem(KEY) ?? "[]") as unknown;
    const all = Array.isArray(read) ? read.filter(isSaved) : [];
    return all.slice(0, SAVED_MAX).sort((a, b) => a.name.localeCompare(b.name));
  } catch {
    return [];
  }
}

/** Saves one, in the place of one of the same name. Returns whether there was room. */
export function save(one: Saved, store: Storage = localStorage): boolean {
  const others = saved(store).filter((other) => other.name !== one.name);
  if (others.length >= SAVED_MAX) return false;
  const fields = Object.fromEntries(Object.entries(one.fields).filter(([name, value]) => value !== "" || name === "since"));
  try {
    store.setItem(KEY, JSON.stringify([...others, { ...one, name: one.name.slice(0, NAME_MAX), fields }]));
    return true;
  } catch {
    return false;
  }
}

/** Forgets the one of this name. */
export function forget(name: string, store: Storage = localStorage): void {
  const others = saved(store).filter((other) => other.name !== name);
  store.setItem(KEY, JSON.stringify(others));
}
