// A participant's keys: applications with which it asks for access tokens, and the key that signs its messages.

import type { Application } from "../data/kinds";
import { Action } from "../parts/action";
import { Badge, Copy, Empty, Facts, Section, Time, type Tone } from "../parts/basics";
import { Text, useTexts } from "../parts/fields";
import { May } from "../parts/may";
import { Table } from "../parts/table";
import { words } from "../words";
import type { Read } from "./ask";

const w = words.participants;

const TONES: Record<string, Tone> = { ACTIVE: "good", PENDING: "warn", REJECTED: "quiet", REVOKED: "bad" };

/** Since when the host knows a key by which the participant signs. */
export type Signer = { since: number } | undefined;

/** The section of the page. */
export function Keys({ of, applications, signer }: { of: Read; applications: Application[] | undefined; signer: Signer }) {
  return (
    <Section title={w.keys} hint={w.keysHint}>
      <div class="panel">
        <Facts of={[[w.signingKey, signer ? <>{w.signingSince} <Time ms={signer.since} /></> : w.noSigningKey]]} />
      </div>
      {applications !== undefined && <Applications of={of} all={applications} />}
    </Section>
  );
}

function Applications({ of, all }: { of: Read; all: Application[] }) {
  return (
    <Section
      title={w.applications}
      tools={
        <May roles={["maker"]} to={w.toAsk} isSaid>
          <NewApplication of={of} />
        </May>
      }
    >
      {all.length === 0 ? (
        <Empty title={w.noApplications} hint={w.noApplicationsHint} />
      ) : (
        <Table
          label={w.applications}
          rows={all}
          columns={[
            { head: w.label, cell: (one) => one.label, wide: true },
            { head: w.applicationId, cell: (one) => <code>{one.id}</code> },
            { head: w.state, cell: (one) => <Badge tone={TONES[one.state] ?? "quiet"}>{w.applicationStates[one.state] ?? one.state}</Badge> },
            { head: w.by, cell: (one) => [one.maker, one.decidedBy].filter(Boolean).join(", ") },
            { head: w.at, cell: (one) => <Time ms={one.createdAt} /> },
            {
              head: words.table.acts,
              quiet: true,
              cell: (one) =>
                one.state === "ACTIVE" && (
                  <May roles={["maker", "checker"]} to={w.toRevoke} isSaid>
                    <Action
                      label={w.revoke}
                      text={w.revokeApplicationText(one.label)}
                      danger
                      done={w.revokeApplicationDone}
                      after={of.again}
                      change={() => ({ method: "POST", path: `/app-register/${one.id}/revocation` })}
                    />
                  </May>
                ),
            },
          ]}
        />
      )}
    </Section>
  );
}

function NewApplication({ of }: { of: Read }) {
  const [texts, bind] = useTexts({ label: "" });
  return (
    <Action<{ application: Application; secret: string }>
      label={w.newApplication}
      text={w.newApplicationText}
      done={w.asked}
      after={of.again}
      change={() => ({ method: "POST", path: "/app-register", body: { participant: of.id, label: texts.label.trim() } })}
      answer={({ application, secret }) => (
        <>
          <p>{w.secretText}</p>
          <Facts of={[[w.applicationId, <code class="whole">{application.id}</code>], [w.secret, <code class="whole">{secret}</code>]]} />
          <div class="tools">
            <Copy text={() => secret} label={w.copySecret} />
          </div>
        </>
      )}
    >
      <Text label={w.label} bind={bind("label")} maxLength={64} required />
    </Action>
  );
}
