// Readings of the host's metrics, for two hours, in the memory of the page.

import { getText } from "./api";
import { between, histogram, type Metrics, parse, quantile, sum } from "./metrics";

/** The time between two readings. */
export const EVERY_MS = 2000;
/** How long readings are kept. */
const KEPT_MS = 2 * 3600 * 1000;

/** What two readings tell. */
export type Sample = {
  at: number;
  begun: number;
  ended: number;
  p50: number;
  p99: number;
};

const MESSAGES = "rialto_http_requests_total";
const SECONDS = "rialto_http_request_seconds";
const BEGINS = { operation: "requestTransfer", status: "202" };
const ENDS = { operation: "fulfilTransfer", status: "200" };

/** What happened between two readings. */
export function sample(before: { at: number; metrics: Metrics }, now: { at: number; metrics: Metrics }): Sample {
  const seconds = Math.max(0.001, (now.at - before.at) / 1000);
  const rate = (labels: Record<string, string>): number => {
    const grown = sum(now.metrics, MESSAGES, labels) - sum(before.metrics, MESSAGES, labels);
    // Less than before: the host has started anew.
    return grown < 0 ? NaN : grown / seconds;
  };
  const times = between(histogram(before.metrics, SECONDS), histogram(now.metrics, SECONDS));
  return { at: now.at, begun: rate(BEGINS), ended: rate(ENDS), p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
}

/** All samples, the newest last, with the last reading. */
export class Samples {
  readonly all: Sample[] = [];
  last: { at: number; metrics: Metrics } | undefined;
  error: Error | undefined;
  private readonly listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running = false;

  /** Read from now on. */
  start(): void {
    if (this.running) return;
    this.running = true;
    const read = async (): Promise<void> => {
      try {
        this.take(Date.now(), parse(await getText("/metrics", "application/openmetrics-text")));
        this.error = undefined;
      } catch (error) {
        this.error = error as Error;
      }
      for (const listener of this.listeners) listener();
      if (this.running) this.timer = setTimeout(read, EVERY_MS);
    };
    void read();
  }

  /** Read no more, and forget. */
  stop(): void {
    this.running = false;
    clearTimeout(this.timer);
    this.all.length = 0;
    this.last = undefined;
  }

  /** Take a reading. */
  take(at: number, metrics: Metrics): void {
    const now = { at, metrics };
    if (this.last) this.all.push(sample(this.last, now));
    this.last = now;
    while (this.all.length > 0 && (this.all[0]?.at ?? at) < at - KEPT_MS) this.all.shift();
  }

  /** Call this after each reading. Returns how to end that. */
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The samples of this page. */
export const samples = new Samples();
