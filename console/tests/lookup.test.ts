// The lookup that belongs to a payment, and when none does.

import { describe, expect, test } from "vitest";
import type { Turn } from "../src/data/kinds";
import { lookupOf } from "../src/story/lookup";

const turn = (number: number, name: string, more: Partial<Turn> = {}): Turn => ({
  turn: number, cause: null, at: number * 1000, took_us: 1, release: 1, kind: name.includes(" ") ? "Request" : "Event",
  component: "edge", function: name, trace: `t${number}`, subjects: [], steps: [], ended: "Executed", ...more,
});
const from = (fsp: string): Partial<Turn> => ({
  steps: [{ Message: { part: "Came", request: null, line: "GET /parties", headers: [["fspiop-source", fsp]], headers_left_out: 0, body: null, body_bytes: 0 } }],
});
const GET = "GET /parties/MSISDN/1";
const PAYMENT = [turn(50, "POST /quotes"), turn(60, "POST /transfers")];
const numbers = (turns: Turn[]): number[] => turns.map((one) => one.turn);

describe("the lookup of a payment", () => {
  test("is what shares its trace, whatever came between", () => {
    const about = [turn(10, GET, { trace: "t50" }), turn(11, "found", { trace: "t50" }), turn(20, GET), turn(50, "POST /quotes")];
    expect(lookupOf(about, PAYMENT, "green")).toEqual({ turns: about.slice(0, 2), how: "trace", others: 0 });
  });

  test("is the last question before the quote, with what followed it", () => {
    const about = [turn(10, GET), turn(11, "found"), turn(20, GET), turn(21, "found"), turn(22, "PUT /parties/MSISDN/1"), turn(70, GET)];
    const found = lookupOf(about, PAYMENT, "green");
    expect([numbers(found.turns), found.how, found.others]).toEqual([[20, 21, 22], "time", 1]);
  });

  test("is not that of another payer FSP, where messages say who asked", () => {
    const about = [turn(10, GET, from("green")), turn(20, GET, from("red"))];
    const found = lookupOf(about, PAYMENT, "green");
    expect([numbers(found.turns)[0], found.others]).toEqual([10, 0]);
    expect(lookupOf([turn(20, GET, from("red"))], PAYMENT, "green").how).toBe("none");
  });

  test("is none if nobody asked lately, or there is no payment", () => {
    const late = [turn(650, "POST /quotes")];
    expect(lookupOf([turn(49, GET)], late, "green").how).toBe("none");
    expect(lookupOf([turn(51, GET)], late, "green").how).toBe("time");
    expect(lookupOf([turn(10, GET)], [], "green").how).toBe("none");
    expect(lookupOf([], PAYMENT, undefined).how).toBe("none");
    expect(lookupOf([turn(10, "PUT /parties/MSISDN/1")], PAYMENT, "green").how).toBe("none");
  });

  test("does not take traces of zeros for one", () => {
    const about = [turn(10, GET, { trace: "0000" })];
    const payment = [turn(50, "POST /quotes", { trace: "0000" })];
    expect(lookupOf(about, payment, "green").how).toBe("time");
  });
});
