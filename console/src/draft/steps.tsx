// The rules of a draft by step: bound, unbound, in another order, with other settings or dates.

import { useState } from "preact/hooks";
import { type Binding, type Content, drafts, type NewBinding } from "../data/draft";
import { Badge, Empty, Section } from "../parts/basics";
import { words } from "../words";
import { Editor } from "./editor";

const w = words.draft;

type Run = (work: Promise<void>) => Promise<void>;

/** The part of the page. */
export function Steps({ content, run }: { content: Content; run: Run }) {
  const [editing, setEditing] = useState<{ step: string; at: number }>();
  const edited = editing && content.steps[editing.step]?.[editing.at];
  const bound = new Set(Object.values(content.steps).flatMap((all) => all.map((one) => one.rule)));
  const unbound = Object.keys(content.rules).filter((name) => !bound.has(name) && !isCandidate(content, name));
  return (
    <Section title={w.steps} hint={w.stepsHint}>
      {content.asked.length === 0 && <Empty title={w.noSteps} hint={w.noStepsHint} />}
      <div class="cards steps-of-draft">
        {content.asked.map((step) => (
          <Step step={step} content={content} run={run} edit={(at) => setEditing({ step, at })} />
        ))}
      </div>
      {unbound.length > 0 && (
        <ul class="acts">
          {unbound.map((name) => (
            <li>
              <span>{w.unbound(name)}</span>
              <button type="button" onClick={() => void run(drafts.edit([{ edit: "remove-rule", name }]))}>
                {w.removeRule}
              </button>
            </li>
          ))}
        </ul>
      )}
      {editing && edited && (
        <Editor
          step={editing.step}
          binding={edited}
          content={content}
          close={() => setEditing(undefined)}
          save={(set) => {
            const all = content.steps[editing.step] ?? [];
            const bindings = all.map((_, was) => (was === editing.at ? { was, set } : { was }));
            return drafts.edit([{ edit: "step", step: editing.step, bindings }]);
          }}
        />
      )}
    </Section>
  );
}

/** Whether a rule is the canary or the shadow of a bound one. */
function isCandidate(content: Content, name: string): boolean {
  const of = (value: unknown): unknown => (value as { rule?: unknown } | undefined)?.rule;
  return Object.values(content.steps).some((all) => all.some((one) => of(one["canary"]) === name || of(one["shadow"]) === name));
}

function Step({ step, content, run, edit }: { step: string; content: Content; run: Run; edit: (at: number) => void }) {
  const all = content.steps[step] ?? [];
  const [rule, setRule] = useState("");
  const put = (bindings: NewBinding[]): void => void run(drafts.edit([{ edit: "step", step, bindings }]));
  const kept = all.map((_, was) => ({ was }));
  const swapped = (at: number, other: number): NewBinding[] => kept.map((one, index) => (index === at ? { was: other } : index === other ? { was: at } : one));
  const names = Object.keys(content.rules).sort();
  return (
    <article class="card step" aria-label={step} data-step={step}>
      <h3>{step}</h3>
      {all.length === 0 && <p class="hint">{w.free}</p>}
      <ol class="bindings">
        {all.map((binding, at) => (
          <li data-rule={binding.rule}>
            <span class="order tabular">{at + 1}</span>
            <span class="binding-name">
              {binding.rule}
              <Dates binding={binding} />
            </span>
            <span class="tools">
              <button type="button" class="quiet" disabled={at === 0} aria-label={w.up(binding.rule)} title={w.up(binding.rule)} onClick={() => put(swapped(at, at - 1))}>
                ↑
              </button>
              <button type="button" class="quiet" disabled={at === all.length - 1} aria-label={w.down(binding.rule)} title={w.down(binding.rule)} onClick={() => put(swapped(at, at + 1))}>
                ↓
              </button>
              <button type="button" onClick={() => edit(at)}>
                {w.change}
              </button>
              <button type="button" aria-label={w.unbind(binding.rule)} onClick={() => put(kept.filter((_, index) => index !== at))}>
                {w.remove}
              </button>
            </span>
          </li>
        ))}
      </ol>
      <div class="bind">
        <label>
          <span class="hidden">{w.bindAt(step)}</span>
          <select value={rule} onChange={(event) => setRule(event.currentTarget.value)}>
            <option value="">{w.bindRule}</option>
            {names.map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        </label>
        <button
          type="button"
          disabled={!rule}
          onClick={() => {
            put([...kept, { set: { rule } }]);
            setRule("");
          }}
        >
          {w.bind}
        </button>
      </div>
    </article>
  );
}

function Dates({ binding }: { binding: Binding }) {
  const candidates = (["canary", "shadow"] as const).filter((key) => binding[key] !== undefined);
  const times = [binding["effective-from"] && words.rules.from(String(binding["effective-from"])), binding["effective-until"] && words.rules.to(String(binding["effective-until"]))].filter(Boolean);
  return (
    <>
      {times.length > 0 && <small>{times.join(" ")}</small>}
      {candidates.map((key) => (
        <Badge tone="warn">{w.candidates[key]}</Badge>
      ))}
    </>
  );
}
