// Small parts of pages: states, badges, times, links.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Refusal } from "../data/api";
import type { Asked } from "../data/ask";
import { clock, digest, instant } from "../data/format";
import { words } from "../words";

/** How something stands: the word says it, the colour repeats it. */
export type Tone = "good" | "bad" | "warn" | "quiet" | "plain";

/** A word about a state. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** An instant in UTC. */
export function Time({ ms, millis = false }: { ms: number | null | undefined; millis?: boolean }) {
  if (!ms) return <>{words.none}</>;
  return (
    <time class="tabular" dateTime={new Date(ms).toISOString()}>
      {instant(ms, millis)}
    </time>
  );
}

/** A digest, short. */
export function Digest({ text }: { text: string }) {
  return (
    <code title={text} class="digest">
      {digest(text)}
    </code>
  );
}

/** A part of a page under a heading. */
export function Section(props: { title: string; hint?: string | undefined; tools?: ComponentChildren; children: ComponentChildren; class?: string }) {
  return (
    <section class={`section ${props.class ?? ""}`}>
      <header class="section-head">
        <h2>{props.title}</h2>
        {props.tools && <div class="tools">{props.tools}</div>}
      </header>
      {props.hint && <p class="hint">{props.hint}</p>}
      {props.children}
    </section>
  );
}

/** The head of a page. */
export function Head(props: { title: string; hint?: string | undefined; at?: number | undefined; children?: ComponentChildren }) {
  useEffect(() => {
    document.title = words.title(props.title);
  }, [props.title]);
  return (
    <header class="page-head">
      <div>
        <h1 tabIndex={-1} id="title">{props.title}</h1>
        {props.hint && <p class="hint">{props.hint}</p>}
      </div>
      <div class="tools">
        {props.children}
        {props.at !== undefined && <span class="as-of tabular">{words.state.asOf(clock(props.at))}</span>}
      </div>
    </header>
  );
}

/** What to do where there is nothing. */
export function Empty({ title, hint }: { title: string; hint: string }) {
  return (
    <div class="empty">
      <p>{title}</p>
      <p class="hint">{hint}</p>
    </div>
  );
}

/** What the host refused, and what follows. */
export function Problem({ error, again }: { error: Error; again?: () => void }) {
  const refused = error instanceof Refusal ? error : undefined;
  const isForbidden = refused?.status === 403;
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{isForbidden ? words.problem.forbidden : words.problem.failed}</p>
      <p>{error.message}</p>
      {isForbidden && <p class="hint">{words.problem.forbiddenHint}</p>}
      {refused && refused.problems.length > 0 && (
        <ul>
          {refused.problems.map((one) => (
            <li>{one}</li>
          ))}
        </ul>
      )}
      {again && !isForbidden && (
        <button type="button" onClick={again}>
          {words.state.again}
        </button>
      )}
    </div>
  );
}

/** An answer, or what is there instead. Old data stays while the host does not answer, and says so. */
export function Shown<T>({ of, children }: { of: Asked<T>; children: (data: T) => ComponentChildren }) {
  if (of.data !== undefined) {
    return (
      <>
        {of.error && of.at !== undefined && (
          <p class="stale" role="status">
            {words.state.stale(clock(of.at))} {of.error.message}
          </p>
        )}
        {children(of.data)}
      </>
    );
  }
  if (of.error) return <Problem error={of.error} again={of.again} />;
  return (
    <p class="loading" role="status">
      {words.state.loading} …
    </p>
  );
}

/** A button that copies a text. */
export function Copy({ text, label }: { text: () => string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text());
    setDone(true);
    setTimeout(() => setDone(false), 2000);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {done ? words.state.copied : label}
    </button>
  );
}

/** Names and values. */
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Something as indented JSON. */
export function Json({ of }: { of: unknown }) {
  return (
    <pre class="code" tabIndex={0}>
      {JSON.stringify(of, null, 2)}
    </pre>
  );
}
