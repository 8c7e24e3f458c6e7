// What members of a settlement paid and received, as a heat map. Shades repeat what numbers, arrows and words say.

import { compare, minus, plus, share } from "../data/decimal";
import { figure, money } from "../data/format";
import type { Money } from "../data/kinds";
import { link } from "../data/router";
import { type Column, LongTable } from "../parts/table";
import { words } from "../words";

const w = words.settlement;

export type Balance = { participant: string; paid: Money; received: Money; net: Money & { direction: string } };
export type MatrixRow = Balance & { held?: Money; settled?: boolean };

/** How many shades there are. */
const SHADES = 5;

/** Whether what is paid in each currency is what is received. */
export function even(rows: Balance[]): boolean {
  const left = new Map<string, string>();
  for (const { paid, received } of rows) {
    left.set(paid.currency, minus(plus(left.get(paid.currency) ?? "0", received.amount), paid.amount));
  }
  return [...left.values()].every((one) => compare(one, "0") === 0);
}

/** The shade of an amount among the largest of its currency: 0 for nothing, then from 1 on. */
export function shade(amount: string, largest: string): number {
  const part = share(amount, largest);
  return part === 0 ? 0 : Math.min(SHADES, 1 + Math.floor(part * SHADES));
}

/** The largest paid or received amount of each currency. */
function largest(rows: Balance[]): Map<string, string> {
  const most = new Map<string, string>();
  for (const { paid, received, net } of rows) {
    for (const { amount } of [paid, received, net]) {
      if (compare(amount, most.get(paid.currency) ?? "0") > 0) most.set(paid.currency, amount);
    }
  }
  return most;
}

/** The heat map. */
export function Matrix({ rows, isSettlement = false }: { rows: MatrixRow[]; isSettlement?: boolean }) {
  const most = largest(rows);
  const heat = ({ amount, currency }: Money, kind: string) => (
    <span class={`shade ${kind} s${shade(amount, most.get(currency) ?? "0")}`}>{figure(amount, currency)}</span>
  );
  const directions: Record<string, string> = { PAYS: w.pays, RECEIVES: w.receives, EVEN: w.even };
  const arrows: Record<string, string> = { PAYS: "▼", RECEIVES: "▲", EVEN: "=" };
  const columns: Column<MatrixRow>[] = [
    { head: w.participant, cell: (one) => <a href={link("participants", one.participant)}>{one.participant}</a> },
    { head: w.currency, cell: (one) => one.paid.currency },
    { head: w.paid, number: true, cell: (one) => heat(one.paid, "pays") },
    { head: w.received, number: true, cell: (one) => heat(one.received, "receives") },
    { head: w.net, number: true, cell: (one) => <strong>{heat(one.net, one.net.direction.toLowerCase())}</strong> },
    {
      head: words.table.direction,
      cell: (one) => (
        <>
          <span aria-hidden="true" class="direction">{arrows[one.net.direction]}</span> {directions[one.net.direction] ?? one.net.direction}
        </>
      ),
    },
  ];
  if (isSettlement) {
    columns.push(
      { head: w.held, number: true, cell: (one) => (one.held ? money(one.held.amount, one.held.currency) : words.none) },
      { head: w.settled, cell: (one) => (one.settled ? w.yes : w.no) },
    );
  }
  return <LongTable label={isSettlement ? w.matrix : w.positions} rows={rows} columns={columns} />;
}
