// A payment's diagram, and what a support bundle leaves out.

import { describe, expect, test } from "vitest";
import type { Turn } from "../src/data/kinds";
import { diagram, pathOf, shortened } from "../src/story/diagram";
import { masked } from "../src/story/mask";

const turn = (number: number, cause: number | null, kind: string, component: string, name: string, steps: Turn["steps"] = []): Turn => ({
  turn: number,
  cause,
  at: 1000 + number,
  took_us: 10,
  release: 1,
  kind,
  component,
  function: name,
  subjects: [],
  steps,
  ended: "Executed",
});

const TURNS = [
  turn(3, 2, "Event", "outbox", "asked", [{ Sent: { id: 9, request: "POST http://127.0.0.1:1/transfers" } }]),
  turn(1, null, "Request", "edge", "POST /transfers", [{ Answered: { status: 202 } }]),
  turn(2, 1, "Event", "transfers", "requested", [
    { Judged: { step: "s", rule: "limits", verdict: "refuse 4200", took_us: 1 } },
    { Called: { component: "ledger", function: "ledger/reserve", took_us: 1 } },
  ]),
  turn(4, null, "Report", "outbox", "report", [{ Reported: { id: 9, outcome: "202 after 1 attempt" } }]),
  turn(5, null, "Request", "edge", "PUT /transfers/1", [{ Answered: { status: 400 } }]),
];
const SIDES = { payer: "green", payee: "blue", fspOf: (url: string) => (url.includes(":1/") ? "blue" : undefined) };

describe("the diagram", () => {
  const drawn = diagram(TURNS, SIDES, false);
  const names = drawn.lanes.map((lane) => lane.name);

  test("has the payer at the left and the payee at the right", () => {
    expect(names).toEqual(["green", "edge", "transfers", "outbox", "blue"]);
  });

  test("has what happened in the order of time", () => {
    const told = drawn.marks.map((mark) => `${mark.what} ${names[mark.from]} ${names[mark.to]} ${mark.label} ${mark.tone}`);
    expect(told).toEqual([
      "message green edge POST /transfers (202) plain",
      "event edge transfers requested plain",
      "note transfers transfers limits: refuse 4200 bad",
      "event transfers outbox asked plain",
      "message outbox blue POST /transfers plain",
      "answer blue outbox 202 after 1 attempt plain",
      "message blue edge PUT /transfers/1 (400) bad",
    ]);
    expect(drawn.marks[0]?.ms).toBe(0);
  });

  test("shows calls if they are wanted, and a turn of two subjects once", () => {
    const calls = diagram([...TURNS, ...TURNS], SIDES, true).marks.filter((mark) => mark.what === "call");
    expect(calls.map((mark) => mark.label)).toEqual(["reserve"]);
  });

  test("is empty without turns", () => {
    expect(diagram([], SIDES, false).marks).toEqual([]);
  });
});

describe("kept messages", () => {
  const message = (part: string, request: number | null, source?: string) => ({
    Message: { part, request, line: "x", headers: source ? [["fspiop-source", source]] : [], headers_left_out: 0, body: null, body_bytes: 0 },
  });
  const drawn = diagram(
    [
      turn(1, null, "Request", "edge", "GET /parties/MSISDN/1", [message("Came", null, "blue"), message("Answer", null), { Answered: { status: 202 } }]),
      turn(2, 1, "Event", "outbox", "asked", [
        { Sent: { id: 8, request: "PUT http://x:2/parties" } },
        { Sent: { id: 9, request: "POST http://x:1/transfers" } },
        message("Sent", 9),
      ]),
      turn(3, null, "Request", "edge", "POST /quotes", [message("Came", null, "red")]),
      turn(4, null, "Report", "outbox", "report", [{ Reported: { id: 9, outcome: "202 after 1 attempt" } }, message("Response", 9)]),
    ],
    SIDES,
    false,
  );
  const names = drawn.lanes.map((lane) => lane.name);

  test("say who sent a message, whatever its method", () => {
    expect(names[drawn.marks[0]?.from ?? -1]).toBe("blue");
    expect(names).toContain("red");
  });

  test("are at their own arrows", () => {
    const kept = drawn.marks.filter((mark) => mark.isMessage).map((mark) => `${mark.label}: ${mark.messages.map((one) => one.part).join(" ")}`);
    expect(kept).toEqual([
      "GET /parties/MSISDN/1 (202): Came Answer",
      "PUT /parties: ",
      "POST /transfers: Sent",
      "POST /quotes: Came",
      "202 after 1 attempt: Response",
    ]);
  });
});

test("labels are short", () => {
  expect(pathOf("PUT https://fsp.example:99/a/b?c")).toBe("PUT /a/b?c");
  expect(shortened("PUT /quotes/fa51afd6-05ec-4485-835c-885dd41ef81b")).toBe("PUT /quotes/fa51afd6…");
});

test("a support bundle names no people", () => {
  const bundle = {
    subject: "party:MSISDN/27713803912",
    url: "GET /parties/EMAIL/a@b.example?x=1",
    party: { "id-type": "MSISDN", identifier: "27713803912", "sub-id-or-type": null, personalInfo: { complexName: {} } },
    list: [{ name: "Ann", amount: "12.5" }],
  };
  const text = JSON.stringify(masked(bundle));
  for (const person of ["27713803912", "a@b.example", "Ann"]) expect(text).not.toContain(person);
  expect(text).toContain('"amount":"12.5"');
  expect(text).toContain("?x=1");
});
