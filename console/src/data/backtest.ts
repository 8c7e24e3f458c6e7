// Backtests: jobs of the host, and their reports, which shadows have too.

/** What a step decided about a request. */
export type Decision = { outcome: "allow" } | { outcome: "refuse"; rule: string; code: string } | { outcome: "failed"; rule: string };

/** How many requests, how much, and which are the earliest. */
export type Sum = { requests: number; amounts: string[]; examples: Example[] };

/** A single input, by a receipt of it. */
export type Example = { receipt: number; subject: string };

/** Requests that are decided otherwise, and what they have in common. */
export type Group = Sum & {
  step?: string;
  before?: Decision;
  after?: Decision;
  payer?: string;
  payee?: string;
  participant?: string;
  currency?: string;
  digits?: number;
};

type Percentiles = { verdicts: number; p50: number; p99: number; max: number };

/** A report. */
export type Report = {
  candidate: string;
  rules: { name: string; version: string; digest: string }[];
  since: number;
  until: number;
  asOf: number;
  step?: string;
  participant?: string;
  currency?: string;
  requests: number;
  verdicts: number;
  different: number;
  byChange: Group[];
  byCorridor: Group[];
  byParticipant: Group[];
  byBand: Group[];
  groups: Group[];
  ungrouped?: Sum;
  failures: (Sum & { step: string; rule: string; reason: string; hasNoVerdict: boolean })[];
  misfits: (Sum & { step: string; reason: string })[];
  uncounted?: (Sum & { step: string; reason: string })[];
  unread: { sealed: number; quarantined: number; unreadable: number; archives: string[] };
  fuel: { step: string; rule: string; before: Percentiles; after: Percentiles }[];
  dearest: (Example & { fuel: number; step: string; rule: string })[];
};

/** A backtest as the host tells it. */
export type Job = {
  id: number;
  person: string;
  of: string;
  state: "RUNNING" | "DONE" | "CANCELLED" | "FAILED";
  begun: number;
  ended?: number;
  since: number;
  until: number;
  step?: string;
  participant?: string;
  currency?: string;
  verdicts: number;
  at?: number;
  error?: string;
  report?: Report;
};

/** How far a backtest is, as a share: it reads receipts by their time. None before the first. */
export function progress(job: Job): number | undefined {
  if (job.at === undefined) return undefined;
  return Math.min(1, Math.max(0, (job.at - job.since) / Math.max(1, job.until - job.since)));
}

/** How much more the candidate needs, as a share; none without an earlier figure. */
export function more(before: number, after: number): number | undefined {
  return before > 0 ? after / before - 1 : undefined;
}

/** A canary or shadow line: how near a figure is to it, from 0 to 1 and beyond. */
export function nearness(figure: number, line: number): number {
  if (line <= 0) return figure > 0 ? 1 : 0;
  return Math.max(0, figure / line);
}
