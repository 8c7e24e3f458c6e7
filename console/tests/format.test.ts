// Numbers, times and amounts as text.

import { describe, expect, test } from "vitest";
import * as format from "../src/data/format";

describe("amounts", () => {
  test("are never rounded or cut", () => {
    expect(format.decimal("123456789012345678.1234")).toBe("123,456,789,012,345,678.1234");
    expect(format.money("12.5", "USD")).toBe("12.50 USD");
    expect(format.money("12.3456", "USD")).toBe("12.3456 USD");
    expect(format.money("1000", "RWF")).toBe("1,000 RWF");
    expect(format.money("7", "not a currency")).toBe("7 not a currency");
  });

  test("in minor units keep their places and their sign", () => {
    expect(format.minor("1250", 2)).toBe("12.50");
    expect(format.minor("5", 2)).toBe("0.05");
    expect(format.minor("-200000000", 2)).toBe("−2,000,000.00");
    expect(format.minor("-7", 0)).toBe("−7");
    expect(format.minor("0", 2)).toBe("0.00");
  });
});

describe("times", () => {
  test("are in UTC", () => {
    expect(format.instant(1795842265106, true)).toBe("2026-11-28 05:04:25.106");
    expect(format.clock(0)).toBe("00:00:00");
    expect(format.instant(NaN)).toBe("–");
  });

  test("have the unit that fits", () => {
    expect(format.micros(227)).toBe("227 µs");
    expect(format.micros(2252)).toBe("2.25 ms");
    expect(format.millis(29)).toBe("29 ms");
    expect(format.millis(1500)).toBe("1.50 s");
    expect(format.seconds(NaN)).toBe("–");
    expect(format.seconds(600)).toBe("10.0 min");
  });
});

test("shares and sizes", () => {
  expect(format.percent(1)).toBe("100 %");
  expect(format.percent(0.9966)).toBe("99.66 %");
  expect(format.percent(NaN)).toBe("–");
  expect(format.shareOf("5", "0")).toBe(0);
  expect(format.shareOf("600", "500")).toBe(1);
  expect(format.bytes(1536)).toBe("1.50 KiB");
  expect(format.bytes(12)).toBe("12 B");
});
