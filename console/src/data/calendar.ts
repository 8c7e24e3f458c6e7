// What is ahead: releases that come into force, and rules that begin, end or get other settings.

import { bound } from "./bound";
import type { Release, ShownRelease } from "./kinds";

/** What happens at an instant. */
export type Ahead =
  | { at: number; kind: "release"; release: number; note: string }
  | { at: number; kind: "begins" | "ends"; rule: string; step: string }
  | { at: number; kind: "setting" | "setting-ends"; rule: string; step: string; setting: string; value: unknown };

/** Whether a release comes into force later. */
export function comesLater(release: Release): boolean {
  return release.scheduled !== undefined && release.scheduled.withdrawnBy === undefined && !release.wasCurrent;
}

const instant = (value: unknown): number => (typeof value === "string" ? Date.parse(value) : value instanceof Date ? value.getTime() : NaN);

/** All that is ahead of an instant, the next first. */
export function calendar(releases: Release[], current: ShownRelease | undefined, now: number): Ahead[] {
  const all: Ahead[] = releases.filter(comesLater).map((one) => ({ at: one.scheduled?.from ?? 0, kind: "release", release: one.number, note: one.note }));
  for (const one of current ? bound(current) : []) {
    const of = { rule: one.rule, step: one.step };
    all.push({ at: instant(one.from), kind: "begins", ...of }, { at: instant(one.until), kind: "ends", ...of });
    const changes = Array.isArray(one.more["changes"]) ? (one.more["changes"] as Record<string, unknown>[]) : [];
    for (const change of changes) {
      const setting = { ...of, setting: String(change["setting"]), value: change["value"] };
      all.push({ at: instant(change["effective-from"]), kind: "setting", ...setting }, { at: instant(change["effective-until"]), kind: "setting-ends", ...setting });
    }
  }
  return all.filter((one) => one.at > now).sort((a, b) => a.at - b.at);
}
