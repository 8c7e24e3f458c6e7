// Where keys lead in a long table.

import { expect, test } from "vitest";
import { rowAfter } from "../src/parts/table";

test("keys lead to every row and to none beyond", () => {
  const count = 50_000;
  expect(rowAfter("End", 0, 20, count)).toBe(count - 1);
  expect(rowAfter("Home", 777, 20, count)).toBe(0);
  expect(rowAfter("ArrowDown", count - 1, 20, count)).toBe(count - 1);
  expect(rowAfter("ArrowUp", 0, 20, count)).toBe(0);
  expect(rowAfter("ArrowDown", -1, 20, count)).toBe(0);
  expect(rowAfter("PageDown", 5, 20, count)).toBe(25);
  expect(rowAfter("PageUp", 5, 20, count)).toBe(0);
  expect(rowAfter("a", 5, 20, count)).toBeUndefined();
});
