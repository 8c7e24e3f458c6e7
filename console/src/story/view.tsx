// The sequence diagram on the page: every arrow is a button.

import { words } from "../words";
import type { Diagram, Mark } from "./diagram";

const w = words.story;

/** The line of the grid in the middle of a lane. The first column has the time. */
const middle = (lane: number): number => 2 * lane + 3;

function columns(mark: Mark): string {
  const [first, last] = mark.from < mark.to ? [mark.from, mark.to] : [mark.to, mark.from];
  if (first === last) return `${middle(first) - 1} / ${middle(first) + 1}`;
  return `${middle(first)} / ${middle(last)}`;
}

/** The diagram. */
export function DiagramView(props: { of: Diagram; chosen: number | undefined; choose: (mark: number) => void }) {
  const { lanes, marks } = props.of;
  const grid = { gridTemplateColumns: `3.75rem repeat(${lanes.length * 2}, minmax(0, 1fr))` };
  const wide = { minWidth: `${3.75 + lanes.length * 8.2}rem` };
  let before: number | undefined;
  return (
    <div class="scroll diagram-scroll" tabIndex={0} role="region" aria-label={w.diagram}>
      <div class="diagram" style={wide}>
        <div class="lanes" style={grid}>
          <span class="time-head">{w.time}</span>
          {lanes.map((lane, index) => (
            <span class={`lane ${lane.kind}`} style={{ gridColumn: `${middle(index) - 1} / ${middle(index) + 1}` }} title={lane.name}>
              {lane.name}
            </span>
          ))}
        </div>
        <ol class="marks">
          <li class="lifelines" style={grid} aria-hidden="true">
            {lanes.map((_, index) => (
              <i style={{ gridColumn: `${middle(index) - 1}` }} />
            ))}
          </li>
          {marks.map((mark, place) => {
            const time = mark.ms === before ? "" : String(mark.ms);
            before = mark.ms;
            const from = lanes[mark.from]?.name ?? "";
            const to = lanes[mark.to]?.name ?? "";
            const direction = mark.from === mark.to ? "" : mark.from < mark.to ? "right" : "left";
            const isChosen = props.chosen === place;
            return (
              <li class="row" style={grid}>
                <span class="ms tabular">{time}</span>
                <button
                  type="button"
                  class={`mark ${mark.what} ${direction} ${mark.tone} ${isChosen ? "chosen" : ""}`}
                  style={{ gridColumn: columns(mark) }}
                  aria-pressed={isChosen}
                  aria-label={w.arrow(from, to, mark.label, String(mark.ms))}
                  title={mark.label}
                  onClick={() => props.choose(place)}
                >
                  <span>{mark.label}</span>
                </button>
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}
