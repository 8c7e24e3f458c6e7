// The host's metrics: OpenMetrics text, and what follows from two readings of it.

/** Labels of one number. */
export type Labels = Record<string, string>;

/** All numbers of a reading, by name. */
export type Metrics = Map<string, { labels: Labels; value: number }[]>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** Reads OpenMetrics text. Lines that are none are left out. */
export function parse(text: string): Metrics {
  const metrics: Metrics = new Map();
  for (const line of text.split("\n")) {
    if (line.startsWith("#")) continue;
    const found = LINE.exec(line);
    if (!found) continue;
    const [, name = "", inner, number] = found;
    const labels: Labels = {};
    for (const [, key = "", value = ""] of (inner ?? "").matchAll(LABEL)) {
      labels[key] = value.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
    }
    const all = metrics.get(name) ?? [];
    all.push({ labels, value: Number(number) });
    metrics.set(name, all);
  }
  return metrics;
}

/** The sum of a metric's numbers with these labels. */
export function sum(metrics: Metrics, name: string, labels: Labels = {}): number {
  const wanted = Object.entries(labels);
  const all = metrics.get(name) ?? [];
  const fitting = all.filter((one) => wanted.every(([key, value]) => one.labels[key] === value));
  return fitting.reduce((total, one) => total + one.value, 0);
}

/** Counts by the upper bounds of buckets, each with those below it. */
export type Histogram = { bound: number; total: number }[];

/** The histogram of a metric. */
export function histogram(metrics: Metrics, name: string): Histogram {
  const all = metrics.get(`${name}_bucket`) ?? [];
  const buckets = all.map(({ labels, value }) => ({
    bound: labels["le"] === "+Inf" ? Infinity : Number(labels["le"]),
    total: value,
  }));
  return buckets.sort((a, b) => a.bound - b.bound);
}

/** What came between two readings of a histogram. All of the later one if the host has started anew. */
export function between(earlier: Histogram, later: Histogram): Histogram {
  const last = (h: Histogram): number => h[h.length - 1]?.total ?? 0;
  if (earlier.length !== later.length || last(earlier) > last(later)) return later;
  return later.map(({ bound, total }, at) => ({ bound, total: total - (earlier[at]?.total ?? 0) }));
}

/** A quantile, with equal steps within a bucket. NaN if there is nothing. */
export function quantile(histogram: Histogram, share: number): number {
  const all = histogram[histogram.length - 1]?.total ?? 0;
  if (all <= 0) return NaN;
  const rank = share * all;
  let bound = 0;
  let below = 0;
  for (const bucket of histogram) {
    if (bucket.total >= rank && bucket.total > below) {
      if (bucket.bound === Infinity) return bound;
      return bound + ((bucket.bound - bound) * (rank - below)) / (bucket.total - below);
    }
    bound = bucket.bound;
    below = bucket.total;
  }
  return bound;
}

/** A quantile of plain numbers. NaN if there are none. */
export function quantileOf(values: number[], share: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1);
  return sorted[Math.max(0, at)] ?? NaN;
}
