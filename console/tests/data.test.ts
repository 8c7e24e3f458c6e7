// Tables for spreadsheets, addresses, sums, what is bound, and refusals.

import { expect, test } from "vitest";
import { refusal } from "../src/data/api";
import { balance } from "../src/data/balance";
import { bound } from "../src/data/bound";
import { csv } from "../src/data/csv";
import { gapAfter } from "../src/data/gaps";
import type { LedgerAccount, ShownRelease } from "../src/data/kinds";
import { nextWindow } from "../src/data/recent";
import { link, place } from "../src/data/router";
import { niceBound, path } from "../src/parts/chart";

test("CSV quotes what must be, and runs no formulas", () => {
  expect(csv(["a", "b"], [['x,"y"', "=1+1"], [-5, null], ["-12.5", "+SUM(A1)"]])).toBe('a,b\r\n"x,""y""",\'=1+1\r\n-5,\r\n-12.5,\'+SUM(A1)\r\n');
});

test("every place has an address that leads back to it", () => {
  const id = "party:MSISDN/1 2?#%";
  const found = place(link("story", id));
  expect([found.page, found.rest]).toEqual(["story", [id]]);
  expect(place("").page).toBe("live");
  expect(place("#/transfers?state=FAILED").query.get("state")).toBe("FAILED");
  expect(place("#/story/%E0%A4%A").rest).toEqual(["%E0%A4%A"]);
});

test("sums are exact", () => {
  const account = (currency: string, debit: string, credit: string): LedgerAccount => ({
    id: "a",
    participant: "p",
    accountType: "LIQUIDITY",
    currency,
    scale: 2,
    state: "ENABLED",
    debitBalance: debit,
    creditBalance: credit,
    debitLimit: "0",
  });
  expect(balance(account("USD", "90071992547409931", "0"))).toBe(-90071992547409931n);
  expect(balance(account("EUR", "1", "3"))).toBe(2n);
});

test("what a release binds is read from its text", () => {
  const text = `[rules.limits]\ncomponent = "c.wasm"\n[[steps.check]]\nrule = "limits"\neffective-from = "2026-11-28T05:00:00Z"\nsettings = { maximum = "5" }\n[[steps.check]]\nrule = "other"\ncanary = "limits"\n`;
  const release = { document: { text, digests: { rules: { limits: "sha256:ab" } } } } as unknown as ShownRelease;
  const [first, second] = bound(release);
  expect(first).toMatchObject({ step: "check", order: 1, rule: "limits", digest: "sha256:ab", settings: { maximum: "5" } });
  expect(first?.from).toContain("2026-11-28");
  expect(second).toMatchObject({ order: 2, digest: undefined, more: { canary: "limits" } });
  expect(() => bound({ document: { text: "[", digests: {} } } as unknown as ShownRelease)).toThrow();
});

test("a gap in numbers is found", () => {
  expect(gapAfter([])).toBeUndefined();
  expect(gapAfter([4, 5, 6])).toBeUndefined();
  expect(gapAfter([4, 5, 7])).toBe(5);
});

test("a refusal is told in the host's words", () => {
  const said = refusal(409, '{"type":"urn:rialto:problem:release-moved","detail":"another","problems":["one"]}');
  expect([said.status, said.kind, said.message, said.problems]).toEqual([409, "release-moved", "another", ["one"]]);
  expect(refusal(502, "<html>").kind).toBe("");
});

test("scales are round, and curves have gaps where nothing is known", () => {
  expect([0, 0.3, 3.4, 26, 1000].map(niceBound)).toEqual([1, 0.5, 5, 50, 1000]);
  const same = (value: number): number => value;
  expect(path([1, NaN, 3, 4], same, same)).toBe("M0.0 1.0M2.0 3.0L3.0 4.0");
});

test("a look goes further back while it finds few", () => {
  expect(nextWindow(2000, 500, true)).toBeUndefined();
  expect(nextWindow(2000, 30, false)).toBeUndefined();
  expect(nextWindow(2000, 3, false)).toBe(10_000);
  expect(nextWindow(250_000, 0, false)).toBe(300_000);
  expect(nextWindow(300_000, 0, false)).toBeUndefined();
});
