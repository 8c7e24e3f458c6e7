// What can be searched: the fields of each kind, how it is found, and how it is shown.

import type { Column } from "../parts/table";

/** The fields of a search, by name. An empty one does not count. */
export type Fields = Record<string, string>;

/** A field. With options it is a choice. */
export type Field = {
  name: string;
  label: string;
  options?: [string, string][];
  hint?: string;
  pattern?: string;
  small?: boolean;
  decimal?: boolean;
};

/** What was found so far, and how many were looked at. */
export type Progress<T> = (found: T[], looked: number) => void;

/** What can be searched. */
export type Kind<T> = {
  fields: (participants: string[]) => Field[];
  /** What the fields have in the beginning. */
  begin: Fields;
  /** Finds; returns whether there is more than was looked at. */
  find: (fields: Fields, signal: AbortSignal, progress: Progress<T>) => Promise<boolean>;
  columns: Column<T>[];
  /** The columns of the CSV file. */
  csv: [string, (one: T) => unknown][];
};

/** The most rows that a search brings, and the most documents that it looks at: what a browser holds without effort. */
export const FOUND_MAX = 50_000;

/** Choices with the empty one first. */
export function choices(any: string, words: Record<string, string>): [string, string][] {
  return [["", any], ...Object.entries(words)];
}

/** Whether a decimal amount lies between two others. An empty bound is none. */
export function within(amount: string, least: string, most: string): boolean {
  return (least === "" || compare(amount, least) >= 0) && (most === "" || compare(amount, most) <= 0);
}

/** Compares decimal texts exactly. */
export function compare(a: string, b: string): number {
  const [wholeA = "", partA = ""] = a.split(".");
  const [wholeB = "", partB = ""] = b.split(".");
  const whole = (text: string): string => text.replace(/^0+/, "");
  const [left, right] = [whole(wholeA), whole(wholeB)];
  if (left.length !== right.length) return left.length - right.length;
  if (left !== right) return left < right ? -1 : 1;
  const places = Math.max(partA.length, partB.length);
  const [restA, restB] = [partA.padEnd(places, "0"), partB.padEnd(places, "0")];
  return restA === restB ? 0 : restA < restB ? -1 : 1;
}
