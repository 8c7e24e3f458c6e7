// Readings of metrics, and what follows from two of them.

import { expect, test } from "vitest";
import { between, histogram, parse, quantile, quantileOf, sum } from "../src/data/metrics";
import { sample, Samples } from "../src/data/samples";

const text = (begun: number, slow: number): string => `# HELP rialto_http_requests Requests.
rialto_http_requests_total{operation="requestTransfer",status="202"} ${begun}
rialto_http_requests_total{operation="requestTransfer",status="400"} 3
rialto_http_requests_total{operation="odd\\"name\\n",status="400"} 1
rialto_http_request_seconds_bucket{le="0.001"} 10
rialto_http_request_seconds_bucket{le="0.01"} ${10 + slow}
rialto_http_request_seconds_bucket{le="+Inf"} ${10 + slow}
rialto_turns_active 7
nonsense
# EOF
`;

test("text is read by names and labels", () => {
  const read = parse(text(5, 0));
  expect(sum(read, "rialto_turns_active")).toBe(7);
  expect(sum(read, "rialto_http_requests_total", { operation: "requestTransfer" })).toBe(8);
  expect(sum(read, "rialto_http_requests_total", { operation: 'odd"name\n' })).toBe(1);
  expect(sum(read, "unknown")).toBe(0);
});

test("quantiles are of what came between two readings", () => {
  const [before, after] = [histogram(parse(text(0, 0)), "rialto_http_request_seconds"), histogram(parse(text(0, 100)), "rialto_http_request_seconds")];
  const came = between(before, after);
  expect(came.map((bucket) => bucket.total)).toEqual([0, 100, 100]);
  expect(quantile(came, 0.5)).toBeCloseTo(0.0055);
  expect(quantile(between(after, after), 0.5)).toBeNaN();
  // The host has started anew.
  expect(between(after, before)).toEqual(before);
});

test("rates are by the time between readings, and not negative after a new start", () => {
  const reading = (at: number, begun: number) => ({ at, metrics: parse(text(begun, 0)) });
  expect(sample(reading(0, 10), reading(2000, 30)).begun).toBe(10);
  expect(sample(reading(0, 30), reading(2000, 1)).begun).toBeNaN();
});

test("samples are kept for two hours", () => {
  const samples = new Samples();
  const hour = 3600 * 1000;
  for (let at = 0; at <= 4 * hour; at += hour / 2) samples.take(at, parse(text(at, 0)));
  expect(samples.all[0]?.at).toBe(2 * hour);
  expect(samples.all.at(-1)?.at).toBe(4 * hour);
});

test("quantiles of plain numbers", () => {
  expect(quantileOf([], 0.5)).toBeNaN();
  expect(quantileOf([5], 0.99)).toBe(5);
  expect(quantileOf([4, 1, 3, 2], 0.5)).toBe(2);
});
