// Curves over time, as SVG that fills its place.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock } from "../data/format";
import { words } from "../words";

/** A curve: its name and its values, the oldest first. A value that is no number leaves a gap. */
export type Curve = { name: string; values: number[] };

const HEIGHT = 132;
const FOOT = 18;
const TOP = 8;

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

/** Curves with one scale, and their values at the pointer, or the last ones. */
export function Chart(props: { label: string; times: number[]; curves: Curve[]; unit: (value: number) => string }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(320);
  const [at, setAt] = useState<number>();
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(Math.max(160, element.clientWidth)));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const { times, curves } = props;
  const last = times.length - 1;
  const most = Math.max(0, ...curves.flatMap((curve) => curve.values.filter(Number.isFinite)));
  const bound = niceBound(most);
  const first = times[0] ?? 0;
  const span = Math.max(1, (times[last] ?? 1) - first);
  const x = (index: number): number => (((times[index] ?? first) - first) / span) * (width - 2) + 1;
  const y = (value: number): number => TOP + (HEIGHT - FOOT - TOP) * (1 - value / bound);
  const shown = at !== undefined && at <= last ? at : last;
  const move = (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
    const share = (event.clientX - event.currentTarget.getBoundingClientRect().left) / width;
    const wanted = first + share * span;
    const found = times.findIndex((time) => time >= wanted);
    setAt(found === -1 ? last : found);
  };
  const main = curves[0];
  const label = main ? words.live.chart(props.label, props.unit(main.values[last] ?? NaN), props.unit(most)) : props.label;
  return (
    <div class="chart" ref={box}>
      <p class="legend">
        {curves.map((curve, index) => (
          <span class={`key c${index}`}>
            <i aria-hidden="true" />
            {curve.name} <b class="tabular">{props.unit(curve.values[shown] ?? NaN)}</b>
          </span>
        ))}
        {at !== undefined && times[shown] !== undefined && <span class="tabular when">{clock(times[shown])}</span>}
      </p>
      {times.length < 2 ? (
        <p class="chart-empty hint">{words.live.chartEmpty}</p>
      ) : (
        <svg role="img" aria-label={label} width={width} height={HEIGHT} onPointerMove={move} onPointerLeave={() => setAt(undefined)}>
          {[0, 0.5, 1].map((share) => (
            <g>
              <line class="grid" x1={0} x2={width} y1={y(bound * share)} y2={y(bound * share)} />
              {share > 0 && (
                <text class="tick" x={2} y={y(bound * share) + 12}>
                  {props.unit(bound * share)}
                </text>
              )}
            </g>
          ))}
          {curves.map((curve, index) => (
            <path class={`curve c${index}`} d={path(curve.values, x, y)} />
          ))}
          {at !== undefined && <line class="pointer" x1={x(shown)} x2={x(shown)} y1={TOP} y2={HEIGHT - FOOT} />}
          <text class="tick" x={1} y={HEIGHT - 4}>
            {clock(first)}
          </text>
          <text class="tick end" x={width - 1} y={HEIGHT - 4}>
            {clock(times[last] ?? 0)}
          </text>
        </svg>
      )}
    </div>
  );
}
