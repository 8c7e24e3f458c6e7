// Tables. Long ones draw only the rows that are seen.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../data/format";

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

/** A table of many rows, of which those that are seen are drawn. */
export function LongTable<T>(props: { label: string; columns: Column<T>[]; rows: T[] }) {
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setHeight(element.clientHeight));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const first = Math.max(0, Math.min(Math.floor(top / ROW) - BEYOND, props.rows.length - 1));
  const last = Math.min(props.rows.length, Math.ceil((top + height) / ROW) + BEYOND);
  const seen = props.rows.slice(first, last);
  const space = (rows: number) => rows > 0 && <tr class="space" aria-hidden="true" style={{ height: `${rows * ROW}px` }} />;
  return (
    <div
      class="scroll long"
      tabIndex={0}
      role="region"
      aria-label={`${props.label}: ${count(props.rows.length)}`}
      ref={box}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <table aria-rowcount={props.rows.length + 1}>
        {heads(props.columns)}
        <tbody>
          {space(first)}
          {seen.map((row, at) => (
            <tr key={first + at} aria-rowindex={first + at + 2}>
              {cells(props.columns, row)}
            </tr>
          ))}
          {space(props.rows.length - last)}
        </tbody>
      </table>
    </div>
  );
}
