// A card of one account: its figures, and how far cap and liquidity are used.

import { compare, minus, plus, share } from "../data/decimal";
import { money, percent } from "../data/format";
import type { Cover } from "../data/kinds";
import { link } from "../data/router";
import { Badge } from "../parts/basics";
import { May } from "../parts/may";
import { words } from "../words";
import type { Read } from "./ask";
import { OfAccount } from "./of-account";

const w = words.participants;

/** What counts against the cap: reserved, and not yet settled, without what was received and is not yet settled. */
export function usedOf({ position, netDebit, netCredit }: Cover): string {
  const used = minus(plus(position.amount, netDebit.amount), netCredit.amount);
  return used.startsWith("-") ? "0" : used;
}

/** The card. */
export function Account({ account, of, models }: { account: Cover; of: Read; models: string[] }) {
  const isLow = account.threshold !== undefined && compare(account.available.amount, account.threshold.amount) < 0;
  return (
    <article class="card" aria-label={account.accountId}>
      <header class="section-head">
        <h3>{account.accountId}</h3>
        <div class="tools">
          {account.status !== "ENABLED" && <Badge tone="bad">{w.states[account.status] ?? account.status}</Badge>}
          {isLow && <Badge tone="warn">{w.low}</Badge>}
          <a href={link("ledger", `${of.id}:${account.accountId}:LIQUIDITY`)}>{w.entries}</a>
        </div>
      </header>
      <CapBar of={account} />
      <LiquidityBar of={account} />
      <Figures of={account} />
      <May roles={["maker"]} to={w.toAsk} isSaid>
        <OfAccount of={of} account={account} models={models} />
      </May>
    </article>
  );
}

function CapBar({ of }: { of: Cover }) {
  if (of.limit === undefined) return <p class="hint">{w.noCap}</p>;
  const used = usedOf(of);
  const cap = of.limit.value.amount;
  const part = share(used, cap);
  const text = w.barText(money(used, of.accountId), money(cap, of.accountId));
  return (
    <div class="gauge">
      <p class="gauge-head">
        <span>{w.use}</span>
        <strong class="tabular">{percent(part)}</strong>
      </p>
      <div
        class={`meter ${part > 0.9 ? "bad" : part > 0.7 ? "warn" : ""}`}
        role="meter"
        aria-label={w.use}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(part * 100)}
        aria-valuetext={text}
      >
        <i style={{ width: `${part * 100}%` }} />
      </div>
      <p class="hint tabular">{text}</p>
    </div>
  );
}

/** The liquidity with what is reserved and set aside of it, and where the warning begins. */
function LiquidityBar({ of }: { of: Cover }) {
  const total = plus(plus(of.available.amount, of.position.amount), of.liquidityCover.amount);
  if (compare(total, "0") <= 0) return <p class="hint">{w.noLiquidity}</p>;
  const [reserved, cover] = [share(of.position.amount, total), share(of.liquidityCover.amount, total)];
  const parts: [string, string, number][] = [
    ["reserved", w.reserved, reserved],
    ["cover", w.coverShort, cover],
    ["free", w.free, Math.max(0, 1 - reserved - cover)],
  ];
  const threshold = of.threshold === undefined ? undefined : share(of.threshold.amount, total);
  const text = parts.map(([, name, part]) => `${name} ${percent(part)}`).join(", ");
  return (
    <div class="gauge">
      <p class="gauge-head">
        <span>{w.liquidity}</span>
        <strong class="tabular">{money(total, of.accountId)}</strong>
      </p>
      <div class="stack" role="img" aria-label={`${w.liquidity}: ${text}`}>
        {parts.map(([kind, , part]) => part > 0 && <i key={kind} class={kind} style={{ width: `${part * 100}%` }} />)}
        {threshold !== undefined && <b style={{ left: `${(1 - Math.min(1, threshold)) * 100}%` }} />}
      </div>
      <ul class="keys">
        {parts.map(([kind, name, part]) => (
          <li key={kind}>
            <i class={kind} /> {name} <span class="tabular">{percent(part)}</span>
          </li>
        ))}
        {threshold !== undefined && (
          <li>
            <b /> {w.thresholdShort}
          </li>
        )}
      </ul>
    </div>
  );
}

function Figures({ of }: { of: Cover }) {
  const settled = of.settlement.map((one): [string, string | undefined] => [
    one.settlementModel && of.settlement.length > 1 ? w.settledOf(one.settlementModel) : w.settled,
    one.available.amount,
  ]);
  const lines: [string, string | undefined][] = [
    [w.available, of.available.amount],
    [w.position, of.position.amount],
    [w.cover, of.liquidityCover.amount],
    [w.cap, of.limit?.value.amount],
    [w.threshold, of.threshold?.amount],
    [w.netDebit, of.netDebit.amount],
    [w.netCredit, of.netCredit.amount],
    ...settled,
  ];
  return (
    <dl class="facts lines">
      {lines.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd class="number">{value === undefined ? words.none : money(value, of.accountId)}</dd>
        </div>
      ))}
    </dl>
  );
}
