// What differs between two texts, line by line.

/** A line of a difference: in both texts, gone, or new; or lines that are left out. */
export type Line = { kind: "same" | "gone" | "new"; text: string } | { kind: "left-out"; count: number };

/** Beyond so many pairs of lines, the texts are shown one after the other. */
const PAIRS_MAX = 4_000_000;
/** The lines in both texts that are shown around a difference. */
const AROUND = 3;

/** The difference of two texts. Empty if there is none. */
export function difference(before: string, after: string): Line[] {
  if (before === after) return [];
  const a = before.split("\n");
  const b = after.split("\n");
  let first = 0;
  while (first < a.length && first < b.length && a[first] === b[first]) first++;
  let last = 0;
  while (last < a.length - first && last < b.length - first && a[a.length - 1 - last] === b[b.length - 1 - last]) last++;
  const same = (lines: string[]): Line[] => lines.map((text) => ({ kind: "same", text }));
  const middle = compared(a.slice(first, a.length - last), b.slice(first, b.length - last));
  return shortened([...same(a.slice(0, first)), ...middle, ...same(a.slice(a.length - last))]);
}

/** By the longest sequence of lines that both have. */
function compared(a: string[], b: string[]): Line[] {
  const gone = a.map((text): Line => ({ kind: "gone", text }));
  const fresh = b.map((text): Line => ({ kind: "new", text }));
  if (a.length * b.length > PAIRS_MAX) return [...gone, ...fresh];
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++] ?? "" });
      j++;
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) {
      lines.push(gone[i++] as Line);
    } else {
      lines.push(fresh[j++] as Line);
    }
  }
  return lines;
}

/** Leaves out the lines that both have and no difference is near. */
function shortened(lines: Line[]): Line[] {
  const isNear = lines.map(() => false);
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    for (let near = Math.max(0, at - AROUND); near <= Math.min(lines.length - 1, at + AROUND); near++) isNear[near] = true;
  });
  const shown: Line[] = [];
  let leftOut = 0;
  const flush = (): void => {
    if (leftOut > 0) shown.push({ kind: "left-out", count: leftOut });
    leftOut = 0;
  };
  lines.forEach((line, at) => {
    if (!isNear[at]) {
      leftOut++;
      return;
    }
    flush();
    shown.push(line);
  });
  flush();
  return shown;
}
