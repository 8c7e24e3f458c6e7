// Requests about participants, exact decimals, certificate requests, and the matrix of a settlement.

import { expect, test } from "vitest";
import { compare, minus, plus, share } from "../src/data/decimal";
import type { ChangeOf, Request } from "../src/data/kinds";
import { fingerprint, publicKey } from "../src/data/pkcs10";
import { sidesOf } from "../src/data/waiting";
import { brokenAt, sidesOf as sidesOfChange } from "../src/participants/history";
import { accountOf, ranges } from "../src/participants/of-whole";
import { even, shade } from "../src/settlement/matrix";

test("decimals are exact, whatever their places", () => {
  expect(plus("0.1", "0.2")).toBe("0.3");
  expect(plus("999999999999999999.9999", "0.0001")).toBe("1000000000000000000.0000");
  expect(minus("1", "1.005")).toBe("-0.005");
  expect(minus("-2.50", "-2.5")).toBe("0.00");
  expect([compare("10", "9.99"), compare("1.0", "1"), compare("-1", "0")]).toEqual([1, 0, -1]);
  expect([share("1", "3"), share("5", "5"), share("-1", "5"), share("6", "5"), share("1", "0")]).toEqual([0.333333, 1, 0, 1, 0]);
});

const request = (kind: string, payload: Record<string, unknown>, basedOn: unknown): Request =>
  ({ id: "r", kind, payload, basedOn, participant: "p", state: "PENDING", reason: "", maker: "m", madeAt: 1, version: 1 }) as Request;

test("now and then of a request are of the same form", () => {
  const cap = (amount: string) => ({ type: "NET_DEBIT_CAP", value: { currency: "USD", amount } });
  expect(sidesOf(request("account-limit", { limit: cap("7") }, cap("5")))).toEqual({ now: cap("5"), then: cap("7") });
  expect(sidesOf(request("account-limit", { limit: null }, null))).toEqual({ now: null, then: null });
  expect(sidesOf(request("account-status", { status: "DISABLED" }, true))).toEqual({ now: "ENABLED", then: "DISABLED" });
  expect(sidesOf(request("state", { state: "DISABLED" }, "APPROVED"))).toEqual({ now: "APPROVED", then: "DISABLED" });
  const funds = { type: "DEPOSIT", accountId: "USD", amount: { currency: "USD", amount: "1" } };
  expect(sidesOf(request("funds", funds, null))).toEqual({ now: null, then: funds });
});

test("an account in a request leaves out what was left empty", () => {
  expect(accountOf({ currency: "USD", name: "", cap: "", threshold: "" })).toEqual({ currency: "USD" });
  expect(accountOf({ currency: "USD", name: "a", cap: "5", threshold: "1" })).toEqual({
    currency: "USD",
    name: "a",
    limit: { type: "NET_DEBIT_CAP", value: { currency: "USD", amount: "5" } },
    threshold: { currency: "USD", amount: "1" },
  });
  expect(ranges(" 192.0.2.0/24,\n2001:db8::/32 \n")).toEqual(["192.0.2.0/24", "2001:db8::/32"]);
});

// Made by openssl: a key on P-256, and the SHA-256 of its SubjectPublicKeyInfo.
const ORDER = `-----BEGIN CERTIFICATE REQUEST-----
MIHOMHUCAQAwEzERMA8GA1UEAwwIcGF5ZXJmc3AwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARF6cN/DN0UqbvTu4MKKmFZYFcwC6cIlPQ4nYe3q+4WT4KFL/EsOx56
NxWELRLHTe0LHPn3o2HAZwGrl13+Lpu+oAAwCgYIKoZIzj0EAwIDSQAwRgIhAM1M
EtqDCbW/6OaSzO5CdN9TGKu01zypEBJQJ8VEcLUQAiEA+sNpiu5HEDouJksKY4Wt
PStSBXrAn7o+9AfLtbIfjFc=
-----END CERTIFICATE REQUEST-----`;

test("the fingerprint of an order is the one that openssl prints", async () => {
  expect(await fingerprint(ORDER)).toBe("1609b8b8c3bbf2e7f160c07bb373bc8bfd8ef117d3bf08c3bb84ec56592931bb");
  for (const wrong of ["", "x", ORDER.replace("MI", "zz"), ORDER.slice(0, 120), ORDER.replaceAll("REQUEST", "")]) {
    expect(publicKey(wrong)).toBeUndefined();
  }
});

test("a chain of changes that was broken is found", () => {
  const change = (n: number, previous: string, hash: string) => ({ n, previous, hash }) as ChangeOf;
  expect(brokenAt([change(0, "", "a"), change(1, "a", "b"), change(2, "b", "c")])).toBeUndefined();
  expect(brokenAt([change(0, "", "a"), change(1, "x", "b")])).toBe(1);
});

test("a change tells what was before and after", () => {
  const change = (kind: string, before: unknown, after: unknown) => ({ kind, before, after, asked: { payload: { type: "DEPOSIT" }, reason: "" } }) as ChangeOf;
  expect(sidesOfChange(change("account-status", true, false))).toEqual({ before: "ENABLED", after: "DISABLED" });
  expect(sidesOfChange(change("funds", null, null))).toEqual({ before: null, after: { type: "DEPOSIT" } });
  expect(sidesOfChange(change("state", "APPROVED", "DISABLED"))).toEqual({ before: "APPROVED", after: "DISABLED" });
});

test("a matrix is even when each currency is", () => {
  const row = (currency: string, paid: string, received: string) => ({
    participant: "p",
    paid: { currency, amount: paid },
    received: { currency, amount: received },
    net: { direction: "EVEN", currency, amount: "0" },
  });
  expect(even([row("USD", "0.1", "0.30"), row("USD", "0.2", "0")])).toBe(true);
  expect(even([row("USD", "1", "0"), row("EUR", "0", "1")])).toBe(false);
  expect([shade("0", "5"), shade("0.01", "5"), shade("5", "5"), shade("2.5", "5")]).toEqual([0, 1, 5, 3]);
});
