// Curves over time, as SVG that fills its place. All charts of a page show the same instant under the pointer.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock, instant } from "../data/format";
import { words } from "../words";

/** A curve: its name and its values, the oldest first. A value that is no number leaves a gap. */
export type Curve = { name: string; values: number[] };

const HEIGHT = 150;
const FOOT = 18;
const TOP = 8;
/** The room of the scale, at the left. */
const SCALE = 48;
/** The widest time of which hours are enough. */
const DAY_MS = 24 * 3600 * 1000;

/** A bound of the scale that is 1, 2, 2.5 or 5 times a power of ten. */
export function niceBound(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 2.5, 5, 10];
  return (steps.find((step) => step * power >= value) ?? 10) * power;
}

/** The path of a curve. */
export function path(values: number[], x: (at: number) => number, y: (value: number) => number): string {
  let text = "";
  let pen = false;
  values.forEach((value, at) => {
    if (!Number.isFinite(value)) {
      pen = false;
      return;
    }
    text += `${pen ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    pen = true;
  });
  return text;
}

/** The instant under the pointer, for all charts. */
const pointed = { time: undefined as number | undefined, charts: new Set<(time: number | undefined) => void>() };

function point(time: number | undefined): void {
  pointed.time = time;
  for (const chart of pointed.charts) chart(time);
}

function usePointed(): number | undefined {
  const [time, setTime] = useState(pointed.time);
  useEffect(() => {
    pointed.charts.add(setTime);
    return () => {
      pointed.charts.delete(setTime);
    };
  }, []);
  return time;
}

/** The place of the time that is nearest. */
export function nearest(times: number[], wanted: number): number {
  const after = times.findIndex((time) => time >= wanted);
  if (after === -1) return times.length - 1;
  const before = Math.max(0, after - 1);
  return wanted - (times[before] ?? 0) < (times[after] ?? 0) - wanted ? before : after;
}

/** A round number without the zeros behind its point. */
export function tick(text: string): string {
  return text.replace(/\.(\d*?)0+(?=\D|$)/, (_, kept: string) => (kept ? `.${kept}` : ""));
}

/** Curves with one scale, and their values at the pointer, or the last ones. `from` and `to` are the ends of the time that is shown. */
export function Chart(props: { label: string; times: number[]; curves: Curve[]; unit: (value: number) => string; from?: number | undefined; to?: number | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  const time = usePointed();
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.max(160, element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const { times, curves } = props;
  const last = times.length - 1;
  const first = props.from ?? times[0] ?? 0;
  const end = props.to ?? times[last] ?? 1;
  const span = Math.max(1, end - first);
  const most = Math.max(0, ...curves.flatMap((curve) => curve.values.filter(Number.isFinite)));
  const bound = niceBound(most);
  const x = (index: number): number => (((times[index] ?? first) - first) / span) * (width - SCALE - 2) + SCALE;
  const y = (value: number): number => TOP + (HEIGHT - FOOT - TOP) * (1 - value / bound);
  const shown = time === undefined ? last : nearest(times, time);
  const move = (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
    const share = (event.clientX - event.currentTarget.getBoundingClientRect().left - SCALE) / (width - SCALE - 2);
    point(first + Math.min(1, Math.max(0, share)) * span);
  };
  const main = curves[0];
  const label = main ? words.live.chart(props.label, props.unit(main.values[last] ?? NaN), props.unit(most)) : props.label;
  const when = (ms: number): string => (span > DAY_MS ? instant(ms).slice(5, 16) : clock(ms).slice(0, span > 1_200_000 ? 5 : 8));
  return (
    <div class="chart" ref={box}>
      <p class="legend">
        {curves.map((curve, index) => (
          <span class={`key c${index}`} key={curve.name}>
            <i aria-hidden="true" />
            {curve.name} <b class="tabular">{props.unit(curve.values[shown] ?? NaN)}</b>
          </span>
        ))}
        {time !== undefined && times[shown] !== undefined && <span class="tabular when">{span > DAY_MS ? instant(times[shown]) : clock(times[shown])}</span>}
      </p>
      {times.length < 2 ? (
        <p class="chart-empty hint">{words.live.chartEmpty}</p>
      ) : (
        <svg role="img" aria-label={label} width={width} height={HEIGHT} onPointerMove={move} onPointerLeave={() => point(undefined)}>
          {[0, 0.5, 1].map((share) => (
            <g key={share}>
              <line class="grid" x1={SCALE} x2={width} y1={y(bound * share)} y2={y(bound * share)} />
              <text class="tick end" x={SCALE - 6} y={y(bound * share) + 4}>
                {share === 0 ? "0" : tick(props.unit(bound * share))}
              </text>
            </g>
          ))}
          {curves.map((curve, index) => (
            <path class={`curve c${index}`} key={curve.name} d={path(curve.values, x, y)} />
          ))}
          {time !== undefined && <line class="pointer" x1={x(shown)} x2={x(shown)} y1={TOP} y2={HEIGHT - FOOT} />}
          <text class="tick" x={SCALE} y={HEIGHT - 4}>
            {when(first)}
          </text>
          <text class="tick middle" x={(SCALE + width) / 2} y={HEIGHT - 4}>
            {when(first + span / 2)}
          </text>
          <text class="tick end" x={width - 1} y={HEIGHT - 4}>
            {when(end)}
          </text>
        </svg>
      )}
    </div>
  );
}
