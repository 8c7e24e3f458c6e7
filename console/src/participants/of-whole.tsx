// What makers ask for about a whole participant: its state, its endpoint, its source addresses, another account.

import type { Participant } from "../data/kinds";
import { Amount, Beside, Check, Lines, Text, useTexts } from "../parts/fields";
import { words } from "../words";
import { Ask, type Read } from "./ask";

const w = words.participants;

type Props = { of: Read; participant: Participant };

/** The buttons. */
export function OfWhole(props: Props) {
  const isIn = props.participant.state === "APPROVED" || props.participant.state === "DISABLED";
  if (!isIn) return <p class="hint may">{w.notIn[props.participant.state] ?? w.notInElse}</p>;
  return (
    <div class="tools">
      <State {...props} />
      <Endpoint {...props} />
      <Sources {...props} />
      {props.participant.type !== "PISP" && <NewAccount {...props} />}
    </div>
  );
}

function State({ of, participant }: Props) {
  const isOn = participant.state === "APPROVED" && participant.waitsFor === undefined;
  const state = isOn ? "DISABLED" : "APPROVED";
  return (
    <Ask
      label={isOn ? w.disable : w.enable}
      text={(isOn ? w.disableText : w.enableText)(participant.id)}
      danger={isOn}
      of={of}
      at="state-updates"
      now={participant.state}
      then={state}
      body={{ state }}
    />
  );
}

function Endpoint({ of, participant }: Props) {
  const [texts, bind] = useTexts({ url: participant.endpoints[0]?.value ?? "" });
  const endpoints = [{ type: "FSPIOP", value: texts.url.trim() }];
  return (
    <Ask label={w.newEndpoint} text={w.newEndpointText} of={of} at="endpoint-updates" now={participant.endpoints} then={endpoints} body={{ endpoints }}>
      <Text label={w.endpointField} bind={bind("url")} url maxLength={512} required />
    </Ask>
  );
}

/** The ranges of a text: one a line, or with commas between them. */
export function ranges(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== "");
}

function Sources({ of, participant }: Props) {
  const [texts, bind] = useTexts({ addresses: (participant.sourceAddresses ?? []).join("\n"), any: "" });
  const sourceAddresses = texts.any ? null : ranges(texts.addresses);
  return (
    <Ask
      label={w.newSources}
      text={w.newSourcesText}
      of={of}
      at="source-address-updates"
      now={participant.sourceAddresses ?? w.anywhere}
      then={sourceAddresses ?? w.anywhere}
      body={{ sourceAddresses }}
    >
      <Check label={w.fromAnywhere} bind={bind("any")} />
      {!texts.any && <Lines label={w.sourcesField} bind={bind("addresses")} hint={w.sourcesHint} required rows={4} />}
    </Ask>
  );
}

function NewAccount({ of }: Props) {
  const [texts, bind] = useTexts({ currency: "", name: "", cap: "", threshold: "" });
  const account = accountOf(texts);
  return (
    <Ask label={w.newAccount} text={w.newAccountText} of={of} at="accounts" now={null} then={texts.currency ? account : undefined} body={account}>
      <Beside>
        <Text label={w.currencyField} bind={bind("currency")} pattern="[A-Z]{3}" maxLength={3} required hint={w.currencyHint} />
        <Text label={w.accountName} bind={bind("name")} maxLength={128} />
      </Beside>
      <Beside>
        <Amount label={w.capOfNew} bind={bind("cap")} optional />
        <Amount label={w.thresholdOfNew} bind={bind("threshold")} optional />
      </Beside>
    </Ask>
  );
}

/** An account as a request has it. What was left empty is left out. */
export function accountOf({ currency, name, cap, threshold }: { currency: string; name: string; cap: string; threshold: string }): Record<string, unknown> {
  return {
    currency,
    ...(name ? { name } : {}),
    ...(cap ? { limit: { type: "NET_DEBIT_CAP", value: { currency, amount: cap } } } : {}),
    ...(threshold ? { threshold: { currency, amount: threshold } } : {}),
  };
}
