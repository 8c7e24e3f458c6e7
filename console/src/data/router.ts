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

/** Go to a place with a query, without a step in the browser's history. */
export function setQuery(page: string, query: Record<string, string>): void {
  const kept = Object.entries(query).filter(([, value]) => value !== "");
  const text = new URLSearchParams(kept).toString();
  history.replaceState(null, "", `#/${page}${text ? `?${text}` : ""}`);
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
