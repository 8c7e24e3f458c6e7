// Figures over time: what the host remembers, and what it tells since.

/** What a figure is of. */
export type Series = { name: string; labels?: Record<string, string> };

/** A figure at one time. */
export type Figure = Series & { value: number };

/** Figures over time, as the host sends them. */
export type Told = {
  from: string;
  everyMs: number;
  longer: boolean;
  at: number[];
  series: (Series & { values: (number | null)[] })[];
  leftOut: number;
};

/** Whether a figure has these labels. */
function has(series: Series, labels: Record<string, string>): boolean {
  return Object.entries(labels).every(([name, value]) => series.labels?.[name] === value);
}

/** Figures that are the growth of a counter. Before a counter is there, it has counted nothing. */
const RATES = ["requests", "verdicts", "deliveries"];

const keyOf = (series: Series): string => JSON.stringify([series.name, ...Object.entries(series.labels ?? {}).sort()]);

/** Figures over time, to which new ones are added. All lines are as long as `at`. NaN is what nobody knows. */
export class Course {
  at: number[] = [];
  everyMs = 20_000;
  longer = false;
  from = "memory";
  private lines = new Map<string, { series: Series; values: number[] }>();
  /** How many figures the newest point is the mean of; 0 for a point that is closed. */
  private inLast = 0;

  /** Begin with what the host remembers, as far as it is no older than this time. */
  begin(told: Told, keptMs: number): void {
    const oldest = (told.at.at(-1) ?? 0) - keptMs;
    const first = told.at.findIndex((time) => time >= oldest);
    this.at = told.at.slice(Math.max(0, first));
    this.everyMs = told.everyMs;
    this.longer = told.longer;
    this.from = told.from;
    this.inLast = 0;
    this.lines.clear();
    for (const { values, ...series } of told.series) {
      this.lines.set(keyOf(series), { series, values: values.slice(Math.max(0, first)).map((value) => value ?? NaN) });
    }
  }

  /** Add figures. Those of one point are put together, and points older than this time are forgotten. */
  add(at: number, figures: Figure[], keptMs: number): void {
    const last = this.at.at(-1);
    if (last !== undefined && at <= last) return;
    const begun = last === undefined || this.inLast === 0 || at - last >= this.everyMs;
    if (begun) {
      this.at.push(at);
      for (const line of this.lines.values()) line.values.push(NaN);
      this.inLast = 0;
    }
    const point = this.at.length - 1;
    for (const { value, ...series } of figures) {
      const key = keyOf(series);
      let line = this.lines.get(key);
      if (line === undefined) {
        line = { series, values: new Array<number>(point + 1).fill(NaN) };
        if (RATES.includes(series.name)) line.values[point] = 0;
        this.lines.set(key, line);
      }
      const before = line.values[point] ?? NaN;
      line.values[point] = Number.isNaN(before) ? value : before + (value - before) / (this.inLast + 1);
    }
    this.inLast += 1;
    const old = this.at.findIndex((time) => time >= at - keptMs);
    if (old > 0) {
      this.at.splice(0, old);
      for (const line of this.lines.values()) line.values.splice(0, old);
    }
  }

  /** All figures of a name with these labels. */
  all(name: string, labels: Record<string, string> = {}): { labels: Record<string, string>; values: number[] }[] {
    const found = [...this.lines.values()].filter(({ series }) => series.name === name && has(series, labels));
    return found.map(({ series, values }) => ({ labels: series.labels ?? {}, values }));
  }

  /** The sum of all figures of a name with these labels, at each point. */
  sum(name: string, labels: Record<string, string> = {}): number[] {
    const found = this.all(name, labels);
    return this.at.map((_, point) => {
      const known = found.map((line) => line.values[point] ?? NaN).filter((value) => !Number.isNaN(value));
      return known.length === 0 ? NaN : known.reduce((total, value) => total + value, 0);
    });
  }
}

/** The last value that is known. */
export function lastOf(values: number[]): number {
  for (let at = values.length - 1; at >= 0; at -= 1) {
    const value = values[at];
    if (value !== undefined && !Number.isNaN(value)) return value;
  }
  return NaN;
}

/** The mean of those that are known. */
export function meanOf(values: number[]): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length === 0 ? NaN : known.reduce((total, value) => total + value, 0) / known.length;
}

/** A quantile of plain numbers. NaN if there are none. */
export function quantileOf(values: number[], share: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1);
  return sorted[Math.max(0, at)] ?? NaN;
}
