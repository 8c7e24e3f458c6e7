import { describe, expect, it } from "vitest";
import { placed } from "../src/data/layout";
import { curve, ofStep, picture, type Wiring } from "../src/data/wiring";

const WIRING: Wiring = {
  release: 1,
  contexts: [
    { name: "first", digest: "sha256:1", host: [], listener: "clients" },
    { name: "second", digest: "sha256:2", host: ["storage"] },
  ],
  rules: [{ name: "limit", digest: "sha256:3", host: [], version: "1.0.0" }],
  links: [
    { from: "first", to: "second", kind: "call", interface: "second/get" },
    { from: "first", to: "second", kind: "call", interface: "second/put" },
    { from: "second", to: "first", kind: "event", interface: "second/done" },
    { from: "first", to: "first-check", kind: "step", interface: "rules/first-check" },
  ],
  steps: [{ step: "first-check", rules: [{ rule: "limit" }] }],
};

describe("a picture of the wiring", () => {
  it("has one arrow for all links of a kind between two boxes", () => {
    const { boxes, arrows } = picture(WIRING, ["call", "step"]);
    expect(boxes.map((one) => one.id)).toEqual(["first", "second", ofStep("first-check")]);
    expect(arrows.map((one) => [one.from, one.to, one.interfaces.length])).toEqual([
      ["first", "second", 2],
      ["first", ofStep("first-check"), 1],
    ]);
  });

  it("leaves out steps where rules are not wanted", () => {
    const { boxes, arrows } = picture(WIRING, ["event"]);
    expect(boxes).toHaveLength(2);
    expect(arrows.map((one) => one.kind)).toEqual(["event"]);
  });

  it("has boxes that do not overlap, and a line for each arrow", () => {
    const { boxes, arrows } = picture(WIRING, ["call", "event", "step"]);
    const all = placed(boxes, arrows);
    expect(all.width).toBeGreaterThan(0);
    for (const one of all.boxes) {
      for (const other of all.boxes) {
        const apart = Math.abs(one.x - other.x) * 2 >= one.width + other.width || Math.abs(one.y - other.y) * 2 >= one.height + other.height;
        expect(one === other || apart).toBe(true);
      }
    }
    for (const arrow of all.arrows) expect(curve(arrow.points)).toMatch(/^M [\d. -]+ [QL] /);
  });
});
