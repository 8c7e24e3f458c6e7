// What differs between two releases: in the host's words, and in the text of the scheme.

import { useMemo } from "preact/hooks";
import { count } from "../data/format";
import { difference } from "../data/lines";
import { words } from "../words";

const w = words.difference;

const KINDS: Record<string, "added" | "removed" | "changed"> = { "+": "added", "-": "removed", "~": "changed" };

/** A change in the host's words: its mark, what it is about, and the rest. */
function read(line: string): { kind: string; about: string; rest: string } {
  const kind = KINDS[line.trim()[0] ?? ""] ?? "";
  const text = kind ? line.trim().slice(1).trim() : line.trim();
  const end = text.indexOf(": ");
  return end < 0 ? { kind, about: text, rest: "" } : { kind, about: text.slice(0, end), rest: text.slice(end + 2) };
}

/** What differs, by what it is about: added, removed or changed. */
export function Changes({ of }: { of: string[] }) {
  if (of.length === 0) return <p class="hint">{words.releases.compareEmpty}</p>;
  const groups = new Map<string, { kind: string; rest: string }[]>();
  for (const { kind, about, rest } of of.map(read)) groups.set(about, [...(groups.get(about) ?? []), { kind, rest }]);
  return (
    <ul class="diff changes">
      {[...groups].map(([about, lines]) => (
        <li>
          <strong>{about}</strong>
          <ul>
            {lines.map(({ kind, rest }) => (
              <li class={kind}>
                <span class="hidden">{w.kinds[kind] ?? ""} </span>
                <span class="mark-of" aria-hidden="true">
                  {{ added: "+", removed: "−", changed: "~" }[kind] ?? "·"}
                </span>
                <code>{rest || w.whole[kind] || about}</code>
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}

/** What differs between two texts. */
export function TextDifference({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => difference(before, after), [before, after]);
  if (lines.length === 0) return <p class="hint">{w.sameText}</p>;
  return (
    <div class="scroll text-diff" tabIndex={0} role="region" aria-label={label}>
      <ol>
        {lines.map((line) =>
          line.kind === "left-out" ? (
            <li class="left-out">{w.leftOut(count(line.count))}</li>
          ) : (
            <li class={{ same: "", gone: "removed", new: "added" }[line.kind]}>
              {line.kind !== "same" && <span class="hidden">{line.kind === "gone" ? w.kinds["removed"] : w.kinds["added"]} </span>}
              <code>{`${{ same: " ", gone: "−", new: "+" }[line.kind]} ${line.text}`}</code>
            </li>
          ),
        )}
      </ol>
    </div>
  );
}
