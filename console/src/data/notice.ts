// What is said to the reader for some seconds: each notice stays its own time, also one with the words of the one before.

/** How long a notice stays. */
export const STAYS_MS = 6000;

/** A notice. Two with the same text differ in their number. */
export type Notice = { text: string; number: number };

let shown: (notice: Notice | undefined) => void = () => undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
let number = 0;

/** Who shows notices: it is told each of them, and nothing when there is none any more. */
export function onNotice(call: (notice: Notice | undefined) => void): void {
  shown = call;
}

/** Say something. It takes the place of what is said now. */
export function say(text: string): void {
  clearTimeout(timer);
  number += 1;
  shown({ text, number });
  timer = setTimeout(() => shown(undefined), STAYS_MS);
}
