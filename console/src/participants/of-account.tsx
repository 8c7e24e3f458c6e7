// What makers ask for about one account: its cap, its threshold, its funds, its cover, its state.

import { plus } from "../data/decimal";
import type { Cover, Money } from "../data/kinds";
import { Amount, Beside, Check, Choice, Text, useTexts } from "../parts/fields";
import { words } from "../words";
import { Ask, type Read } from "./ask";

const w = words.participants;

type Props = { of: Read; account: Cover; models: string[] };

/** The buttons. */
export function OfAccount(props: Props) {
  return (
    <div class="tools">
      <Cap {...props} />
      <Threshold {...props} />
      <Funds {...props} />
      <SetAside {...props} />
      <Status {...props} />
    </div>
  );
}

const value = (currency: string, amount: string): Money | undefined => (amount === "" ? undefined : { currency, amount });

function Cap({ of, account }: Props) {
  const currency = account.accountId;
  const [texts, bind] = useTexts({ amount: "", none: "" });
  const cap = texts.none ? undefined : value(currency, texts.amount);
  return (
    <Ask
      label={w.limit}
      of={of}
      at={`accounts/${currency}/limit-updates`}
      now={account.limit?.value ?? w.noCap}
      then={texts.none ? w.noCap : cap}
      body={{ limit: cap ? { type: "NET_DEBIT_CAP", value: cap } : null }}
    >
      <Check label={w.noLimit} bind={bind("none")} />
      {!texts.none && <Amount label={w.limitField(currency)} bind={bind("amount")} />}
    </Ask>
  );
}

function Threshold({ of, account }: Props) {
  const currency = account.accountId;
  const [texts, bind] = useTexts({ amount: "", none: "" });
  const threshold = texts.none ? undefined : value(currency, texts.amount);
  return (
    <Ask
      label={w.newThreshold}
      of={of}
      at={`accounts/${currency}/threshold-updates`}
      now={account.threshold ?? w.noneYet}
      then={texts.none ? w.noneYet : threshold}
      body={{ threshold: threshold ?? null }}
    >
      <Check label={w.noThreshold} bind={bind("none")} />
      {!texts.none && <Amount label={w.thresholdField(currency)} bind={bind("amount")} />}
    </Ask>
  );
}

function Funds({ of, account, models }: Props) {
  const currency = account.accountId;
  const [first = ""] = models;
  const [texts, bind] = useTexts({ type: "DEPOSIT", amount: "", reference: "", model: first, to: models[1] ?? first });
  const isMove = texts.type === "MOVE";
  const isBankly = !isMove;
  const types = models.length > 1 ? w.fundsTypes : { DEPOSIT: w.fundsTypes["DEPOSIT"] ?? "", WITHDRAWAL: w.fundsTypes["WITHDRAWAL"] ?? "" };
  const named = Object.fromEntries(models.map((model) => [model, model]));
  const body = {
    type: texts.type,
    accountId: currency,
    amount: { currency, amount: texts.amount },
    ...(models.length > 1 ? { settlementModel: texts.model } : {}),
    ...(isMove ? { toSettlementModel: texts.to } : {}),
    ...(isBankly && texts.reference ? { externalReference: texts.reference } : {}),
  };
  return (
    <Ask label={w.funds} text={w.fundsHint} of={of} at="funds" now={fundsNow(account, texts.model)} then={texts.amount ? body : undefined} body={body}>
      <Beside>
        <Choice label={w.fundsType} bind={bind("type")} of={types} />
        <Amount label={w.fundsField(currency)} bind={bind("amount")} />
      </Beside>
      {models.length > 1 && (
        <Beside>
          <Choice label={isMove ? w.fromModel : w.model} bind={bind("model")} of={named} />
          {isMove && <Choice label={w.toModel} bind={bind("to")} of={named} />}
        </Beside>
      )}
      {isBankly && <Text label={w.reference} bind={bind("reference")} maxLength={128} required={texts.type === "DEPOSIT"} hint={w.referenceHint} />}
    </Ask>
  );
}

function fundsNow(account: Cover, model: string): Record<string, Money> {
  const settled = account.settlement.find((one) => (one.settlementModel ?? "") === model) ?? account.settlement[0];
  return { [w.available]: account.available, ...(settled ? { [w.settled]: settled.available } : {}) };
}

function SetAside({ of, account }: Props) {
  const currency = account.accountId;
  const [texts, bind] = useTexts({ by: "value", amount: "", percentage: "" });
  const isShare = texts.by === "percentage";
  const total = plus(account.available.amount, account.liquidityCover.amount);
  const body = {
    accountId: currency,
    ...(isShare ? { percentage: texts.percentage } : { value: { currency, amount: texts.amount } }),
  };
  const then = isShare ? (texts.percentage ? w.shareOfTotal(texts.percentage) : undefined) : value(currency, texts.amount);
  return (
    <Ask label={w.setAside} text={w.setAsideText(total, currency)} of={of} at="liquidity-cover-reservations" now={account.liquidityCover} then={then} body={body}>
      <Beside>
        <Choice label={w.setAsideBy} bind={bind("by")} of={{ value: w.byValue, percentage: w.byShare }} />
        {isShare ? (
          <Text label={w.shareField} bind={bind("percentage")} pattern="(100([.]0{1,4})?|[0-9]{1,2}([.][0-9]{1,4})?)" required />
        ) : (
          <Amount label={w.setAsideField(currency)} bind={bind("amount")} hint={w.setAsideHint} />
        )}
      </Beside>
    </Ask>
  );
}

function Status({ of, account }: Props) {
  const isEnabled = account.status === "ENABLED";
  const status = isEnabled ? "DISABLED" : "ENABLED";
  return (
    <Ask
      label={isEnabled ? w.disableAccount : w.enableAccount}
      text={(isEnabled ? w.disableAccountText : w.enableAccountText)(account.accountId)}
      danger={isEnabled}
      of={of}
      at={`accounts/${account.accountId}/status-updates`}
      now={account.status}
      then={status}
      body={{ status }}
    />
  );
}
