import { describe, expect, it } from "vitest";
import { nearness, more, progress, type Job } from "../src/data/backtest";
import { calendar, comesLater } from "../src/data/calendar";
import type { Release, ShownRelease } from "../src/data/kinds";

const release = (number: number, more: object = {}): Release => ({
  number,
  digest: "",
  createdAt: 0,
  note: `note ${number}`,
  current: false,
  wasCurrent: false,
  maker: "anna",
  waits: false,
  ...more,
});

const TEXT = `
[[steps.a-check]]
rule = "limits"
effective-from = "2030-01-01T00:00:00Z"
effective-until = "2030-03-01T00:00:00Z"
changes = [{ setting = "/most", value = 5, effective-from = "2030-02-01T00:00:00Z" }]
`;

describe("a calendar", () => {
  const current = { ...release(1, { current: true, wasCurrent: true }), document: { text: TEXT, digests: {} } } as ShownRelease;

  it("has releases and dates of rules that are ahead, the next first", () => {
    const scheduled = release(2, { scheduled: { from: Date.parse("2030-01-15T00:00:00Z"), person: "anna", at: 0 } });
    const all = calendar([current, scheduled], current, Date.parse("2029-12-31T00:00:00Z"));
    expect(all.map((one) => one.kind)).toEqual(["begins", "release", "setting", "ends"]);
    expect(calendar([scheduled], undefined, Date.parse("2031-01-01T00:00:00Z"))).toEqual([]);
  });

  it("leaves out what was withdrawn or has come", () => {
    const scheduled = { from: 5, person: "anna", at: 0 };
    expect(comesLater(release(2, { scheduled }))).toBe(true);
    expect(comesLater(release(2, { scheduled: { ...scheduled, withdrawnBy: "ben" } }))).toBe(false);
    expect(comesLater(release(2, { scheduled, wasCurrent: true }))).toBe(false);
  });
});

describe("a backtest", () => {
  it("tells how far it is by the time of its receipts", () => {
    const job = { since: 100, until: 200 } as Job;
    expect(progress(job)).toBeUndefined();
    expect(progress({ ...job, at: 150 })).toBe(0.5);
    expect(progress({ ...job, at: 999 })).toBe(1);
  });

  it("compares fuel, and figures with lines", () => {
    expect(more(100, 150)).toBe(0.5);
    expect(more(0, 150)).toBeUndefined();
    expect([nearness(0, 0), nearness(1, 0), nearness(1, 2), nearness(-1, 2)]).toEqual([0, 1, 0.5, 0]);
  });
});
