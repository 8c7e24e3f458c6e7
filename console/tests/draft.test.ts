import { describe, expect, it } from "vitest";
import { changedRules, content } from "../src/data/draft";
import { difference } from "../src/data/lines";
import { beginning, fieldOf, number, type Schema, withMember } from "../src/data/schema";

const TEXT = `
[contexts.orders.grants]
rules = ["a-check", "b-check", "c-*"]

[rules.first]
component = "components/first.wasm"

[[steps.a-check]]
rule = "first"
effective-from = "2030-01-01T00:00:00Z"
settings = { most = 10 }
`;

describe("a draft", () => {
  it("has rules, steps and the steps that contexts ask", () => {
    const read = content({ text: TEXT, digests: { rules: { first: "sha256:1" } } });
    expect(read.rules["first"]?.digest).toBe("sha256:1");
    expect(read.steps["a-check"]).toEqual([{ rule: "first", "effective-from": "2030-01-01T00:00:00Z", settings: { most: 10 } }]);
    expect(read.asked).toEqual(["a-check", "b-check"]);
    expect(() => content({ text: "a = ", digests: {} })).toThrow();
  });

  it("names the rules whose components differ", () => {
    const of = (rules: Record<string, string>) => ({ text: "", digests: { rules } });
    expect(changedRules(of({ a: "1", b: "2", c: "3" }), of({ a: "1", b: "4", d: "5" }))).toEqual([
      { name: "b", before: "2", after: "4" },
      { name: "c", before: "3", after: undefined },
      { name: "d", before: undefined, after: "5" },
    ]);
  });
});

describe("a difference of texts", () => {
  it("has what is gone and new, and leaves out what is far", () => {
    const before = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const after = before.map((line, at) => (at === 10 ? "another" : line));
    const lines = difference(before.join("\n"), after.join("\n"));
    expect(lines.filter((line) => line.kind === "gone")).toEqual([{ kind: "gone", text: "line 10" }]);
    expect(lines.filter((line) => line.kind === "new")).toEqual([{ kind: "new", text: "another" }]);
    expect(lines[0]).toEqual({ kind: "left-out", count: 7 });
    expect(lines[lines.length - 1]).toEqual({ kind: "left-out", count: 6 });
    expect(difference("a\nb", "a\nb")).toEqual([]);
  });

  it("has every line of both, whatever they are", () => {
    for (const [before, after] of [["", "a"], ["a\nb\nc", "c\nb\na"], ["a\na\nb", "a"], ["x", ""]] as const) {
      const lines = difference(before, after);
      const of = (kind: string) => lines.flatMap((line) => (line.kind === "same" || line.kind === kind ? [(line as { text: string }).text] : []));
      expect(of("gone").join("\n")).toBe(before);
      expect(of("new").join("\n")).toBe(after);
    }
  });
});

describe("a form", () => {
  const schema: Schema = {
    type: "object",
    required: ["limits"],
    properties: {
      limits: { type: "array", items: { $ref: "#/$defs/limit" } },
      otherwise: { enum: ["allow", "refuse"], default: "allow" },
    },
    $defs: { limit: { type: "object", required: ["most", "unit"], properties: { most: { type: "integer", minimum: 1 }, unit: { enum: ["A", "B"] } } } },
  };

  it("begins with what is required, and with defaults", () => {
    expect(beginning(schema, schema)).toEqual({ limits: [] });
    expect(beginning(schema.properties?.["limits"]?.items ?? {}, schema)).toEqual({ most: 1, unit: "A" });
    expect(beginning(schema.properties?.["otherwise"] ?? {}, schema)).toBe("allow");
  });

  it("shows as text what it has no field for", () => {
    expect(fieldOf({ type: ["string", "null"] })).toBe("json");
    expect(fieldOf({ enum: [1, "a"] })).toBe("json");
    expect(fieldOf({ type: "object" })).toBe("json");
    expect(fieldOf({ type: "array" })).toBe("json");
  });

  it("keeps what is typed until it is a number", () => {
    expect(["1", "1.", "1.5", "-", ""].map(number)).toEqual([1, "1.", 1.5, "-", ""]);
    expect(withMember({ a: 1, b: 2 }, "a", undefined)).toEqual({ b: 2 });
    expect(withMember(undefined, "a", 1)).toEqual({ a: 1 });
  });
});
