// One binding of a rule: its settings by a form or as text, its dates, and its candidate.

import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import type { Binding, Component, Content } from "../data/draft";
import { number, schemaOf } from "../data/schema";
import { Problem, Shown } from "../parts/basics";
import { JsonField, SettingsForm } from "../parts/settings-form";
import { words } from "../words";

const w = words.draft;

type Props = {
  step: string;
  binding: Binding;
  content: Content;
  close: () => void;
  save: (set: Record<string, unknown>) => Promise<void>;
};

type Kind = "none" | "canary" | "shadow";
type Table = Record<string, unknown>;

/** What has a field of its own. */
const SHOWN = ["rule", "settings", "effective-from", "effective-until", "canary", "shadow"];

/** The dialog. */
export function Editor({ step, binding, content, close, save }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [settings, setSettings] = useState<unknown>(binding.settings ?? {});
  const [isText, setText] = useState(false);
  const [from, setFrom] = useState(binding["effective-from"] as string | undefined);
  const [until, setUntil] = useState(binding["effective-until"] as string | undefined);
  const others = Object.fromEntries(Object.entries(binding).filter(([key]) => !SHOWN.includes(key)));
  const [more, setMore] = useState<unknown>(others);
  const first: Kind = binding["canary"] ? "canary" : binding["shadow"] ? "shadow" : "none";
  const [kind, setKind] = useState<Kind>(first);
  const [candidate, setCandidate] = useState<Table>((binding[first] as Table | undefined) ?? {});
  const [error, setError] = useState<Error>();
  const digest = content.rules[binding.rule]?.digest;
  const asked = useAsk(digest, (signal) => get<Component>(`/components/${digest}`, { signal }));
  useEffect(() => dialog.current?.showModal(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    const set: Table = {
      settings,
      "effective-from": from ?? null,
      "effective-until": until ?? null,
      canary: kind === "canary" ? candidate : null,
      shadow: kind === "shadow" ? candidate : null,
      ...Object.fromEntries(Object.keys(others).map((key) => [key, null])),
      ...(more as Table),
    };
    setError(undefined);
    save(set).then(close, setError);
  };
  return (
    <dialog ref={dialog} class="wide" onClose={close} aria-labelledby="editor-title">
      <form onSubmit={submit}>
        <h2 id="editor-title">{w.bindingOf(binding.rule, step)}</h2>
        <fieldset>
          <legend>
            {words.rules.settings}{" "}
            <button type="button" class="quiet" onClick={() => setText(!isText)}>
              {isText ? w.asForm : w.asText}
            </button>
          </legend>
          {isText ? (
            <JsonField label={words.rules.settings} value={settings} change={setSettings} rows={14} />
          ) : (
            <Shown of={asked}>{(component) => <SettingsForm schema={schemaOf(component.rule?.settingsSchema)} value={settings} change={setSettings} />}</Shown>
          )}
        </fieldset>
        <fieldset>
          <legend>{w.dates}</legend>
          <div class="pair">
            <Instant label={w.from} value={from} change={setFrom} />
            <Instant label={w.until} value={until} change={setUntil} />
          </div>
        </fieldset>
        <Candidate kind={kind} setKind={setKind} table={candidate} set={setCandidate} rules={Object.keys(content.rules).filter((name) => name !== binding.rule)} />
        <details>
          <summary>{w.more}</summary>
          <p class="hint">{w.moreHint}</p>
          <JsonField label={w.more} value={others} change={setMore} />
        </details>
        {error && <Problem error={error} />}
        <div class="buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            {words.action.cancel}
          </button>
          <button type="submit" class="primary">
            {w.keep}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** An instant in UTC, in whole seconds. */
export function Instant({ label, value, change, isRequired = false }: { label: string; value: string | undefined; change: (value: string | undefined) => void; isRequired?: boolean }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        step={1}
        required={isRequired}
        value={value?.replace("Z", "") ?? ""}
        onInput={(event) => {
          const text = event.currentTarget.value;
          change(text === "" ? undefined : `${text.length === 16 ? `${text}:00` : text.slice(0, 19)}Z`);
        }}
      />
    </label>
  );
}

/** A rule that is tried beside the bound one. */
function Candidate({ kind, setKind, table, set, rules }: { kind: Kind; setKind: (kind: Kind) => void; table: Table; set: (table: Table) => void; rules: string[] }) {
  const rule = String(table["rule"] ?? "");
  const text = (path: string[]): string => String(path.reduce<unknown>((of, key) => (of as Table | undefined)?.[key], table) ?? "");
  const put = (path: string[], value: unknown): void => {
    const [key = "", inner] = path;
    if (inner === undefined) return set({ ...table, [key]: value });
    const { [inner]: _, ...rest } = (table[key] as Table | undefined) ?? {};
    set({ ...table, [key]: value === "" || value === undefined ? rest : { ...rest, [inner]: value } });
  };
  const field = (label: string, path: string[], example: string, isNumber = false) => (
    <label class="field">
      <span>{label}</span>
      <input
        inputMode={isNumber ? "numeric" : "text"}
        placeholder={example}
        value={text(path)}
        autocomplete="off"
        onInput={(event) => put(path, isNumber ? number(event.currentTarget.value) : event.currentTarget.value)}
      />
    </label>
  );
  return (
    <fieldset>
      <legend>{w.candidate}</legend>
      <p class="hint">{w.candidateHint}</p>
      <div class="pair">
        <label class="field">
          <span>{w.candidateKind}</span>
          <select
            name="candidate"
            value={kind}
            onChange={(event) => {
              setKind(event.currentTarget.value as Kind);
              set({ rule: rule || rules[0] });
            }}
          >
            {(["none", "shadow", "canary"] as const).map((one) => (
              <option value={one}>{w.candidateKinds[one]}</option>
            ))}
          </select>
        </label>
        {kind !== "none" && (
          <label class="field">
            <span>{words.rules.candidate}</span>
            <select value={rule} onChange={(event) => put(["rule"], event.currentTarget.value)}>
              {rules.map((name) => (
                <option value={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        {kind === "shadow" && field(w.share, ["share"], "100 %")}
        {kind === "canary" && (
          <>
            {field(w.share, ["to", "hash"], "5 %")}
            {field(w.lines.failures, ["hold-back", "failures"], "1", true)}
            {field(w.lines.drift, ["hold-back", "verdict-drift"], "1 %")}
            {field(w.lines.fuel, ["hold-back", "fuel-p99"], "20 %")}
            {field(w.lines.after, ["hold-back", "after"], "100", true)}
          </>
        )}
      </div>
    </fieldset>
  );
}
