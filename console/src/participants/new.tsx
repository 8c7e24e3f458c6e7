// A new participant: one request with its name, its endpoint and its accounts.

import { useState } from "preact/hooks";
import { onceKey } from "../data/api";
import { Action } from "../parts/action";
import { Amount, Beside, Choice, Text, useTexts } from "../parts/fields";
import { Sides } from "../parts/sides";
import { words } from "../words";
import { accountOf } from "./of-whole";

const w = words.participants;
/** The most accounts that the form has. */
const ACCOUNTS_MAX = 20;

type Line = { currency: string; name: string; cap: string; threshold: string };
const EMPTY: Line = { currency: "", name: "", cap: "", threshold: "" };

/** The button, and its form. */
export function NewParticipant({ after }: { after: () => void }) {
  const [texts, bind] = useTexts({ id: "", name: "", type: "DFSP", url: "" });
  const [lines, setLines] = useState<Line[]>([EMPTY]);
  const accounts = texts.type === "PISP" ? [] : lines.filter((line) => line.currency !== "").map(accountOf);
  const asked = {
    id: texts.id.trim(),
    name: texts.name.trim(),
    type: texts.type,
    endpoints: [{ type: "FSPIOP", value: texts.url.trim() }],
    accounts,
  };
  const change = (at: number, line: Partial<Line>): void => setLines(lines.map((one, index) => (index === at ? { ...one, ...line } : one)));
  return (
    <Action
      label={w.add}
      text={w.addText}
      reason={words.action.reason}
      needsReason
      done={w.asked}
      after={after}
      change={(reason) => ({ method: "POST", path: "/participants", body: { ...asked, reason }, headers: { "Idempotency-Key": onceKey() } })}
    >
      <Beside>
        <Text label={w.id} bind={bind("id")} pattern="[A-Za-z0-9][A-Za-z0-9._\-]{0,31}" maxLength={32} required hint={w.idHint} />
        <Text label={w.name} bind={bind("name")} maxLength={128} required />
      </Beside>
      <Beside>
        <Choice label={w.type} bind={bind("type")} of={w.types} />
        <Text label={w.endpointField} bind={bind("url")} url maxLength={512} required />
      </Beside>
      {texts.type !== "PISP" && (
        <fieldset>
          <legend>{w.accounts}</legend>
          {lines.map((line, at) => {
            const field = (name: keyof Line) => ({ name: `${name}-${at}`, value: line[name], set: (value: string) => change(at, { [name]: value }) });
            return (
              <Beside key={at}>
                <Text label={w.currencyField} bind={field("currency")} pattern="[A-Z]{3}" maxLength={3} />
                <Amount label={w.capOfNew} bind={field("cap")} optional />
                <Amount label={w.thresholdOfNew} bind={field("threshold")} optional />
              </Beside>
            );
          })}
          {lines.length < ACCOUNTS_MAX && (
            <button type="button" onClick={() => setLines([...lines, EMPTY])}>
              {w.anotherAccount}
            </button>
          )}
        </fieldset>
      )}
      <Sides now={null} then={texts.id ? asked : undefined} />
    </Action>
  );
}
