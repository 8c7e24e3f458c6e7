// Tables. Long ones draw only the rows that are seen.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count as amount } from "../data/format";

/** A column: its head, and a row's cell. Numbers stand at the right. A quiet head is only for screen readers. */
export type Column<T> = { head: string; cell: (row: T) => ComponentChildren; number?: boolean; wide?: boolean; quiet?: boolean };

function heads<T>(columns: Column<T>[]) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th scope="col" class={column.number ? "number" : ""}>
            {column.quiet ? <span class="hidden">{column.head}</span> : column.head}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function cells<T>(columns: Column<T>[], row: T) {
  return columns.map((column) => (
    <td class={`${column.number ? "number" : ""} ${column.wide ? "wide" : ""}`}>{column.cell(row)}</td>
  ));
}

/** A table of all its rows. */
export function Table<T>(props: { label: string; columns: Column<T>[]; rows: T[]; foot?: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={props.label}>
      <table>
        {heads(props.columns)}
        <tbody>
          {props.rows.map((row) => (
            <tr>{cells(props.columns, row)}</tr>
          ))}
        </tbody>
        {props.foot && <tfoot>{props.foot}</tfoot>}
      </table>
    </div>
  );
}

/** The height of a row of a long table, which its style has too. */
const ROW = 36;
/** How many rows are drawn above and below those that are seen. */
const BEYOND = 12;

/** The row to which a key leads from this one; none if the key leads nowhere. A page is what is seen, less one row. */
export function rowAfter(key: string, row: number, page: number, count: number): number | undefined {
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const step = steps[key];
  return step === undefined ? undefined : Math.max(0, Math.min(count - 1, row + step));
}

/** Whether a key belongs to what has the focus, such as the text of a field. */
function takesKeys(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, select, textarea, dialog") !== null;
}

/**
 * A table of many rows, of which those that are seen are drawn. With the arrows, Page Up, Page Down, Home and End the focus goes
 * from row to row; Enter follows the row's first link.
 */
export function LongTable<T>(props: { label: string; columns: Column<T>[]; rows: T[] }) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [chosen, setActive] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const wantsFocus = useRef(false);
  const count = props.rows.length;
  const active = Math.max(0, Math.min(chosen, count - 1));
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const focusActive = (at: number): void => {
    if (!wantsFocus.current) return;
    const row = box.current?.querySelector<HTMLElement>(`tr[aria-rowindex="${at + 2}"]`);
    if (!row) return;
    wantsFocus.current = false;
    row.focus({ preventScroll: true });
  };
  // A row that was not drawn when its key came.
  useLayoutEffect(() => focusActive(active));
  const page = Math.max(1, Math.floor(height / ROW) - 2);
  const move = (event: KeyboardEvent): void => {
    if (takesKeys(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    const element = box.current;
    if (event.key === "Enter" && event.target instanceof HTMLTableRowElement) {
      event.target.querySelector("a")?.click();
      return;
    }
    // Before the first row was reached, a key leads to a row that is seen.
    const isAtRow = event.target instanceof Element && event.target.closest("tbody tr") !== null;
    const from = isAtRow ? active : Math.ceil(top / ROW) - (event.key === "ArrowDown" ? 1 : 0);
    const next = rowAfter(event.key, from, page, count);
    if (next === undefined || !element || count === 0) return;
    event.preventDefault();
    wantsFocus.current = true;
    setActive(next);
    // The head covers the first row of what is seen.
    const above = next * ROW;
    const below = (next + 2) * ROW - element.clientHeight;
    if (element.scrollTop > above) element.scrollTop = above;
    else if (element.scrollTop < below) element.scrollTop = below;
    setTop(element.scrollTop);
    focusActive(next);
  };
  const drawn = (from: number): [number, number] => [
    Math.max(0, Math.min(Math.floor(from / ROW) - BEYOND, count - 1)),
    Math.min(count, Math.ceil((from + height) / ROW) + BEYOND),
  ];
  const scrolled = (element: HTMLElement): void => {
    const [first, last] = drawn(element.scrollTop);
    const row = document.activeElement?.closest("tbody tr");
    // A row that is not drawn any more cannot keep the focus.
    if (row && element.contains(row) && (active < first || active >= last)) element.focus({ preventScroll: true });
    setTop(element.scrollTop);
  };
  const [first, last] = drawn(top);
  const seen = props.rows.slice(first, last);
  const space = (rows: number) => rows > 0 && <tr class="space" aria-hidden="true" style={{ height: `${rows * ROW}px` }} />;
  return (
    <div
      class="scroll long"
      tabIndex={0}
      role="region"
      aria-label={`${props.label}: ${amount(count)}`}
      ref={box}
      onScroll={(event) => scrolled(event.currentTarget)}
      onKeyDown={move}
    >
      <table aria-rowcount={count + 1}>
        {heads(props.columns)}
        <tbody>
          {space(first)}
          {seen.map((row, at) => (
            <tr key={first + at} aria-rowindex={first + at + 2} tabIndex={-1} onFocus={() => setActive(first + at)}>
              {cells(props.columns, row)}
            </tr>
          ))}
          {space(count - last)}
        </tbody>
      </table>
    </div>
  );
}
