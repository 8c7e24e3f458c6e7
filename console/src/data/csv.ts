// Tables as CSV (RFC 4180), for spreadsheets.

/** One value. What a spreadsheet would run as a formula gets an apostrophe before it. */
export function cell(value: unknown): string {
  const text = value === null || value === undefined ? "" : String(value);
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table with its heads. */
export function csv(heads: string[], rows: unknown[][]): string {
  return [heads, ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Has the browser save a text as a file. */
export function save(name: string, text: string, type = "text/csv"): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
