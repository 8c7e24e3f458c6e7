// The wiring of a release: as a picture for who sees it, and as tables with the same facts.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import type { Release } from "../data/kinds";
import type { Placed } from "../data/layout";
import { link } from "../data/router";
import { curve, type Link, type LinkKind, ofStep, picture, type Wiring } from "../data/wiring";
import { Badge, Digest, Empty, Head, Section, Shown, Time } from "../parts/basics";
import { Table } from "../parts/table";
import { words } from "../words";

const w = words.wiring;

async function load(number: string | undefined, signal: AbortSignal): Promise<Wiring> {
  const of = number ?? String((await get<Release[]>("/releases", { signal })).find((one) => one.current)?.number ?? 0);
  return get<Wiring>(`/releases/${encodeURIComponent(of)}/wiring`, { signal });
}

/** The page: of the current release, or of another one. */
export function WiringPage({ number }: { number: string | undefined }) {
  const asked = useAsk(`wiring ${number ?? ""}`, (signal) => load(number, signal));
  return (
    <>
      <Head title={w.title} hint={asked.data && words.releases.one(asked.data.release)} at={asked.at}>
        <a href={link("rules")}>{words.rules.title}</a>
      </Head>
      <Shown of={asked}>{(wiring) => <Whole wiring={wiring} />}</Shown>
    </>
  );
}

/** What the picture can show. */
const KINDS: LinkKind[] = ["call", "event", "step", "secrets", "counters"];

function Whole({ wiring }: { wiring: Wiring }) {
  const [kinds, setKinds] = useState<LinkKind[]>(["call", "step"]);
  const [chosen, setChosen] = useState<string>();
  const there = KINDS.filter((kind) => wiring.links.some((one) => one.kind === kind));
  const shown = wiring.links.filter((one) => kinds.includes(one.kind) && (chosen === undefined || one.from === chosen || name(one) === chosen));
  return (
    <>
      <Section title={w.picture} hint={w.pictureHint}>
        <div class="filters">
          <fieldset class="checks-of-kinds">
            <legend class="hidden">{w.kinds}</legend>
            {there.map((kind) => (
              <label class={`check kind-${kind}`}>
                <input
                  type="checkbox"
                  name={`show-${kind}`}
                  checked={kinds.includes(kind)}
                  onChange={() => setKinds(kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind])}
                />
                <i aria-hidden="true" /> {w.kindNames[kind]}
              </label>
            ))}
          </fieldset>
          <label class="field">
            <span>{w.only}</span>
            <select name="only" value={chosen ?? ""} onChange={(event) => setChosen(event.currentTarget.value || undefined)}>
              <option value="">{w.all}</option>
              {wiring.contexts.map((one) => (
                <option value={one.name}>{one.name}</option>
              ))}
              {wiring.steps.map((one) => (
                <option value={ofStep(one.step)}>{one.step}</option>
              ))}
            </select>
          </label>
        </div>
        <Picture wiring={wiring} kinds={kinds} chosen={chosen} choose={(id) => setChosen(id === chosen ? undefined : id)} />
      </Section>
      <Steps wiring={wiring} />
      <Section title={w.links} hint={w.linksHint}>
        <Table
          label={w.links}
          rows={shown}
          columns={[
            { head: w.from, cell: (one) => one.from },
            { head: w.kind, cell: (one) => <Badge tone="quiet">{w.kindOf[one.kind]}</Badge> },
            { head: w.to, cell: (one) => one.to },
            { head: w.interface, cell: (one) => <code>{one.interface}</code>, wide: true },
          ]}
        />
      </Section>
      <Section title={w.components}>
        <Table
          label={w.components}
          rows={wiring.contexts}
          columns={[
            { head: w.component, cell: (one) => one.name },
            { head: w.listener, cell: (one) => one.listener ?? words.none },
            { head: words.table.digest, cell: (one) => <Digest text={one.digest} /> },
            { head: w.host, cell: (one) => one.host.join(", ") || words.none, wide: true },
          ]}
        />
      </Section>
      {(wiring.unheard ?? []).length > 0 && (
        <Section title={w.unheard} hint={w.unheardHint}>
          <ul class="plain">
            {wiring.unheard?.map((one) => (
              <li>
                {one.component}: <code>{one.interface}</code>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

/** The box to which a link leads. */
const name = (one: Link): string => (one.kind === "step" || one.kind === "counters" ? ofStep(one.to) : one.to);

function Steps({ wiring }: { wiring: Wiring }) {
  const versions = new Map(wiring.rules.map((one) => [one.name, one]));
  const rows = wiring.steps.flatMap(({ step, rules }) => rules.map((rule, at) => ({ step, at, ...rule, of: versions.get(rule.rule) })));
  const askers = (step: string): string => [...new Set(wiring.links.filter((one) => one.kind === "step" && one.to === step).map((one) => one.from))].join(", ");
  return (
    <Section title={w.steps}>
      {rows.length === 0 ? (
        <Empty title={words.rules.empty} hint={words.rules.emptyHint} />
      ) : (
        <Table
          label={w.steps}
          rows={rows}
          columns={[
            { head: words.rules.step, cell: (one) => (one.at === 0 ? <strong>{one.step}</strong> : "") },
            { head: w.askedBy, cell: (one) => (one.at === 0 ? askers(one.step) || words.none : "") },
            { head: words.rules.order, number: true, cell: (one) => one.at + 1 },
            { head: words.rules.rule, cell: (one) => one.rule },
            { head: w.version, cell: (one) => one.of?.version ?? words.none },
            { head: w.candidates, cell: (one) => [one.canary && w.canary(one.canary), one.shadow && w.shadow(one.shadow)].filter(Boolean).join(", ") || words.none },
            { head: words.rules.since, cell: (one) => <Time ms={one.effectiveFrom} /> },
            { head: words.rules.until, cell: (one) => <Time ms={one.effectiveUntil} /> },
          ]}
        />
      )}
    </Section>
  );
}

/** The least and the largest size, and a step between two. */
const [LEAST, MOST, STEP] = [0.15, 3, 1.25];

function Picture({ wiring, kinds, chosen, choose }: { wiring: Wiring; kinds: LinkKind[]; chosen: string | undefined; choose: (id: string) => void }) {
  const [placed, setPlaced] = useState<Placed>();
  const [zoom, setZoom] = useState<number>();
  const [width, setWidth] = useState(1000);
  const frame = useRef<HTMLDivElement>(null);
  const { boxes, arrows } = useMemo(() => picture(wiring, kinds), [wiring, kinds]);
  useEffect(() => {
    let isLatest = true;
    void import("../data/layout").then((library) => isLatest && setPlaced(library.placed(boxes, arrows)));
    return () => {
      isLatest = false;
    };
  }, [boxes, arrows]);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const fitting = placed ? Math.max(LEAST, Math.min(1, (width - 2) / placed.width)) : 1;
  const now = zoom ?? fitting;
  const to = (next: number): void => setZoom(Math.max(LEAST, Math.min(MOST, next)));
  const isNear = (one: { from: string; to: string }): boolean => chosen === undefined || one.from === chosen || one.to === chosen;
  const near = new Set((placed?.arrows ?? []).filter(isNear).flatMap((one) => [one.from, one.to]));
  return (
    <div class="graph">
      <div class="graph-tools">
        <button type="button" aria-label={w.smaller} title={w.smaller} onClick={() => to(now / STEP)}>
          −
        </button>
        <button type="button" aria-label={w.larger} title={w.larger} onClick={() => to(now * STEP)}>
          +
        </button>
        <button type="button" onClick={() => setZoom(undefined)}>
          {w.fit}
        </button>
        <span class="hint tabular" role="status">
          {Math.round(now * 100)} %
        </span>
      </div>
      <div
        class="scroll graph-scroll"
        ref={frame}
        tabIndex={0}
        role="region"
        aria-label={w.pictureLabel}
        onWheel={(event) => {
          if (!event.ctrlKey) return;
          event.preventDefault();
          to(now * (event.deltaY < 0 ? STEP : 1 / STEP));
        }}
      >
        {!placed && (
          <p class="loading" role="status">
            {words.state.loading} …
          </p>
        )}
        {placed && (
          <svg width={placed.width * now} height={placed.height * now} viewBox={`${placed.left} ${placed.top} ${placed.width} ${placed.height}`} aria-hidden="true">
            <defs>
              {KINDS.map((kind) => (
                <marker id={`end-${kind}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
                  <path class={`arrow-end kind-${kind}`} d="M0 0 8 4 0 8z" />
                </marker>
              ))}
            </defs>
            {placed.arrows.map((arrow) => (
              <path class={`arrow kind-${arrow.kind} ${isNear(arrow) ? "" : "far"}`} d={curve(arrow.points)} marker-end={`url(#end-${arrow.kind})`}>
                <title>{`${arrow.from} → ${arrow.to}: ${arrow.interfaces.join(", ")}`}</title>
              </path>
            ))}
            {placed.boxes.map((box) => (
              <g
                class={`box ${box.kind} ${box.id === chosen ? "chosen" : ""} ${chosen === undefined || near.has(box.id) || box.id === chosen ? "" : "far"}`}
                transform={`translate(${box.x - box.width / 2} ${box.y - box.height / 2})`}
                onClick={() => choose(box.id)}
              >
                <rect width={box.width} height={box.height} rx={box.kind === "step" ? 14 : 6} />
                {box.lines.map((line, at) => (
                  <text class={at === 0 ? "first" : ""} x={box.kind === "step" && at > 0 ? 14 : box.width / 2} y={20 + at * 19} text-anchor={box.kind === "step" && at > 0 ? "start" : "middle"}>
                    {line}
                  </text>
                ))}
              </g>
            ))}
          </svg>
        )}
      </div>
    </div>
  );
}
