// Making a release: files brought from elsewhere, rules by step, the text, and the plan before anything happens.

import { useEffect, useState } from "preact/hooks";
import { get } from "../data/api";
import { useAsk } from "../data/ask";
import { type Content, content, type Draft, drafts, useDraft } from "../data/draft";
import type { Release, ShownRelease } from "../data/kinds";
import { link } from "../data/router";
import { useRole } from "../data/session";
import { Bring } from "../draft/bring";
import { Planned } from "../draft/planned";
import { Steps } from "../draft/steps";
import { Empty, Head, Problem, Section, Shown } from "../parts/basics";
import { words } from "../words";

const w = words.draft;

async function current(signal: AbortSignal): Promise<Release | undefined> {
  return (await get<Release[]>("/releases", { signal })).find((one) => one.current);
}

/** The page. */
export function DraftPage() {
  const isAdmin = useRole("admin");
  const asked = useAsk(isAdmin ? "current" : undefined, current, 5000);
  if (!isAdmin) {
    return (
      <>
        <Head title={w.title} />
        <Empty title={words.problem.forbidden} hint={words.problem.forbiddenHint} />
      </>
    );
  }
  return <Shown of={asked}>{(now) => (now ? <Whole current={now.number} /> : <Empty title={w.noRelease} hint={w.noReleaseHint} />)}</Shown>;
}

/** Begin with the release that is current. */
export async function begin(number: number): Promise<void> {
  const release = await get<ShownRelease>(`/releases/${number}`);
  drafts.begin(number, release.document);
}

function Whole({ current: number }: { current: number }) {
  const draft = useDraft();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    if (!drafts.now()) begin(number).catch(setError);
  }, [draft === undefined]);
  const again = (): void => {
    setError(undefined);
    begin(number).catch(setError);
  };
  return (
    <>
      <Head title={w.title} hint={w.intro}>
        {draft && draft.before.length > 0 && (
          <>
            <button type="button" onClick={() => drafts.undo()}>
              {w.undo}
            </button>
            <button type="button" onClick={again}>
              {w.discard}
            </button>
          </>
        )}
        <a href={link("releases")}>{words.releases.title}</a>
      </Head>
      {error && <Problem error={error} again={again} />}
      {draft && draft.from !== number && (
        <div class="problem" role="alert">
          <p class="problem-title">{w.moved(draft.from, number)}</p>
          <p>{w.movedHint}</p>
          <button type="button" onClick={again}>
            {w.beginAgain(number)}
          </button>
        </div>
      )}
      {draft && <Parts draft={draft} />}
    </>
  );
}

function read(draft: Draft): Content | undefined {
  try {
    return content(draft.document);
  } catch {
    return undefined;
  }
}

function Parts({ draft }: { draft: Draft }) {
  const [error, setError] = useState<Error>();
  const now = read(draft);
  const run = async (work: Promise<void>): Promise<void> => {
    setError(undefined);
    await work.catch(setError);
  };
  return (
    <>
      <Bring content={now} run={run} />
      {error && <Problem error={error} />}
      {now ? <Steps content={now} run={run} /> : <Section title={w.steps}><Empty title={w.unreadable} hint={w.unreadableHint} /></Section>}
      <Text draft={draft} key={draft.document.text} />
      <Planned draft={draft} />
    </>
  );
}

/** The text, for what no form has. */
function Text({ draft }: { draft: Draft }) {
  const [text, setText] = useState(draft.document.text);
  const isOther = text !== draft.document.text;
  return (
    <Section title={w.text} hint={w.textHint}>
      <details class="text-of-scheme">
        <summary>scheme.toml</summary>
        <label class="field">
          <span class="hidden">scheme.toml</span>
          <textarea class="long-text" name="scheme" rows={24} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        </label>
        <div class="tools">
          <button type="button" disabled={!isOther} onClick={() => drafts.put({ ...draft.document, text })}>
            {w.take}
          </button>
          {isOther && <span class="hint">{w.notTaken}</span>}
        </div>
      </details>
    </Section>
  );
}
