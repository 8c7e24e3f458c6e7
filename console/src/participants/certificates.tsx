// A participant's certificates: ordered by a maker, issued when a checker approves, revoked by one person at once.

import { useEffect, useState } from "preact/hooks";
import { onceKey } from "../data/api";
import type { Certificate } from "../data/kinds";
import { fingerprint } from "../data/pkcs10";
import { Action } from "../parts/action";
import { Badge, Copy, Empty, Section, Time } from "../parts/basics";
import { Lines, useTexts } from "../parts/fields";
import { May } from "../parts/may";
import { Table } from "../parts/table";
import { words } from "../words";
import { Ask, type Read } from "./ask";

const w = words.participants;

/** The section of the page. */
export function Certificates({ of, all, mayOrder }: { of: Read; all: Certificate[]; mayOrder: boolean }) {
  const order = (
    <May roles={["maker"]} to={w.toAsk} isSaid>
      <Order of={of} />
    </May>
  );
  return (
    <Section title={w.certificates} hint={w.certificatesHint} tools={mayOrder ? order : undefined}>
      {all.length === 0 ? (
        <Empty title={w.noCertificates} hint={w.noCertificatesHint} />
      ) : (
        <Table
          label={w.certificates}
          rows={all}
          columns={[
            { head: w.serial, cell: (one) => <code class="whole">{one.serial}</code> },
            { head: w.key, cell: (one) => one.key },
            { head: w.issued, cell: (one) => <Time ms={one.issuedAt} /> },
            { head: w.until, cell: (one) => <Time ms={one.notAfter} /> },
            { head: w.state, cell: (one) => <State of={one} /> },
            { head: words.table.acts, quiet: true, cell: (one) => <Acts of={of} certificate={one} /> },
          ]}
        />
      )}
    </Section>
  );
}

function State({ of }: { of: Certificate }) {
  if (of.revocation) {
    return (
      <>
        <Badge tone="bad">{w.revoked}</Badge> <span class="hint">{w.revokedBy(of.revocation.by, of.revocation.reason)}</span>
      </>
    );
  }
  return <Badge tone={of.notAfter > Date.now() ? "good" : "warn"}>{of.notAfter > Date.now() ? w.valid : w.over}</Badge>;
}

function Acts({ of, certificate }: { of: Read; certificate: Certificate }) {
  return (
    <div class="tools">
      <Copy text={() => certificate.certificate} label={w.copyPem} />
      {!certificate.revocation && (
        <May roles={["maker", "checker"]} to={w.toRevoke} isSaid>
          <Action
            label={w.revoke}
            text={w.revokeText(certificate.serial)}
            danger
            reason={words.action.reason}
            needsReason
            done={w.revokeDone}
            after={of.again}
            change={(reason) => ({
              method: "POST",
              path: `/participants/${encodeURIComponent(of.id)}/certificates/${certificate.serial}/revocation`,
              body: { reason },
              headers: { "Idempotency-Key": onceKey() },
            })}
          />
        </May>
      )}
    </div>
  );
}

function Order({ of }: { of: Read }) {
  const [texts, bind] = useTexts({ certificateRequest: "" });
  const found = useFingerprint(texts.certificateRequest);
  return (
    <Ask
      label={w.order}
      text={w.orderText}
      of={of}
      at="certificates"
      now={null}
      then={found ? { [w.fingerprint]: found } : undefined}
      body={{ certificateRequest: texts.certificateRequest }}
    >
      <Lines label={w.orderField} bind={bind("certificateRequest")} rows={7} required placeholder="-----BEGIN CERTIFICATE REQUEST-----" />
    </Ask>
  );
}

/** The fingerprint of the key in a certificate request, once it is computed; none if the text is none. */
export function useFingerprint(pem: string | undefined): string | undefined {
  const [found, setFound] = useState<string>();
  useEffect(() => {
    let isCurrent = true;
    setFound(undefined);
    if (pem) void fingerprint(pem).then((text) => isCurrent && setFound(text));
    return () => {
      isCurrent = false;
    };
  }, [pem]);
  return found;
}
