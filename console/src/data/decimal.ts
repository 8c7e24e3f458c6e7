// Decimal text, exact: sums, comparisons and shares of amounts. No amount is ever a number.

/** A whole number of units of so many decimal places. */
type Decimal = { units: bigint; scale: number };

function parsed(text: string): Decimal {
  const [whole = "0", part = ""] = text.split(".");
  return { units: BigInt(whole + part), scale: part.length };
}

function aligned(one: Decimal, other: Decimal): [bigint, bigint, number] {
  const scale = Math.max(one.scale, other.scale);
  const of = ({ units, scale: own }: Decimal): bigint => units * 10n ** BigInt(scale - own);
  return [of(one), of(other), scale];
}

function shown(units: bigint, scale: number): string {
  const sign = units < 0n ? "-" : "";
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** The sum of two decimals. */
export function plus(one: string, other: string): string {
  const [a, b, scale] = aligned(parsed(one), parsed(other));
  return shown(a + b, scale);
}

/** The first without the second. */
export function minus(one: string, other: string): string {
  const [a, b, scale] = aligned(parsed(one), parsed(other));
  return shown(a - b, scale);
}

/** Negative, zero or positive, as the first is below, at or above the second. */
export function compare(one: string, other: string): number {
  const [a, b] = aligned(parsed(one), parsed(other));
  return a < b ? -1 : a > b ? 1 : 0;
}

/** How far the first is of the second: from 0 to 1, for bars and percentages. */
export function share(part: string, whole: string): number {
  const [a, b] = aligned(parsed(part), parsed(whole));
  if (b <= 0n || a <= 0n) return 0;
  return a >= b ? 1 : Number((a * 1_000_000n) / b) / 1_000_000;
}
