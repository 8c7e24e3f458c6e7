// What searches find, and how they are saved.

import { beforeEach, describe, expect, test } from "vitest";
import { compare, within } from "../src/search/kind";
import { fitsParticipant } from "../src/search/participants";
import { decimalOf, fitsQuote } from "../src/search/quotes";
import { forget, save, saved, SAVED_MAX } from "../src/search/saved";
import { searchPath } from "../src/search/transfers";

class Memory implements Storage {
  readonly all = new Map<string, string>();
  get length(): number {
    return this.all.size;
  }
  key = (): null => null;
  clear = (): void => this.all.clear();
  getItem = (key: string): string | null => this.all.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.all.set(key, value);
  removeItem = (key: string): void => void this.all.delete(key);
}

describe("saved searches", () => {
  let store = new Memory();
  beforeEach(() => {
    store = new Memory();
  });

  test("are kept by name, without empty fields", () => {
    save({ name: "b", kind: "quotes", fields: { state: "PENDING", id: "" } }, store);
    save({ name: "a", kind: "transfers", fields: {} }, store);
    save({ name: "b", kind: "quotes", fields: { state: "EXPIRED" } }, store);
    expect(saved(store)).toEqual([
      { name: "a", kind: "transfers", fields: {} },
      { name: "b", kind: "quotes", fields: { state: "EXPIRED" } },
    ]);
    forget("a", store);
    expect(saved(store).map((one) => one.name)).toEqual(["b"]);
  });

  test("are bounded, and what is unreadable is left out", () => {
    for (let at = 0; at < SAVED_MAX; at += 1) expect(save({ name: `n${at}`, kind: "quotes", fields: {} }, store)).toBe(true);
    expect(save({ name: "one more", kind: "quotes", fields: {} }, store)).toBe(false);
    expect(save({ name: "n1", kind: "parties", fields: {} }, store)).toBe(true);
    for (const text of ["{", "7", '[{"name":1}]', '[{"name":"x","kind":"y","fields":{"a":1}}]']) {
      store.setItem("rialto.searches", text);
      expect(saved(store)).toEqual([]);
    }
  });
});

test("amounts are compared exactly", () => {
  expect(compare("10", "9.99")).toBeGreaterThan(0);
  expect(compare("10.10", "10.1")).toBe(0);
  expect(compare("0.3", "0.30000000000000001")).toBeLessThan(0);
  expect(compare("007", "7")).toBe(0);
  expect(within("12.5", "12.50", "")).toBe(true);
  expect(within("12.5", "", "12.49")).toBe(false);
});

test("the path of a search of transfers has only what counts", () => {
  const path = searchPath({ since: "1000", id: "7c", state: "COMMITTED", currency: "", amountAtLeast: "5", participant: "" }, 5000);
  expect(path).toBe("/transfers?from=4000&limit=1000&state=COMMITTED");
  expect(searchPath({ since: "1000", currency: "USD", amountAtLeast: "5" }, 5000)).toContain("amountAtLeast=5");
});

test("quotes are found by each of their fields", () => {
  const quote = {
    quoteId: "q",
    payerFsp: "green",
    payeeFsp: "blue",
    state: "ACCEPTED",
    request: { payer: { idType: "MSISDN", identifier: "1" }, payee: { idType: "EMAIL", identifier: "a@b.example" }, amount: { minorUnits: "1250", scale: 2, currency: "USD" }, amountType: "SEND" },
    requestedAt: 9000,
  };
  const fits = (fields: Record<string, string>): boolean => fitsQuote(quote, fields, 10_000);
  for (const fields of [{}, { since: "1000" }, { state: "ACCEPTED" }, { participant: "blue" }, { party: "EMAIL/a@b.example" }, { currency: "USD", amountAtLeast: "12.5", amountAtMost: "12.5" }] as Record<string, string>[]) {
    expect(fits(fields)).toBe(true);
  }
  for (const fields of [{ since: "999" }, { state: "PENDING" }, { participant: "red" }, { party: "MSISDN/2" }, { currency: "EUR" }, { currency: "USD", amountAtLeast: "12.51" }] as Record<string, string>[]) {
    expect(fits(fields)).toBe(false);
  }
  const refused = { quoteId: "r", payerFsp: "green", state: "REJECTED", parties: [{ idType: "MSISDN", identifier: "2" }], requestedAt: 1 };
  expect(fitsQuote(refused, { party: "MSISDN/2" }, 10_000)).toBe(true);
  expect(fitsQuote(refused, { currency: "USD" }, 10_000)).toBe(false);
});

test("amounts of documents are decimal texts", () => {
  const of = (minorUnits: string, scale: number): string => decimalOf({ minorUnits, scale, currency: "X" });
  expect([of("1250", 2), of("5", 2), of("7", 0), of("0", 3)]).toEqual(["12.50", "0.05", "7", "0.000"]);
});

test("participants are found by id, name, state and currency", () => {
  const one = { id: "bluebank", name: "Blue Bank", state: "APPROVED", accounts: [{ currency: "USD" }] } as unknown as Parameters<typeof fitsParticipant>[0];
  expect(fitsParticipant(one, { text: "e b" })).toBe(true);
  expect(fitsParticipant(one, { text: "BLUEBANK", state: "APPROVED", currency: "USD" })).toBe(true);
  expect(fitsParticipant(one, { currency: "EUR" })).toBe(false);
  expect(fitsParticipant(one, { state: "DISABLED" })).toBe(false);
});
