// What happens now: events, figures over time, transfers of documents, and tables made of them.

import { expect, test } from "vitest";
import { Course, lastOf, quantileOf, type Told } from "../src/data/course";
import { Parser } from "../src/data/events";
import { Flow, transferOf } from "../src/data/flow";
import { messages, refusals } from "../src/parts/live-tables";
import { nearest, tick } from "../src/parts/chart";

test("events are complete however their text is cut", () => {
  const text = 'event: figures\ndata: {"a":1}\n\n: nothing\n\nevent: end\r\ndata: x\r\ndata: y\r\n\r\nevent: cut\ndata: z';
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parser = new Parser();
    const all = [...parser.take(text.slice(0, cut)), ...parser.take(text.slice(cut))];
    expect(all).toEqual([
      { event: "figures", data: '{"a":1}' },
      { event: "end", data: "x\ny" },
    ]);
  }
});

const told = (at: number[], values: (number | null)[]): Told => ({
  from: "memory",
  everyMs: 10,
  longer: false,
  at,
  series: [{ name: "requests", labels: { operation: "ask", status: "202" }, values }],
  leftOut: 0,
});
const figure = (value: number, status = "202") => ({ name: "requests", labels: { operation: "ask", status }, value });

test("new figures go on from the past, point by point", () => {
  const course = new Course();
  course.begin(told([100, 110], [1, null]), 1000);
  course.add(105, [figure(9)], 1000);
  course.add(112, [figure(2)], 1000);
  course.add(114, [figure(4), figure(1, "400")], 1000);
  course.add(122, [figure(8)], 1000);
  expect(course.at).toEqual([100, 110, 112, 122]);
  expect(course.sum("requests", { status: "202" })).toEqual([1, NaN, 3, 8]);
  expect(course.sum("requests", { status: "400" })).toEqual([NaN, NaN, 0.5, NaN]);
  expect(course.sum("requests", { operation: "ask" })).toEqual([1, NaN, 3.5, 8]);
  expect(lastOf(course.sum("requests", { status: "400" }))).toBe(0.5);
});

test("what is older than the time that is shown is forgotten", () => {
  const course = new Course();
  course.begin(told([0, 10, 20, 30], [1, 2, 3, 4]), 15);
  expect(course.at).toEqual([20, 30]);
  course.add(40, [figure(5)], 15);
  expect(course.at).toEqual([30, 40]);
  expect(course.sum("requests")).toEqual([4, 5]);
});

test("quantiles of plain numbers", () => {
  expect(quantileOf([], 0.5)).toBeNaN();
  expect(quantileOf([5], 0.99)).toBe(5);
  expect(quantileOf([4, 1, 3, 2], 0.5)).toBe(2);
});

const document = (id: string, state: string, began: number) => ({
  transferId: id,
  payerFsp: "a",
  payeeFsp: "b",
  amount: { currency: "USD", scale: 2, minorUnits: "1205" },
  state,
  expiration: 0,
  history: [
    { state: "RECEIVED", at: began },
    { state, at: began + 50 },
  ],
  ...(state === "FAILED" ? { reason: { code: "4200" } } : {}),
});

test("a document tells its transfer, and its amount stays exact", () => {
  const transfer = transferOf(document("1", "COMMITTED", 1000));
  expect([transfer.amount.amount, transfer.beganAt, transfer.endedAt]).toEqual(["12.05", 1000, 1050]);
  expect(transferOf(document("1", "PREPARED", 1000)).endedAt).toBeNull();
  const whole = { ...document("1", "PREPARED", 0), amount: { currency: "JPY", scale: 0, minorUnits: "7" } };
  expect(transferOf(whole).amount.amount).toBe("7");
  const small = { ...document("1", "PREPARED", 0), amount: { currency: "USD", scale: 2, minorUnits: "5" } };
  expect(transferOf(small).amount.amount).toBe("0.05");
});

test("a transfer has one row with its newest state, and counts once when it has ended", () => {
  const flow = new Flow();
  const now = Date.now();
  flow.take([transferOf(document("1", "PREPARED", now)), transferOf(document("2", "FAILED", now + 1))]);
  flow.take([transferOf(document("1", "COMMITTED", now)), transferOf(document("1", "COMMITTED", now))]);
  expect(flow.rows.map((row) => [row.transferId, row.state])).toEqual([
    ["2", "FAILED"],
    ["1", "COMMITTED"],
  ]);
  expect(flow.ended.map((one) => [one.state, one.tookMs, one.code])).toEqual([
    ["FAILED", 50, "4200"],
    ["COMMITTED", 50, ""],
  ]);
  flow.take(Array.from({ length: 50 }, (_, n) => transferOf(document(`n${n}`, "PREPARED", now + 10 + n))));
  expect(flow.rows.length).toBe(20);
  expect(flow.rows[0]?.transferId).toBe("n49");
});

test("messages are told by leg, with what the last minute tells of them", () => {
  const requests = (operation: string, status: string, value: number) => ({ name: "requests", labels: { operation, status }, value });
  const minute = [
    { at: 1, figures: [requests("requestTransfer", "202", 4), requests("other", "200", 1), { name: "p99", labels: { operation: "requestTransfer" }, value: 0.2 }] },
    { at: 2, figures: [requests("requestTransfer", "202", 6), requests("requestTransfer", "400", 2), requests("queryParty", "202", 2)] },
  ];
  const all = messages({ minute, course: new Course() });
  expect(all.map((one) => [one.leg, one.name, one.perSecond])).toEqual([
    ["Lookup", "queryParty", 1],
    ["Transfer", "requestTransfer", 6],
    ["Other", "other", 0.5],
  ]);
  expect([all[1]?.p99, all[1]?.refused.get("400")]).toEqual([0.2, 1]);
});

test("refusals are counted by rule and code, and told as a part of the rule's verdicts", () => {
  const course = new Course();
  const verdict = (verdict: string, code: string, values: number[]) => ({ name: "verdicts", labels: { step: "s", rule: "r", verdict, code }, values });
  const series = [verdict("allow", "", [0.3, 0.3]), verdict("refuse", "4200", [0.1, 0.1]), verdict("refuse", "5", [0, 0])];
  course.begin({ from: "memory", everyMs: 10_000, longer: false, at: [0, 10_000], series, leftOut: 0 }, 20_000);
  expect(refusals({ course })).toEqual([{ step: "s", rule: "r", verdict: "refuse", code: "4200", times: 2, of: 8 }]);
});

test("the pointer is at the nearest time", () => {
  expect(nearest([0, 10, 20], -5)).toBe(0);
  expect(nearest([0, 10, 20], 14)).toBe(1);
  expect(nearest([0, 10, 20], 16)).toBe(2);
  expect(nearest([0, 10, 20], 99)).toBe(2);
});

test("the scale has no zeros that say nothing", () => {
  expect(["5.00 /s", "2.50 /s", "50.0 ms", "100 ms", "0", "0.25 s", "10 %"].map(tick)).toEqual(["5 /s", "2.5 /s", "50 ms", "100 ms", "0", "0.25 s", "10 %"]);
});

test("who holds the rows keeps what they were", () => {
  const flow = new Flow();
  flow.take([transferOf(document("a", "RECEIVED", 1000))]);
  const held = flow.rows;
  flow.take([transferOf(document("b", "RECEIVED", 2000)), transferOf(document("a", "COMMITTED", 1000))]);
  expect(held.map((row) => [row.transferId, row.state])).toEqual([["a", "RECEIVED"]]);
  expect(flow.rows.map((row) => row.transferId)).toEqual(["b", "a"]);
});
