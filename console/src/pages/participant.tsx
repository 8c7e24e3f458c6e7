// One participant: its accounts against their limits, what waits, its certificates and keys, and its changes.

import { useState } from "preact/hooks";
import { get, getVersioned, pages, Refusal } from "../data/api";
import { useAsk } from "../data/ask";
import type { Application, Certificate, Cover, Kept, Participant as Kind } from "../data/kinds";
import { useSession } from "../data/session";
import { applications, type Waiting, waiting } from "../data/waiting";
import { Account } from "../participants/account";
import { Keys, type Signer } from "../participants/applications";
import type { Read } from "../participants/ask";
import { Certificates } from "../participants/certificates";
import { History } from "../participants/history";
import { OfWhole } from "../participants/of-whole";
import { Waits } from "../participants/waits";
import { Badge, Empty, Facts, Head, Section, Shown, Time } from "../parts/basics";
import { May } from "../parts/may";
import { words } from "../words";
import { participantTone } from "./participants";

const w = words.participants;

type Known = {
  participant: Kind;
  etag: string | null;
  cover: Cover[];
  certificates: Certificate[] | undefined;
  applications: Application[] | undefined;
  signer: Signer;
  open: Waiting[];
  models: string[];
};

/** What the host refuses to tell, for example because the participant is not in yet. */
function refused(error: unknown): undefined {
  if (error instanceof Refusal) return undefined;
  throw error;
}

async function load(id: string, signal: AbortSignal): Promise<Known> {
  const at = `/participants/${encodeURIComponent(id)}`;
  const signers = `/documents/fsp-interop-api/signers?limit=1&prefix=${encodeURIComponent(id)}`;
  const [{ value, etag }, cover, certificates, registered, kept, open, models] = await Promise.all([
    getVersioned<Kind>(at),
    get<{ accounts: Cover[] }>(`${at}/liquidity-cover`, { signal }).catch(refused),
    pages<Certificate>(`${at}/certificates?limit=1000`, 1000, signal).catch(refused),
    applications(signal),
    get<Kept<{ since: number }>[]>(signers, { signal }).catch(refused),
    waiting(signal, id),
    get<{ models: { name: string }[] }>("/settlement-models", { signal }).catch(refused),
  ]);
  return {
    participant: value,
    etag,
    cover: cover?.accounts ?? [],
    certificates: certificates?.items,
    applications: registered?.filter((one) => one.participant === id),
    signer: kept?.find((one) => one.id === id)?.body,
    open,
    models: (models?.models ?? []).map((one) => one.name),
  };
}

/** The page. */
export function Participant({ id }: { id: string }) {
  const asked = useAsk(id, (signal) => load(id, signal), 10_000);
  // A form that was sent is empty when it is opened again.
  const [round, setRound] = useState(0);
  const again = (): void => {
    setRound((n) => n + 1);
    asked.again();
  };
  return (
    <>
      <Head title={asked.data?.participant.name ?? id} hint={id} at={asked.at} />
      <Shown of={asked}>{(known) => <Whole key={round} known={known} again={again} />}</Shown>
    </>
  );
}

function Whole({ known, again }: { known: Known; again: () => void }) {
  const { participant, etag } = known;
  const { person, roles } = useSession();
  const of: Read = { id: participant.id, etag, again };
  const isIn = participant.state === "APPROVED" || participant.state === "DISABLED";
  return (
    <>
      <div class="panel summary">
        <Facts
          of={[
            [w.state, <Badge tone={participantTone(participant.state)}>{w.states[participant.state] ?? participant.state}</Badge>],
            [w.type, w.types[participant.type] ?? participant.type],
            [w.endpoints, participant.endpoints.map((one) => <code class="whole">{one.value}</code>)],
            [w.sources, participant.sourceAddresses?.join(", ") ?? w.anywhere],
            [w.created, <Time ms={participant.createdAt} />],
            [w.changed, <Time ms={participant.updatedAt} />],
          ]}
        />
        {participant.waitsFor !== undefined && <p class="stale">{w.waitsFor(participant.waitsFor)}</p>}
        <May roles={["maker"]} to={w.toAsk}>
          <OfWhole of={of} participant={participant} />
        </May>
      </div>
      <p class="hint who-may">{w.whoMay(person, roles)}</p>
      <Section title={w.open}>
        {known.open.length === 0 ? (
          <Empty title={w.noOpen} hint={w.noOpenHint} />
        ) : (
          <div class="cards wide">
            {known.open.map((one) => (
              <Waits key={one.id} of={one} again={again} />
            ))}
          </div>
        )}
      </Section>
      <Section title={w.accounts}>
        {known.cover.length === 0 ? (
          <Empty title={w.noAccounts} hint={w.noAccountsHint} />
        ) : (
          <div class="cards">
            {known.cover.map((one) => (
              <Account key={one.accountId} account={one} of={of} models={modelsOf(one, known.models)} />
            ))}
          </div>
        )}
      </Section>
      {known.certificates && <Certificates of={of} all={known.certificates} mayOrder={isIn} />}
      <Keys of={of} applications={known.applications} signer={known.signer} />
      <History id={participant.id} last={participant.changes ?? []} />
    </>
  );
}

/** The settlement models of an account: those with funds first. */
function modelsOf(account: Cover, all: string[]): string[] {
  const own = account.settlement.flatMap((one) => (one.settlementModel ? [one.settlementModel] : []));
  return [...new Set([...own, ...all])];
}
