// Numbers, times and amounts as text. Nothing here rounds money: amounts are decimal text, and stay that.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** A count, with thousands apart. */
export function count(value: number): string {
  return grouped.format(value);
}

/** A number with about three digits that matter. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) >= 100) return grouped.format(value);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

/** Decimal text with thousands apart. */
export function decimal(text: string): string {
  const [whole = "", part] = text.split(".");
  const apart = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return part === undefined ? apart : `${apart}.${part}`;
}

/** Minor units as decimal text, such as "1250" with two places as "12.50". */
export function minor(units: string, scale: number): string {
  const negative = units.startsWith("-");
  if (scale === 0) return `${negative ? "−" : ""}${decimal(units.replace("-", ""))}`;
  const digits = units.replace("-", "").padStart(scale + 1, "0");
  const at = digits.length - scale;
  return `${negative ? "−" : ""}${decimal(`${digits.slice(0, at)}.${digits.slice(at)}`)}`;
}

/** Bytes, in units of 1,024. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let left = value;
  while (left >= 1024 && at < units.length - 1) {
    left /= 1024;
    at += 1;
  }
  return `${at === 0 ? left : short(left)} ${units[at]}`;
}

/** An amount with its currency, and with at least the decimal places of that. It is never cut. */
export function money(amount: string, currency: string): string {
  return `${figure(amount, currency)} ${currency}`;
}

/** The same without the currency, for columns that name it elsewhere. */
export function figure(amount: string, currency: string): string {
  const [whole = "", part = ""] = amount.split(".");
  const padded = part.padEnd(placesOf(currency), "0");
  return decimal(padded === "" ? whole : `${whole}.${padded}`).replace("-", "−");
}

/** The decimal places of a currency, as the browser knows them. */
export function placesOf(currency: string): number {
  try {
    return new Intl.NumberFormat("en", { style: "currency", currency }).resolvedOptions().maximumFractionDigits ?? 0;
  } catch {
    return 0;
  }
}

/** A whole number of milliseconds, in the unit that fits. */
export function millis(ms: number): string {
  return ms < 1000 ? `${ms} ms` : seconds(ms / 1000);
}

/** Seconds, in the unit that fits. */
export function seconds(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value < 0.001) return `${short(value * 1e6)} µs`;
  if (value < 1) return `${short(value * 1e3)} ms`;
  if (value < 120) return `${short(value)} s`;
  if (value < 7200) return `${short(value / 60)} min`;
  return `${short(value / 3600)} h`;
}

/** Microseconds, in the unit that fits. */
export function micros(value: number): string {
  return seconds(value / 1e6);
}

const two = (value: number): string => String(value).padStart(2, "0");

/** An instant in UTC: `2026-11-28 05:04:25.106`. */
export function instant(ms: number, withMillis = false): string {
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return "–";
  const day = `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
  return `${day} ${clock(ms, withMillis)}`;
}

/** The time of day in UTC. */
export function clock(ms: number, withMillis = false): string {
  const at = new Date(ms);
  const time = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return withMillis ? `${time}.${String(at.getUTCMilliseconds()).padStart(3, "0")}` : time;
}

/** A share of 1 in percent. */
export function percent(share: number): string {
  if (!Number.isFinite(share)) return "–";
  const value = share * 100;
  return `${value === 100 || value === 0 ? value : value.toFixed(value > 99 || value < 1 ? 2 : 1)} %`;
}

/** A digest, short. The whole one belongs into the title. */
export function digest(text: string): string {
  const [kind, value = ""] = text.split(":");
  return value ? value.slice(0, 12) : (kind ?? "").slice(0, 12);
}

/** How far a decimal is of another one, from 0 to 1. For bars alone. */
export function shareOf(part: string, whole: string): number {
  const all = Number(whole);
  return all > 0 ? Math.min(1, Math.max(0, Number(part) / all)) : 0;
}
