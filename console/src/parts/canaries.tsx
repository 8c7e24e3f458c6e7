// Canaries: what they have decided, how near each figure is to its line, and the ways out.

import { useState } from "preact/hooks";
import { nearness } from "../data/backtest";
import { draftOf, rebound } from "../data/draft";
import { count, percent } from "../data/format";
import { useRole } from "../data/session";
import { words } from "../words";
import { Badge, Empty, Facts, Problem, Section, Time } from "./basics";

const w = words.rules;

/** A canary as the host tells it. Shares are in millionths. */
export type Canary = {
  step: string; rule: string; canary: string; share: number; names: string[]; units: string[];
  decided: number; failed: number; compared: number; different: number; fuelP99: number; fuelP99OfRule: number;
  failuresMax: number; driftMax?: number; fuelMax?: number; after: number;
  heldBack?: { at: number; why: string };
};

const millionths = (value: number): string => percent(value / 1e6);

/** The part of the page. */
export function Canaries({ all, release }: { all: Canary[]; release: number }) {
  return (
    <Section title={w.canaries}>
      {all.length === 0 ? (
        <Empty title={w.noCanaries} hint={w.noCandidatesHint} />
      ) : (
        <div class="cards">
          {all.map((one) => (
            <One canary={one} release={release} />
          ))}
        </div>
      )}
    </Section>
  );
}

function One({ canary, release }: { canary: Canary; release: number }) {
  const isAdmin = useRole("admin");
  const [error, setError] = useState<Error>();
  const enough = canary.compared >= canary.after;
  const drift = canary.compared > 0 ? canary.different / canary.compared : 0;
  const fuel = canary.fuelP99OfRule > 0 ? canary.fuelP99 / canary.fuelP99OfRule - 1 : 0;
  const change = (isPromoted: boolean): void => {
    const fits = (binding: { rule: string; canary?: unknown }): boolean => binding.rule === canary.rule && (binding.canary as { rule?: string } | undefined)?.rule === canary.canary;
    setError(undefined);
    draftOf(release, (content) =>
      rebound(content, canary.step, fits, (binding) => {
        const of = binding["canary"] as { settings?: unknown };
        return isPromoted ? { rule: canary.canary, canary: null, ...(of.settings !== undefined && { settings: of.settings }) } : { canary: null };
      }),
    ).catch(setError);
  };
  const only = [...canary.names, ...canary.units].join(", ");
  return (
    <article class="card canary" aria-label={`${canary.canary} ${canary.step}`}>
      <header class="section-head">
        <h3>{w.canaryOf(canary.canary, canary.rule)}</h3>
        {canary.heldBack ? <Badge tone="bad">{w.heldBack}</Badge> : <Badge tone="good">{w.runs}</Badge>}
      </header>
      <Facts
        of={[
          [w.step, canary.step],
          [w.share, `${millionths(canary.share)}${only ? `, ${w.onlyOf(only)}` : ""}`],
          [w.canaryDecided, <span class="tabular">{count(canary.decided)}</span>],
          [w.compared, <span class="tabular">{count(canary.compared)}</span>],
          [w.fuel, <span class="tabular">{`${count(canary.fuelP99)} / ${count(canary.fuelP99OfRule)}`}</span>],
        ]}
      />
      {canary.heldBack && (
        <p>
          <Time ms={canary.heldBack.at} />: {canary.heldBack.why}
        </p>
      )}
      <h4>{w.lines}</h4>
      <Line name={w.failed} figure={count(canary.failed)} line={count(canary.failuresMax)} near={nearness(canary.failed, canary.failuresMax)} />
      {canary.driftMax !== undefined && <Line name={w.drift} figure={percent(drift)} line={millionths(canary.driftMax)} near={enough ? nearness(drift, canary.driftMax / 1e6) : 0} />}
      {canary.fuelMax !== undefined && <Line name={w.moreFuel} figure={percent(Math.max(0, fuel))} line={millionths(canary.fuelMax)} near={enough ? nearness(fuel, canary.fuelMax / 1e6) : 0} />}
      {!enough && <p class="hint">{w.notEnough(count(canary.compared), count(canary.after))}</p>}
      {isAdmin && (
        <div class="tools">
          {!canary.heldBack && (
            <button type="button" onClick={() => change(true)}>
              {w.promote}
            </button>
          )}
          <button type="button" onClick={() => change(false)}>
            {w.endCanary}
          </button>
          <small>{w.opensDraft}</small>
        </div>
      )}
      {error && <Problem error={error} />}
    </article>
  );
}

/** A figure beside the line at which the canary is held back. */
function Line({ name, figure, line, near }: { name: string; figure: string; line: string; near: number }) {
  const tone = near >= 1 ? "bad" : near >= 0.7 ? "warn" : "";
  return (
    <div class="hold-line">
      <span>{name}</span>
      <span class="tabular">{w.ofLine(figure, line)}</span>
      <div class={`meter ${tone}`} role="meter" aria-label={name} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(Math.min(1, near) * 100)} aria-valuetext={w.ofLine(figure, line)}>
        <i style={{ width: `${Math.min(1, near) * 100}%` }} />
      </div>
    </div>
  );
}
