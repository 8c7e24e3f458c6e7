// A file that the reader brings: a component or a bundle.

import { useEffect, useState } from "preact/hooks";
import { get, upload } from "../data/api";
import { type Component, type Content, drafts, type Edit } from "../data/draft";
import { bytes as size, count } from "../data/format";
import type { Document } from "../data/kinds";
import { say } from "../data/notice";
import { Digest, Facts, Problem, Section } from "../parts/basics";
import { words } from "../words";

const w = words.draft;

/** What a bundle brings. */
type Bundle = {
  kind: "scheme" | "rule";
  name: string;
  holds: string[];
  findings: string[];
  notes: string[];
  document?: Document;
  digest?: string;
  binding?: { rules?: Record<string, Record<string, unknown>>; steps?: Record<string, Record<string, unknown>[]> };
};

type Brought = { file: string; component?: Component; bundle?: Bundle };

/** Whether a file is WebAssembly, by its first bytes. */
async function isWasm(file: Blob): Promise<boolean> {
  const first = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  return first.length === 4 && [0x00, 0x61, 0x73, 0x6d].every((byte, at) => first[at] === byte);
}

async function bring(file: File): Promise<Brought> {
  if (await isWasm(file)) return { file: file.name, component: await upload<Component>("/components", file, "application/wasm") };
  const bundle = await upload<Bundle>("/releases/bundle", file, "application/octet-stream");
  if (bundle.digest === undefined) return { file: file.name, bundle };
  return { file: file.name, bundle, component: await get<Component>(`/components/${bundle.digest}`) };
}

/** The part of the page. */
export function Bring({ content, run }: { content: Content | undefined; run: (work: Promise<void>) => Promise<void> }) {
  const [brought, setBrought] = useState<Brought>();
  const [error, setError] = useState<Error>();
  const [isSending, setSending] = useState(false);
  const choose = async (input: HTMLInputElement): Promise<void> => {
    const file = input.files?.[0];
    if (!file) return;
    setError(undefined);
    setBrought(undefined);
    setSending(true);
    try {
      const all = await bring(file);
      setBrought(all);
      if (all.bundle?.document) {
        drafts.put(all.bundle.document);
        say(w.schemeTaken(all.bundle.name));
      }
    } catch (failed) {
      setError(failed as Error);
    } finally {
      setSending(false);
      input.value = "";
    }
  };
  return (
    <Section title={w.bring} hint={w.bringHint}>
      <label class="field file">
        <span>{w.file}</span>
        <input type="file" name="file" disabled={isSending} onChange={(event) => void choose(event.currentTarget)} />
      </label>
      {isSending && (
        <p class="loading" role="status">
          {w.sending} …
        </p>
      )}
      {error && <Problem error={error} />}
      {brought?.bundle && <Verified bundle={brought.bundle} />}
      {brought?.component && <Place component={brought.component} bundle={brought.bundle} content={content} run={run} done={() => setBrought(undefined)} />}
    </Section>
  );
}

function Verified({ bundle }: { bundle: Bundle }) {
  return (
    <div class={bundle.findings.length > 0 ? "problem" : "panel"} role="status">
      <p class={bundle.findings.length > 0 ? "problem-title" : ""}>
        {bundle.findings.length > 0 ? w.bundleFails(bundle.name) : w.bundleHolds(bundle.kind, bundle.name)}
      </p>
      <ul>
        {[...bundle.findings, ...bundle.holds, ...bundle.notes].map((line) => (
          <li>{line}</li>
        ))}
      </ul>
    </div>
  );
}

const NEW = "";

/** Where a component is to be. */
function Place(props: { component: Component; bundle: Bundle | undefined; content: Content | undefined; run: (work: Promise<void>) => Promise<void>; done: () => void }) {
  const { component, bundle, content, run, done } = props;
  const { rule } = component;
  const names = Object.keys(content?.rules ?? {}).sort();
  const [place, setPlace] = useState(NEW);
  const [name, setName] = useState("");
  useEffect(() => {
    const own = bundle?.name ?? rule?.name ?? "";
    setPlace(names.includes(own) ? own : NEW);
    setName(names.includes(own) ? `${own}-2` : own);
  }, [component.digest]);
  if (!rule) return <p class="problem">{w.noRule}</p>;
  const submit = (event: Event): void => {
    event.preventDefault();
    void run(put()).then(done);
  };
  const put = async (): Promise<void> => {
    const edits: Edit[] = [];
    const lines = bundle?.binding;
    const own = Object.values(lines?.rules ?? {})[0] ?? {};
    if (place !== NEW) {
      edits.push({ edit: "rule", name: place, digest: component.digest });
    } else {
      const { component: _, digest: __, ...set } = own;
      if (component.host.length > 0 && set["grants"] === undefined) set["grants"] = { host: component.host };
      edits.push({ edit: "rule", name, digest: component.digest, set });
      for (const [step, bindings] of Object.entries(lines?.steps ?? {})) {
        const kept = (content?.steps[step] ?? []).map((_one, was) => ({ was }));
        edits.push({ edit: "step", step, bindings: [...kept, ...bindings.map((set) => ({ set: { ...set, rule: name } }))] });
      }
    }
    await drafts.edit(edits);
    say(w.placed(place || name));
  };
  return (
    <form class="panel brought" onSubmit={submit}>
      <Facts
        of={[
          [w.rule, `${rule.name} ${rule.version}`],
          [w.summary, rule.summary],
          [words.rules.digest, <Digest text={component.digest} />],
          [w.size, size(component.bytes)],
          [w.possible, rule.steps.join(", ")],
          [w.declaredFuel, rule.fuel === undefined ? words.none : count(rule.fuel)],
        ]}
      />
      <div class="filters plain-box">
        <label class="field">
          <span>{w.use}</span>
          <select name="place" value={place} onChange={(event) => setPlace(event.currentTarget.value)}>
            {names.map((one) => (
              <option value={one}>{w.insteadOf(one)}</option>
            ))}
            <option value={NEW}>{w.asNew}</option>
          </select>
        </label>
        {place === NEW && (
          <label class="field">
            <span>{w.name}</span>
            <input name="name" value={name} required pattern="[a-z][a-z0-9]*(-[a-z0-9]+)*" autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
          </label>
        )}
        <button type="submit" class="primary">
          {w.place}
        </button>
      </div>
    </form>
  );
}
