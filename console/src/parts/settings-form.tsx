// A form for settings, from the schema that a rule brings. What it cannot show is edited as JSON.

import { useState } from "preact/hooks";
import { beginning, fieldOf, number, resolved, type Schema, withMember } from "../data/schema";
import { words } from "../words";

const w = words.form;

type Props = { schema: Schema; root: Schema; name: string; value: unknown; change: (value: unknown) => void; isRequired?: boolean };

/** The members of an object. */
export function SettingsForm({ schema, value, change }: { schema: Schema; value: unknown; change: (value: unknown) => void }) {
  return <Members schema={schema} root={schema} name="" value={value} change={change} />;
}

const isObject = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === "object" && !Array.isArray(value);

function Members({ schema, root, name, value, change }: Props) {
  const object = isObject(value) ? value : {};
  const known = Object.keys(schema.properties ?? {});
  const others = Object.keys(object).filter((key) => !known.includes(key));
  return (
    <div class="members">
      {known.map((key) => (
        <Member
          schema={resolved(schema.properties?.[key] ?? {}, root)}
          root={root}
          name={name ? `${name}.${key}` : key}
          value={object[key]}
          isRequired={schema.required?.includes(key) ?? false}
          change={(next) => change(withMember(object, key, next))}
        />
      ))}
      {others.map((key) => (
        <Member schema={{}} root={root} name={name ? `${name}.${key}` : key} value={object[key]} change={(next) => change(withMember(object, key, next))} />
      ))}
      {known.length + others.length === 0 && <p class="hint">{w.none}</p>}
    </div>
  );
}

/** The last part of a name. */
const last = (name: string): string => name.split(".").pop() ?? name;

function Member(props: Props) {
  const { schema, root, name, value, change, isRequired } = props;
  const field = fieldOf(schema);
  const hint = schema.description;
  if (value === undefined) {
    return (
      <div class="member unset">
        <span class="member-name">{last(name)}</span>
        <button type="button" onClick={() => change(beginning(schema, root))}>
          {w.set(last(name))}
        </button>
        <small>
          {schema.default !== undefined && w.unless(JSON.stringify(schema.default))} {hint}
        </small>
      </div>
    );
  }
  const away = !isRequired && (
    <button type="button" class="quiet" onClick={() => change(undefined)} aria-label={w.unset(last(name))}>
      {w.remove}
    </button>
  );
  if (field === "object" || field === "list" || field === "json") {
    return (
      <fieldset class="member">
        <legend>
          {last(name)} {away}
        </legend>
        {hint && <small>{hint}</small>}
        {field === "object" && <Members {...props} />}
        {field === "list" && <List {...props} />}
        {field === "json" && <JsonField label={last(name)} value={value} change={change} />}
      </fieldset>
    );
  }
  return (
    <div class="member">
      <label class="field">
        <span>{last(name)}</span>
        <Single field={field} schema={schema} name={name} value={value} change={change} />
      </label>
      {away}
      {hint && <small>{hint}</small>}
    </div>
  );
}

function Single({ field, schema, name, value, change }: { field: string; schema: Schema; name: string; value: unknown; change: (value: unknown) => void }) {
  if (field === "choice") {
    return (
      <select name={name} value={String(value)} onChange={(event) => change(event.currentTarget.value)}>
        {!schema.enum?.includes(value) && <option value={String(value)}>{String(value)}</option>}
        {(schema.enum as string[]).map((one) => (
          <option value={one}>{one}</option>
        ))}
      </select>
    );
  }
  if (field === "yes-no") {
    return (
      <select name={name} value={String(value)} onChange={(event) => change(event.currentTarget.value === "true")}>
        <option value="true">{w.yes}</option>
        <option value="false">{w.no}</option>
      </select>
    );
  }
  const isNumber = field === "whole" || field === "number";
  return (
    <input
      name={name}
      inputMode={field === "whole" ? "numeric" : field === "number" ? "decimal" : "text"}
      pattern={isNumber ? undefined : schema.pattern}
      maxLength={schema.maxLength}
      value={String(value)}
      autocomplete="off"
      onInput={(event) => {
        const text = event.currentTarget.value;
        change(isNumber ? number(text) : text);
      }}
    />
  );
}

function List({ schema, root, name, value, change }: Props) {
  const items = Array.isArray(value) ? value : [];
  const of = resolved(schema.items ?? {}, root);
  const put = (at: number, next: unknown): void => change(items.map((one, index) => (index === at ? next : one)));
  const isObjects = fieldOf(of) === "object";
  return (
    <div class="list">
      {items.map((item, at) => (
        <div class="list-item" role="group" aria-label={w.element(last(name), at + 1)}>
          {isObjects ? (
            <Members schema={of} root={root} name={`${name}.${at}`} value={item} change={(next) => put(at, next)} />
          ) : (
            <Member schema={of} root={root} name={`${name}.${at}`} value={item} isRequired change={(next) => put(at, next)} />
          )}
          <button type="button" class="quiet" onClick={() => change(items.filter((_, index) => index !== at))} aria-label={w.removeElement(last(name), at + 1)}>
            {w.remove}
          </button>
        </div>
      ))}
      <button type="button" onClick={() => change([...items, beginning(of, root)])}>
        {w.add(last(name))}
      </button>
    </div>
  );
}

/** A value as JSON. What is no JSON is kept in the field, and says so. */
export function JsonField({ label, value, change, rows = 4 }: { label: string; value: unknown; change: (value: unknown) => void; rows?: number }) {
  const [text, setText] = useState(JSON.stringify(value, null, 2));
  const [isBad, setBad] = useState(false);
  return (
    <label class="field">
      <span class="hidden">{label}</span>
      <textarea
        rows={rows}
        spellcheck={false}
        aria-invalid={isBad}
        value={text}
        onInput={(event) => {
          const written = event.currentTarget.value;
          setText(written);
          try {
            change(JSON.parse(written));
            setBad(false);
          } catch {
            setBad(true);
          }
        }}
      />
      {isBad && <small class="warned">{w.noJson}</small>}
    </label>
  );
}
