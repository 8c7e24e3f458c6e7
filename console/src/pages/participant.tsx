// One participant: its accounts with positions against limits, its requests and its changes.

import { useState } from "preact/hooks";
import { get, getVersioned, onceKey, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import { decimal, money, percent, shareOf, short } from "../data/format";
import type { Cover, Participant as Kind } from "../data/kinds";
import { link } from "../data/router";
import { useRole } from "../data/session";
import { Action } from "../parts/action";
import { Badge, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { Table } from "../parts/table";
import { words } from "../words";
import { participantTone } from "./participants";
import { Value } from "./requests";

const w = words.participants;

type Certificate = { serial: string; notAfter: number; key: string; revocation?: { at: number } };
type Known = { participant: Kind; etag: string | null; cover: Cover[]; certificates: Certificate[] };

async function load(id: string, signal: AbortSignal): Promise<Known> {
  const at = `/participants/${encodeURIComponent(id)}`;
  const none = (error: unknown): undefined => {
    if (error instanceof Refusal) return undefined;
    throw error;
  };
  const [{ value, etag }, cover, certificates] = await Promise.all([
    getVersioned<Kind>(at),
    get<{ accounts: Cover[] }>(`${at}/liquidity-cover`, { signal }).catch(none),
    get<{ items: Certificate[] }>(`${at}/certificates`, { signal }).catch(none),
  ]);
  return { participant: value, etag, cover: cover?.accounts ?? [], certificates: certificates?.items ?? [] };
}

/** The page. */
export function Participant({ id }: { id: string }) {
  const asked = useAsk(id, (signal) => load(id, signal), 10_000);
  return (
    <>
      <Head title={asked.data?.participant.name ?? id} hint={id} at={asked.at} />
      <Shown of={asked}>{(known) => <Whole known={known} again={asked.again} />}</Shown>
    </>
  );
}

function Whole({ known, again }: { known: Known; again: () => void }) {
  const { participant, etag } = known;
  const isMaker = useRole("maker");
  const to = participant.state === "APPROVED" ? "DISABLED" : "APPROVED";
  return (
    <>
      <div class="panel summary">
        <Facts
          of={[
            [w.state, <Badge tone={participantTone(participant.state)}>{w.states[participant.state] ?? participant.state}</Badge>],
            [w.type, participant.type],
            [w.endpoints, participant.endpoints.map((one) => <code class="whole">{one.value}</code>)],
            [w.sources, participant.sourceAddresses?.join(", ") ?? w.anywhere],
            [w.changed, <Time ms={participant.updatedAt} />],
          ]}
        />
        {isMaker && (participant.state === "APPROVED" || participant.state === "DISABLED") && (
          <div class="tools">
            <Action
              label={to === "DISABLED" ? w.disable : w.enable}
              text={(to === "DISABLED" ? w.disableText : w.enableText)(participant.id)}
              danger={to === "DISABLED"}
              reason={words.action.reason}
              needsReason
              done={w.asked}
              after={again}
              change={(reason) => ({
                method: "POST",
                path: `/participants/${encodeURIComponent(participant.id)}/state-updates`,
                body: { state: to, reason },
                headers: changing(etag),
              })}
            />
          </div>
        )}
      </div>
      <Section title={w.accounts}>
        <div class="cards">
          {known.cover.map((one) => (
            <Account key={one.accountId} of={one} participant={participant.id} etag={etag} isMaker={isMaker} again={again} />
          ))}
        </div>
      </Section>
      <Section title={w.open}>
        {(participant.openRequests ?? []).length === 0 ? (
          <Empty title={w.noOpen} />
        ) : (
          <p>
            <a href={link("requests")}>{words.nav.requests}</a>
          </p>
        )}
      </Section>
      <Section title={w.certificates}>
        {known.certificates.length === 0 ? (
          <Empty title={w.noCertificates} />
        ) : (
          <Table
            label={w.certificates}
            rows={known.certificates}
            columns={[
              { head: w.serial, cell: (one) => <code>{one.serial}</code> },
              { head: w.key, cell: (one) => one.key },
              { head: w.until, cell: (one) => <Time ms={one.notAfter} /> },
              { head: w.state, cell: (one) => <Badge tone={one.revocation ? "bad" : "good"}>{one.revocation ? w.revoked : w.valid}</Badge> },
            ]}
          />
        )}
      </Section>
      <Changes of={participant.changes ?? []} />
    </>
  );
}

/** The headers of a change: once, and only of what was read. */
function changing(etag: string | null): Record<string, string> {
  const headers: Record<string, string> = { "Idempotency-Key": onceKey() };
  if (etag) headers["If-Match"] = etag;
  return headers;
}

/** What counts against the cap: reserved, and not yet settled, without what was received and is not yet settled. For the bar alone. */
function usedOf(account: Cover): number {
  return Math.max(0, Number(account.position.amount) + Number(account.netDebit.amount) - Number(account.netCredit.amount));
}

function Account(props: { of: Cover; participant: string; etag: string | null; isMaker: boolean; again: () => void }) {
  const { of } = props;
  const cap = of.limit?.value.amount;
  const used = cap === undefined ? 0 : shareOf(String(usedOf(of)), cap);
  const isLow = of.threshold !== undefined && Number(of.available.amount) < Number(of.threshold.amount);
  return (
    <article class="card" aria-label={of.accountId}>
      <header class="section-head">
        <h3>{of.accountId}</h3>
        {of.status !== "ENABLED" && <Badge tone="bad">{of.status.toLowerCase()}</Badge>}
        {isLow && <Badge tone="warn">{w.low}</Badge>}
      </header>
      {cap === undefined ? (
        <p class="hint">{w.noCap}</p>
      ) : (
        <>
          <div
            class={`meter ${used > 0.9 ? "bad" : used > 0.7 ? "warn" : ""}`}
            role="meter"
            aria-label={w.use}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.round(used * 100)}
            aria-valuetext={w.barText(short(usedOf(of)), decimal(cap), of.accountId)}
          >
            <i style={{ width: `${used * 100}%` }} />
          </div>
          <p class="hint">{w.used(percent(used))}</p>
        </>
      )}
      <dl class="facts lines">
        {(
          [
            [w.available, of.available.amount],
            [w.position, of.position.amount],
            [w.cap, cap],
            [w.threshold, of.threshold?.amount],
            [w.cover, of.liquidityCover.amount],
            [w.netDebit, of.netDebit.amount],
            [w.netCredit, of.netCredit.amount],
          ] as [string, string | undefined][]
        ).map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd class="number">{value === undefined ? words.none : money(value, of.accountId)}</dd>
          </div>
        ))}
      </dl>
      {props.isMaker && (
        <div class="tools">
          <NewLimit {...props} />
          <NewThreshold {...props} />
          <NewFunds {...props} />
        </div>
      )}
    </article>
  );
}

type Asking = { of: Cover; participant: string; etag: string | null; again: () => void };

/** A field for an amount. */
function Amount({ label, value, set }: { label: string; value: string; set: (value: string) => void }) {
  return (
    <label class="field">
      <span>{label}</span>
      <input required name="amount" inputMode="decimal" pattern="(0|[1-9][0-9]*)([.][0-9]+)?" value={value} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
}

function NewLimit({ of, participant, etag, again }: Asking) {
  const [amount, setAmount] = useState("");
  const currency = of.accountId;
  return (
    <Action
      label={w.limit}
      text={w.askHint}
      reason={words.action.reason}
      needsReason
      done={w.asked}
      after={again}
      change={(reason) => ({
        method: "POST",
        path: `/participants/${encodeURIComponent(participant)}/accounts/${currency}/limit-updates`,
        body: { limit: { type: "NET_DEBIT_CAP", value: { currency, amount } }, reason },
        headers: changing(etag),
      })}
    >
      <Amount label={w.limitField(currency)} value={amount} set={setAmount} />
    </Action>
  );
}

function NewThreshold({ of, participant, etag, again }: Asking) {
  const [amount, setAmount] = useState("");
  const currency = of.accountId;
  return (
    <Action
      label={w.newThreshold}
      text={w.askHint}
      reason={words.action.reason}
      needsReason
      done={w.asked}
      after={again}
      change={(reason) => ({
        method: "POST",
        path: `/participants/${encodeURIComponent(participant)}/accounts/${currency}/threshold-updates`,
        body: { threshold: { currency, amount }, reason },
        headers: changing(etag),
      })}
    >
      <Amount label={w.thresholdField(currency)} value={amount} set={setAmount} />
    </Action>
  );
}

function NewFunds({ of, participant, etag, again }: Asking) {
  const [amount, setAmount] = useState("");
  const [type, setType] = useState("DEPOSIT");
  const [reference, setReference] = useState("");
  const currency = of.accountId;
  return (
    <Action
      label={w.funds}
      text={w.fundsHint}
      reason={words.action.reason}
      needsReason
      done={w.asked}
      after={again}
      change={(reason) => ({
        method: "POST",
        path: `/participants/${encodeURIComponent(participant)}/funds`,
        body: { type, accountId: currency, amount: { currency, amount }, reason, ...(reference ? { externalReference: reference } : {}) },
        headers: changing(etag),
      })}
    >
      <label class="field">
        <span>{w.fundsType}</span>
        <select name="type" value={type} onChange={(event) => setType(event.currentTarget.value)}>
          {Object.entries(w.fundsTypes).map(([value, text]) => (
            <option value={value}>{text}</option>
          ))}
        </select>
      </label>
      <Amount label={w.fundsField(currency)} value={amount} set={setAmount} />
      <label class="field">
        <span>{w.reference}</span>
        <input name="reference" maxLength={128} required={type === "DEPOSIT"} value={reference} onInput={(event) => setReference(event.currentTarget.value)} />
      </label>
    </Action>
  );
}

/** Who made a change, in words. */
function author(by: unknown): string {
  if (by === null || typeof by !== "object") return String(by ?? "");
  return Object.entries(by)
    .map(([role, name]) => `${role} ${String(name)}`)
    .join(", ");
}

function Changes({ of }: { of: Record<string, any>[] }) {
  const text = (value: unknown) => (value === null || value === undefined ? words.none : <Value of={value} />);
  return (
    <Section title={w.history}>
      <Table
        label={w.history}
        rows={of}
        columns={[
          { head: w.at, cell: (one) => <Time ms={one["at"]} /> },
          { head: w.what, cell: (one) => words.requests.kinds[one["kind"]] ?? one["kind"] },
          { head: w.state, cell: (one) => String(one["state"]).toLowerCase() },
          { head: w.by, cell: (one) => author(one["by"]) },
          { head: w.before, cell: (one) => text(one["before"]), wide: true },
          { head: w.after, cell: (one) => text(one["after"]), wide: true },
        ]}
      />
    </Section>
  );
}
