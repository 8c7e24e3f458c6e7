// Fields of forms, and what they have in them.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Decimal text, as amounts have it. */
const DECIMAL = "(0|[1-9][0-9]{0,17})([.][0-9]{1,4})?";

/** What a field is bound to: its name, its text, and how that changes. */
export type Bind = { name: string; value: string; set: (value: string) => void };

/** The texts of a form, by the names of its fields. */
export function useTexts<T extends Record<string, string>>(first: T): [T, (name: keyof T & string) => Bind] {
  const [texts, setTexts] = useState(first);
  const bind = (name: keyof T & string): Bind => ({
    name,
    value: texts[name] ?? "",
    set: (value) => setTexts((before) => ({ ...before, [name]: value })),
  });
  return [texts, bind];
}

type Own = { label: string; bind: Bind; hint?: string; required?: boolean };

/** A line of text. */
export function Text({ label, bind, hint, required = false, url = false, ...more }: Own & { pattern?: string; maxLength?: number; url?: boolean }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        name={bind.name}
        value={bind.value}
        required={required}
        autocomplete="off"
        spellcheck={false}
        inputMode={url ? "url" : "text"}
        onInput={(event) => bind.set(event.currentTarget.value)}
        {...more}
      />
      {hint && <small>{hint}</small>}
    </label>
  );
}

/** An amount. */
export function Amount({ label, bind, hint, optional = false }: Omit<Own, "required"> & { optional?: boolean }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="number"
        name={bind.name}
        value={bind.value}
        required={!optional}
        inputMode="decimal"
        pattern={DECIMAL}
        autocomplete="off"
        onInput={(event) => bind.set(event.currentTarget.value)}
      />
      {hint && <small>{hint}</small>}
    </label>
  );
}

/** A text of several lines. */
export function Lines({ label, bind, hint, required = false, rows = 5, placeholder }: Own & { rows?: number; placeholder?: string }) {
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        name={bind.name}
        value={bind.value}
        required={required}
        rows={rows}
        spellcheck={false}
        {...(placeholder ? { placeholder } : {})}
        onInput={(event) => bind.set(event.currentTarget.value)}
      />
      {hint && <small>{hint}</small>}
    </label>
  );
}

/** One of several. */
export function Choice({ label, bind, of, hint }: Own & { of: Record<string, string> }) {
  return (
    <label class="field">
      <span>{label}</span>
      <select name={bind.name} value={bind.value} onChange={(event) => bind.set(event.currentTarget.value)}>
        {Object.entries(of).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      {hint && <small>{hint}</small>}
    </label>
  );
}

/** Whether something is so: `yes`, or nothing. */
export function Check({ label, bind }: { label: string; bind: Bind }) {
  return (
    <label class="check">
      <input type="checkbox" name={bind.name} checked={bind.value === "yes"} onChange={(event) => bind.set(event.currentTarget.checked ? "yes" : "")} />
      <span>{label}</span>
    </label>
  );
}

/** Fields beside each other. */
export function Beside({ children }: { children: ComponentChildren }) {
  return <div class="beside">{children}</div>;
}
