// How long notices stay.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Notice, onNotice, say, STAYS_MS } from "../src/data/notice";

let seen: Notice | undefined;

beforeEach(() => {
  vi.useFakeTimers();
  seen = undefined;
  onNotice((notice) => {
    seen = notice;
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test("a notice goes after its time", () => {
  say("done");
  vi.advanceTimersByTime(STAYS_MS - 1);
  expect(seen?.text).toBe("done");
  vi.advanceTimersByTime(1);
  expect(seen).toBeUndefined();
});

test("a notice with the words of the one before is another one, and stays its own time", () => {
  say("done");
  const first = seen;
  vi.advanceTimersByTime(STAYS_MS - 1);
  say("done");
  expect(seen).not.toEqual(first);
  vi.advanceTimersByTime(STAYS_MS - 1);
  expect(seen?.text).toBe("done");
  vi.advanceTimersByTime(1);
  expect(seen).toBeUndefined();
});
