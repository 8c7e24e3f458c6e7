// Where the reader is: the part of the address after `#`, so that every page has a link.

import { useEffect, useState } from "preact/hooks";

/** A place: its page, what it is about, and the words of its query. */
export type Place = { page: string; rest: string[]; query: URLSearchParams };

/** Reads `#/page/rest?query`. */
export function place(hash: string): Place {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter((part) => part !== "").map(decoded);
  return { page: parts[0] ?? "live", rest: parts.slice(1), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a place. */
export function link(page: string, ...rest: string[]): string {
  return `#/${[page, ...rest].map(encodeURIComponent).join("/")}`;
}

/** A place with a query. A word without a value is left out, except those that mean something so. */
export function withQuery(page: string, query: Record<string, string>, meant: string[] = []): string {
  const kept = Object.entries(query).filter(([name, value]) => value !== "" || meant.includes(name));
  const text = new URLSearchParams(kept).toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

/** Go to a place with a query, without a step in the browser's history. */
export function setQuery(page: string, query: Record<string, string>, meant: string[] = []): void {
  history.replaceState(null, "", withQuery(page, query, meant));
}

/** The current place. */
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = (): void => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place(hash);
}
